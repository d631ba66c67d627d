r"""Open MPI 3 to 5 and its run-times (ORTE, PRRTE, PMIx).

Kinds (fields; ``topic`` is the first sentence of a help text as a slug, ``text`` of the event the whole help text
with each paragraph on one line; texts with a kind of their own are listed in ``openmpi_heads``):

- ``openmpi.help`` topic, host, pid, rank, peer, errno: any other help frame; level from its words
- ``openmpi.abort`` rank | group_rank, communicator, exit_code; ``openmpi.rank_died`` rank, pid, host, signal;
  ``openmpi.exit_code`` rank, exit_code; ``openmpi.time_limit``
- ``openmpi.slots``, ``.binding``, ``.daemon``, ``.daemon_lost``, ``.launch``, ``.init_failed``, ``.pmi``: topic, host
- ``openmpi.versions``, ``.lost``, ``.memory_limit``, ``.peer_gone``, ``.fabric``, ``.failed``: topic, host; rarer texts
  (`openmpi_rare_heads`)
- ``openmpi.tcp`` host, pid, peer, errno; ``.interface``, ``.component_missing``, ``.openfabrics``,
  ``.shared_memory``, ``.warning``: topic, host
- ``openmpi.fatal_handler`` function, communicator, error_class, message, rank: MPI called its error handler
- ``openmpi.misuse`` function: MPI was called before MPI_INIT or after MPI_FINALIZE; ``openmpi.local_abort``
- ``openmpi.signal`` signal, code, address, frames, library: the crash report of a rank; ``openmpi.stack`` frames,
  library: the rest of one without its head
- ``openmpi.tcp_connect`` peer, errno, message; ``openmpi.tcp_unexpected_peer`` got, expected (process names);
  ``openmpi.tcp_closed`` errno, message; ``openmpi.completion`` peer, status, vendor_err, opcode (openib);
  ``openmpi.cma`` errno, file (single copy between processes of a host); ``openmpi.btl`` file, message: the rest;
  ``openmpi.verbose`` message: what such a module tells and is no problem;
  ``openmpi.buffer`` length, message: a buffer that is not the process's own
- ``openmpi.oob`` message, errno: the launchers' own TCP connections
- ``openmpi.error_log`` layer, message, file: ORTE/PRTE/PMIX/OPAL_ERROR_LOG
- ``openmpi.ucx``, ``openmpi.ofi``, ``openmpi.hcoll`` file, message: the modules over UCX, libfabric, HCOLL
- ``openmpi.component`` component, message: a plug-in that could not be loaded was left out
- ``openmpi.more_help`` count, help_file, topic: repeats that were not printed
- ``openmpi.command_missing`` command; ``openmpi.usage`` message; ``openmpi.killing``; ``openmpi.error`` message
- facts: ``openmpi.version`` version, product; ``openmpi.rank`` (who is where); ``openmpi.node`` node, slots, procs

``rank`` is the rank in MPI_COMM_WORLD. Prefixes: ``[HOST:PID] `` everywhere,
``[HOST][[FAMILY,JOB],RANK][FILE:LINE:FUNC] `` in the TCP and shared-memory modules. Sources: Open MPI 3.0 to 5.0
(opal/mca/btl, ompi/errhandler, orte/util), PRRTE 2 and 3, OpenPMIx 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

from logdoctor.logs.multiline.mpi_blocks import read_crash, read_crash_frames, read_error_handler
from logdoctor.logs.multiline.openmpi_heads import HEADS
from logdoctor.logs.multiline.openmpi_help import MAX_FRAME_LINES, read_frame, read_help_text, read_missing_help
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import compiled

_WHO = r"(?:\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10})\] ?)?"
_NAME = r"\[\[\d+,(?:1\],(?P<by_rank>\d{1,7})|\d+\],\d+)\]"
_PLACE = rf"(?:\[(?P<by_host>[\w.-]{{1,255}})\])?{_NAME}\[(?P<file>[\w./-]*btl_[\w.-]+):\d+:[\w.]+\] ?"
_ERRNO = r"(?: \((?P<errno>-?\d{1,3})\))?"
_BTL = r"btl_(?:tcp|openib|sm|vader|ofi|uct|ugni|usnic|self|smcuda|portals4|base)"
_COMPLAINT = (
    r"(?i:fail|error|errno|cannot|can't|could ?n.t|unable|abort|not |\bno |invalid|illegal|unexpected|unknown|unreach|"
    r"refused|reject|denied|timed|time-?out|closed|reset|lost|drop|mismatch|missing|bad |exceed|exhaust|out of|too |"
    r"insufficient|warn|retr[iy]|corrupt|\(-?\d{1,3}\)\s*$)"
)
"""Error of a module. In verbose mode the same head stands before lines that report no error."""


@cache
def _known() -> Any:
    """Return one pattern for all texts that have a kind of their own (`HEADS`)."""
    return compiled("|".join(f"(?:{record.pattern})" for record in HEADS))


def read_unknown_frame(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a help frame, or return None if a record of `HEADS` reads its text."""
    lines = list(islice(below, MAX_FRAME_LINES))
    first = [n for n, line in enumerate(lines) if line.text.strip()][:3]
    if any(_known().search(lines[n].text) for n in first):
        return None
    return read_frame(head, fields, iter(lines))


FRAMES = (
    RecordPattern("openmpi.help", r"^-{74}\s*$", read_lines=read_unknown_frame, priority=-3, scan=r"-{74}",
           note="Open MPI or its launcher explains something in a framed text."),
    RecordPattern("openmpi.help", r"Sorry! +You were supposed to get help about:", level="error", priority=1,
           read_lines=read_missing_help, note="Open MPI wanted to explain something and did not find its own help file."),
    RecordPattern("openmpi.daemon", r"^\s*(?P<host>[\w.-]{1,255}) - daemon did not report back when launched", level="fatal",
           note="The launcher started a daemon on this node and never heard of it."),
    RecordPattern("openmpi.more_help", _WHO +
           r"(?P<count>\d+) more process(?:es)? ha(?:s|ve) sent help message (?P<help_file>\S+) ?/ ?"
           r"(?P<topic>\S.*?)\s*$", level="info", note="The same help text came from more ranks and was left out."),
    RecordPattern("openmpi.more_help", r"Set MCA parameter \"?orte_base_help_aggregate", level="info",
           note="How to see the help texts that were left out."),
)  # fmt: skip

HANDLERS = (
    RecordPattern("openmpi.fatal_handler", _WHO + r"\*\*\\?\* An error occurred in (?P<function>\w+)", level="fatal",
           read_lines=read_error_handler, note="MPI reported an error to its error handler, which normally ends the job."),
    RecordPattern("openmpi.fatal_handler", _WHO + r"\*\*\\?\* (?P<error_class>MPI_ERR_\w+): (?P<message>.+)", level="fatal",
           priority=-1, note="MPI reported an error of this class to its error handler."),
    RecordPattern("openmpi.misuse", _WHO +
           r"\*\*\\?\* The (?P<function>MPI_\w+)\(\) function was called (?:before MPI_INIT|after MPI_FINALIZE)",
           level="fatal", read_lines=read_error_handler, note="The program called MPI outside MPI_Init and MPI_Finalize."),
    RecordPattern("openmpi.local_abort", _WHO + r"Local abort (?:before MPI_INIT|after MPI_FINALIZE) (?:started )?completed",
           level="fatal", note="The process ended itself while MPI was not up."),
    RecordPattern("openmpi.lost", r"\bompi: Process \[\[\d+,(?:1\],(?P<rank>\d{1,7})|\d+\],\d+)\] failed \(state = "
           r"-?\d+ (?P<state>\w+)\)", level="fatal", scan=r"ompi: Process \[\[\d+,\d+\],\d+\] failed",
           note="The launcher told this process that another one had failed."),
    RecordPattern("openmpi.signal", _WHO + r"\*\*\\?\* Process received signal \*\\?\*\\?\*", level="fatal", read_lines=read_crash,
           priority=5, note="A rank crashed; Open MPI printed its stack."),
    RecordPattern("openmpi.signal", _WHO + r"Signal: .{1,60}? \((?P<signal>\d{1,2})\)\s*$", level="fatal",
           note="A rank crashed with this signal."),
    RecordPattern("openmpi.stack", r"^\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10})\] (?:\[ ?\d{1,3}\] [^\s(\[]{1,400}"
           r"\([^)]{0,4000}\+0x[0-9a-f]+\) ?\[0x[0-9a-f]+\]\s*$|\*\*\* End of error message \*\*\*)", level="fatal",
           read_lines=read_crash_frames, priority=-1, note="A rank crashed; the beginning of its report is not here."),
)  # fmt: skip

TRANSPORTS = (
    RecordPattern("openmpi.tcp_connect", _PLACE +
           r".*?connect\(\) to (?P<peer>\S+?)(?::? ?port \d+)? failed: (?P<message>.+?)" + _ERRNO + r"\s*$",
           level="error", note="A rank could not open a TCP connection to another rank's address."),
    RecordPattern("openmpi.tcp_unexpected_peer", _PLACE +
           r".*?unexpected process identifier:?(?: got)? (?P<got>\[\[\d+,\d+\],\d+\])"
           r"(?: expected (?P<expected>\[\[\d+,\d+\],\d+\]))?", level="error",
           note="Another process than expected answered on a TCP connection."),
    RecordPattern("openmpi.tcp_closed", _PLACE +
           r"(?P<message>.*?(?:recv|readv|writev|send|read|write|accept)(?:\([^)]*\))? failed: (?P<error>.+?)" +
           _ERRNO + r")\s*$", level="error", note="A TCP connection between two ranks broke."),
    RecordPattern("openmpi.buffer", _PLACE +
           r"\w*: (?P<message>(?:readv|writev) error \((?:0x)?[0-9a-f]+, (?P<length>\d+)\))", level="error",
           note="The kernel says that memory which a rank sends from or receives into is not the process's own."),
    RecordPattern("openmpi.tcp_closed", _PLACE +
           r"(?P<message>.{0,300}?(?:dropped inbound connection|peer (?:hung up|closed)|server did not get|"
           r"client did not).*)", level="error", note="A TCP connection between two ranks was dropped."),
    RecordPattern("openmpi.completion", _NAME + r"\[(?P<file>[\w./-]*btl_openib[\w.]+):\d+:\w+\] from (?P<by_host>\S+) to:? "
           r"(?P<peer>\S+) error polling .*?"
           r"with status (?P<message>.+?) status number (?P<status>\d+) for wr_id \S+ opcode "
           r"(?P<opcode>-?\d+) +vendor error (?P<vendor_err>\d+)", level="error",
           note="InfiniBand completed a transfer between two ranks with an error."),
    RecordPattern("openmpi.cma", r"(?:\[(?P<by_host>[\w.-]{1,255})(?::(?P<by_pid>\d{1,10})\] ?|"
           r"\]\[\[\d+,\d+\],\d+\]\[[^\]\n]{1,200}\] ?))?Read -1, expected \d+, errno ?= ?(?P<errno>\d+)",
           level="error", note="Copying directly between two processes of a host failed."),
    RecordPattern("openmpi.btl", _PLACE + rf"(?P<message>(?=.{{0,400}}?{_COMPLAINT})\S.*?)" + _ERRNO + r"\s*$", level="error",
           priority=-1, scan=_BTL, note="A point-to-point module of Open MPI reports a problem."),
    RecordPattern("openmpi.verbose", _PLACE + r"(?P<message>\S.*?)\s*$", level="info", priority=-2, scan=_BTL, often=True,
           note="A point-to-point module of Open MPI tells what it does: it was told to be verbose."),
    RecordPattern("openmpi.pmi", _WHO + r"(?P<message>PMI2?_\w{3,40} \[pmix_s\d\.c:\d+:\w+\]: \S.*)", level="error",
           note="Open MPI did not get what it asked of Slurm's PMI."),
    RecordPattern("openmpi.ucx", _WHO +
           r"\S{0,200}?(?P<file>(?:pml|osc|common)_ucx\w*\.c):\d+ +(?:Error|ERROR): +"
           r"(?P<message>Failed to (?:create UCP (?:worker|context)|read UCP config|query UCP).*|UCP worker does not "
           r"support MPI_THREAD_MULTIPLE.*|OSC UCX component priority set inside component query failed)",
           level="warning", priority=1,
           note="Open MPI could not set up UCX; it goes on with another transport if it may."),
    RecordPattern("openmpi.ucx", _WHO +
           r"\S{0,200}?(?P<file>(?:pml_ucx|common_ucx|osc_ucx|mca_\w*ucx|spml_ucx|atomic_ucx|scoll_ucc|"
           r"coll_ucc)\w*\.c):\d+ +(?:Error|ERROR): +(?P<message>.+)", level="error",
           note="Open MPI's layer over UCX reports a failure."),
    RecordPattern("openmpi.ucx", _WHO +
           r"\S{0,200}?(?P<file>(?:pml_ucx|common_ucx|osc_ucx)\w*\.c):\d+ +(?:Warning|WARNING): +(?P<message>.+)",
           level="warning", note="Open MPI's layer over UCX warns."),
    RecordPattern("openmpi.ofi", _WHO +
           r"\S{0,200}?(?P<file>(?:mtl|btl|common)_ofi\w*\.[ch]):\d+: (?P<message>.{0,300}?(?:fail|rror|unable).*)",
           level="error", note="Open MPI's layer over libfabric reports a failure."),
    RecordPattern("openmpi.ofi", r"Open MPI failed an OFI Libfabric library call \((?P<function>\w+)\)", level="error",
           priority=25, read_lines=read_help_text, note="A libfabric call failed inside Open MPI."),
    RecordPattern("openmpi.fabric", _WHO + _NAME +
           r" (?P<message>selected pml (?P<pml>\w+), but peer \S{1,40} on (?P<other_host>[\w.-]+) selected pml "
           r"(?P<other_pml>\w+))", level="error",
           note="Two processes chose different transports, so they cannot talk to each other."),
    RecordPattern("openmpi.hcoll", _WHO +
           r"\[LOG_CAT_(?P<category>\w+)\] (?!ml_discover_hierarchy|failed to init ucx)"
           r"(?P<message>.{0,300}?(?:[Ff]ail|[Ee]rror|ERROR|unable|[Cc]annot).*)",
           level="error", note="The HCOLL library reports a failure."),
    RecordPattern("openmpi.hcoll", _WHO + r"\[LOG_CAT_(?P<category>\w+)\] (?P<message>MCAST rank=.*|.{0,80}\bMCAST comm\b.*)",
           level="warning", priority=1, note="HCOLL goes on without multicast."),
    RecordPattern("openmpi.hcoll", _WHO + r"\[LOG_CAT_(?P<category>\w+)\] (?P<message>.*)", level="warning", priority=-1,
           note="The HCOLL library warns."),
    RecordPattern("openmpi.hcoll", _WHO + r"(?:Error: )?(?P<message>[Hh]col library init failed.*|"
           r"coll_hcoll\w*\.c:\d+ - \w+\(\) .*)", level="warning", note="HCOLL could not be set up and is not used."),
)  # fmt: skip

RUNTIME = (
    RecordPattern("openmpi.error_log", _WHO +
           r"(?P<layer>PMIX|OPAL) ERROR: (?P<message>.+?) in file "
           r"(?P<file>\S*(?:gds_|dstore|bfrop_base_unpack)\w*\.c)", level="warning",
           note="PMIx could not use one way of sharing data, or one value, and goes on without."),
    RecordPattern("openmpi.error_log", _WHO +
           r"(?:\[\[\w+(?:,\d+)?\],\w+\] |\[\S+@\w+,\w+\] )?(?P<layer>ORTE|PRTE|PMIX|OPAL|OMPI|"
           r"OSHMEM)_ERROR_LOG: (?P<message>.+?)" r"(?: in file (?P<file>\S+) at line \d+)?\s*$", level="error",
           note="The run-time of Open MPI logged an error at this place of its code."),
    RecordPattern("openmpi.error_log", _WHO +
           r"(?P<layer>PMIX|PRTE|OPAL|ORTE) ERROR(?:: |：) ?(?P<message>.+?)"
           r"(?: +in +file (?P<file>\S+) at line \d+)?\s*$",
           level="error", priority=-1, note="The run-time of Open MPI logged an error at this place of its code."),
    RecordPattern("openmpi.error_log", _WHO + r"\[(?P<file>\S{1,200}\.c):\d+\] (?P<layer>PMI)x Error: (?P<message>\S.*)",
           level="error", note="The run-time of Open MPI logged an error at this place of its code."),
    RecordPattern("openmpi.error_log", _WHO + r"(?P<file>PRUN): DEFHANDLER WITH STATUS (?P<message>(?:PMIX_)?(?:ERR_)?"
           r"(?:LOST|UNREACH|COMM|FAIL|TIMEOUT|PROC_ABORT)\w*)", level="error",
           note="prun lost its connection to the servers."),
    RecordPattern("openmpi.oob", _WHO + r"(?:\[\[\d+,\d+\],\d+\](?:->?\[\[\d+,\d+\],\d+\])? ?:? ?|"
           r"\[\S+@\d+,\d+\] )?(?P<message>(?:mca_)?(?:oob_tcp|tcp_peer|tcp_component|ptl_tcp)\w*:? .*?"
           r"(?:fail|invalid|unable|rejected|unexpected|lost|closed|mismatch|could not).*?)" + _ERRNO + r"\s*$",
           level="error", note="A TCP connection of the launchers broke."),
    RecordPattern("openmpi.oob", _WHO + r"\[\[\d+,\d+\],\d+\] (?P<message>.*connect_to_peer.*|.*ORTE_ERR_CONNECTION.*|"
           r".*connection to peer .*(?:failed|lost).*)", level="error",
           note="A TCP connection of the launchers broke."),
    RecordPattern("openmpi.component", _WHO +
           r"(?:mca_base_component_repository_open|mca: base: component_find): unable to open "
           r"(?P<component>[\w./-]+):? (?P<message>.*)", level="warning",
           note="A plug-in of Open MPI could not be loaded and is left out."),
    RecordPattern("openmpi.command_missing",
           r"(?:^|[:/ ])(?P<command>orted|prted|orterun|mpirun|mpiexec|prterun)\"?: (?:[Cc]ommand )?not found",
           level="error", note="A program of the MPI installation is not on the PATH."),
    RecordPattern("openmpi.command_missing",
           r"/(?P<command>orted|prted|orterun|mpirun|mpiexec|prterun): No such file or directory", level="error",
           note="A program of the MPI installation is not where it was looked for."),
    RecordPattern("openmpi.usage",
           r"^(?:mpirun|mpiexec|orterun|prterun|prun)(?:\.\w+)?: (?:Error: )?(?P<message>(?:unknown|unrecognized|"
           r"invalid) (?:option|argument).*)", level="fatal",
           note="The launcher does not know an option that it was given."),
    RecordPattern("openmpi.killing", r"^(?:mpirun|mpiexec|orterun|prterun|prun)(?:\.\w+)?: (?P<message>killing job|"
           r"Forwarding signal (?P<signal>\d+) to job|abort is already in progress.*|"
           r"clean termination accomplished)", level="info",
           note="The launcher ends its processes because it was told to."),
    RecordPattern("openmpi.error",
           r"^(?:mpirun|orterun|prterun|orted|prted)(?:\.\w+)?:? (?P<message>.{0,300}?(?:unable to|could not|cannot|"
           r"failed|" r"rror:).*)", level="error", priority=-2, note="The launcher reports a failure."),
    RecordPattern("openmpi.error", _WHO +
           r"(?P<message>(?:Error modifying (?:XRC recv )?QP|Error creating XRC recv QP|Error in accelerator mem|"
           r"CUDA: error calling cu|CUDA: Error in cuMemcpy|CUDA: memmove-Error|Cannot determine local rank|"
           r"Cannot determine number of local processes|Cannot determine total number of processes|"
           r"Failed to receive UCX worker address|Failed to cuMemcpy GPU memory|Failed to register remote memory|"
           r"BTL OFI will now abort|BTL TCP progress thread initialization failed|SRQ [Ii]nternal error|"
           r"XRC Internal error|GNI_SmsgSendWTag failed|GNI_EpPostDataWaitById failed).*)", level="error", priority=-3,
           note="A module of Open MPI reports a failure."),
    RecordPattern("openmpi.launch", _WHO +
           r"\S{1,120} ACTIVATE PROC \S{1,120} STATE (?P<message>FAILED TO (?:START|LAUNCH)\b)",
           level="fatal", note="A daemon that was told to be verbose says that it could not start a process."),
    RecordPattern("openmpi.killing", r"^(?P<count>\d+) total processes (?:killed|failed to start)", level="info",
           note="How many processes the launcher ended."),
    RecordPattern("openmpi.warning", _WHO + r"(?P<message>Warning: could not find environment variable .*)", level="warning",
           note="A variable that mpirun was to hand on is not set where it was started."),
    RecordPattern("openmpi.warning", _WHO +
           r"(?P<message>WARNING: (?:\w+_unlink failed|\S+ unlink failed).*)", level="warning",
           note="A file of shared memory could not be removed."),
    RecordPattern("openmpi.error", r"^r(?P<rank>\d{1,7}) \| (?P<message>(?P<function>MPI_\w{2,40}) returned error "
           r"code \d{1,5}: .*)", level="error", note="mpi4jax met an error of MPI and ends the job."),
    RecordPattern("openmpi.error", _WHO + r"Error:? (?P<message>(?:pshmem|memheap|sshmem|spml|scoll)_\w{2,60}\.c:\d+ - \S.*)",
           level="error", priority=1, note="A part of OpenSHMEM reports a failure."),
    RecordPattern("openmpi.error", _WHO + r"(?P<message>Job failed to spawn: \S.*)", level="error",
           note="The launcher could not start the program."),
    RecordPattern("openmpi.error", _WHO + _NAME + r" (?P<message>selected pml \w{1,20}, but peer .*)", level="error",
           note="Two ranks chose different ways to talk to each other."),
    RecordPattern("openmpi.error",
           r"\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10})\] (?:\[\d+\] ?)?"
           r"(?P<message>(?:\[\[\d+,\d+\],\d+\] )?(?:mca|opal|ompi|orte|prte|pmix|pml|btl|mtl|osc|coll|"
           r"oob|plm|odls|ess|grpcomm|routed|sm|common|shmem)[_:]\S* .*(?:[Ee]rror|ERROR|"
           r"[Ff]ail|[Uu]nable|[Cc]annot|[Aa]bort).*)", level="error", priority=-4,
           scan=r"\](?:mca|opal|ompi|orte|pml|btl|coll|oob)[_:]|\] (?:mca|opal|ompi|orte|prte|pmix|pml|btl|mtl|osc|"
           r"coll|oob|plm|odls|ess|grpcomm|routed|sm|common|shmem)[_:]",
           note="A module of Open MPI reports a failure."),
)  # fmt: skip

FACTS = (
    RecordPattern("openmpi.version", r"\b(?P<product>Open MPI|PRRTE|prterun|OpenRTE)\)? (?:v(?:ersion)? ?)?"
           r"(?P<version>[1-9]\.\d{1,2}\.\d{1,2}\w*)", level="info", note="The version of Open MPI."),
    RecordPattern("openmpi.rank", _WHO.replace(r"(?P<by_pid>", "(?:") +
           r"(?:MCW r|R)ank (?P<by_rank>\d+) (?:bound to (?:socket|package|core|NUMA|node|hwt)\S* ?.*|"
           r"is not bound\b.*)", level="info", note="Where a rank is and to which cores it is bound."),
    RecordPattern("openmpi.node",
           r"Data for node: (?P<node>[\w.-]+)\s+(?:Num slots: (?P<slots>\d+))?.*?(?:Num procs: (?P<procs>\d+))?\s*$",
           level="info", note="How many processes the launcher puts on a node."),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*HEADS, *FRAMES, *HANDLERS, *TRANSPORTS, *RUNTIME, *FACTS)

SIGNS: LifecycleSigns = {
    "openmpi.abort": ("end told", "named end"),
    "openmpi.completion": ("lost peer",),
    "openmpi.daemon_lost": ("named end",),
    "openmpi.exit_code": ("end told", "named end"),
    "openmpi.fatal_handler": ("own rank",),
    "openmpi.killing": ("job ends",),
    "openmpi.rank_died": ("end told", "named end", "last words"),
    "openmpi.signal": ("own end", "named end"),
    "openmpi.stack": ("own end",),
    "openmpi.tcp": ("lost peer",),
    "openmpi.tcp_connect": ("lost peer",),
}
