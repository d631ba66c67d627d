r"""MPICH 3 and 4 and what is built on it: Hydra, Intel MPI, MVAPICH2, Cray MPICH with PALS, ALPS and Cray PMI.

Kinds and their fields:

- ``mpich.fatal`` code, rank, function, error_class, message, innermost: ``Fatal error in PMPI_X: CLASS, error
  stack:``; text holds the stack, one ``function(line): text`` a line; message is the innermost text, innermost the
  innermost function (its name tells the part of MPI)
- ``mpich.abort`` rank, exit_code, communicator, code: a rank called MPI_Abort
- ``mpich.stack`` innermost, message: a line of an error stack whose head is missing; ``mpich.ofi`` message, error: the
  same out of the libfabric device
- ``mpich.assertion`` file, line, message: a check inside the library; ``mpich.io`` function, message: its file layer
- ``mpich.bad_termination`` rank (Intel MPI), pid, host, exit_code, signal: Hydra's framed last words; exit_code is as
  printed (a wait status: 9 and 139 are signals 9 and 11); ``mpich.exit_string`` signal, message
- ``mpich.rank_died`` rank, host, pid, exit_code, signal: PALS, ALPS, mpirun_rsh and Fujitsu name the rank that ended
- ``mpich.daemon_died`` peer (the node), signal: PALS lost its daemon there, and all ranks with it
- ``mpich.rank_told_to_end`` rank, host, signal: PALS sent it SIGTERM because of another rank, or of the job's end
- ``mpich.hosts_unusable``, ``mpich.init_failed`` message: mpirun_rsh has no hosts, or did not reach its daemons
- ``mpich.exec_failed`` message, file: a program could not be started; ``mpich.launcher`` message: ALPS complains
- ``mpich.usage`` message: mpiexec did not understand its arguments; ``mpich.connect`` peer, message: the launcher's
  links
- ``mpich.hydra`` function, message: any other complaint of mpiexec or a proxy; ``mpich.interrupt``
- ``mpich.pmi`` message: the process manager could not be reached or refused
- ``mpich.mvapich`` function, message; ``mpich.signal`` signal, message; ``mpich.peer_gone`` message;
  ``mpich.completion`` status, vendor_err, peer_rank
- ``mpich.startup`` message: Intel MPI could not use a fabric; ``mpich.setting`` message: it ignores a setting
- ``mpich.shm`` message: shared memory or xpmem; ``mpich.error``, ``mpich.warning`` message: the rest
- facts: ``mpich.version`` version, product; ``mpich.rank`` (who is where); ``mpich.provider`` provider, version

``rank`` is the rank in MPI_COMM_WORLD ("on node R"; "rank R in comm 0"). Sources: MPICH 3.1-4.2 (src/mpi/errhan,
src/pm/hydra, src/pmi), Intel MPI 2018-2021, MVAPICH2 2.3, Cray MPICH 8 and PALS 1.2.
"""

from __future__ import annotations

from logdoctor.logs.multiline.mpi_blocks import (
    read_bad_termination,
    read_error_stack,
    read_mpd_end,
    read_nid,
    read_own_host,
    read_signal,
)
from logdoctor.logs.multiline.ucx_blocks import read_completion
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_ABORT = (
    r"Abort\((?P<code>-?\d+)\)(?: on node (?P<rank>\d+))?(?: \(rank (?P<group_rank>-?\d+) in comm "
    r"(?P<comm>-?\d+)\))?(?:: |:$)"
)
_CRAY = (
    r"MPICH ERROR \[Rank (?P<rank>\d+)\] \[job id (?P<job>[^\]]*)\] \[[^\]]*\](?: \[unknown\])? "
    r"\[(?P<host>[^\]]*)\] - "
    r"Abort\((?P<code>-?\d+)\)(?: \(rank (?P<group_rank>-?\d+) in comm (?P<comm>-?\d+)\))?: "
)
_CRAY_OLD = r"Rank (?P<rank>\d+) \[(?:\w{3} ){2}[^\]]{10,24}\] \[(?P<host>[^\]]*)\] "
_FATAL = r"Fatal error in (?P<function>P?MPIX?_\w+|internal_\w+|MPI\w*): (?P<error_class>[^,\n]{1,160})"
_HYDRA = r"\[(?P<program>mpiexec|proxy|hydra\w*|upstart|mpirun|bstrap):?(?P<place>[\d:]*)@(?P<by_host>[\w.-]+)\] "
_RSH = r"\[(?P<by_host>[\w.-]+):mpi(?:run_rsh|spawn_\d+)\]\[\w+\] "
"""Source of a line: MVAPICH2's launcher or its daemon on a node (src/pm/mpirun, common/debug_utils.h)."""
_WHERE = r"(?P<function>\w+) \((?P<file>[\w./-]+):\d+\): "
_STACK_NAMES = (
    r"(?:MPIDI?U?_\w+|MPID\w*|MPIR_\w+|MPIC_\w+|MPIR\w+|P?MPI_[A-Z]\w+|MPL_\w+|MPIDU\w+|internal_\w+|"
    r"\w*_init_(?:shm|hook|vci)\w*|open_fabric|find_provider|create_vni_context|create_endpoint|"
    r"update_global_limits|recv_target_cmpl_cb|addr_exchange\w*)"
)

_STACK_SCAN = (
    r"(?:MPIR_|MPIDI|MPID_|MPIC_|MPIDU|MPIRI|MPL_(?:init|shm|proc|gpu|sock|listen|connect)|MPI_(?:All|Bar|Bca|"
    r"Comm_|Exs|Fin|Gat|Get|Gro|Iall|Ibar|Ibc|Ire|Ise|Iss|Init|Pro|Put|Rec|Red|Sca|Sen|Ssen|Tes|Typ|Wai|Win_|File_|Abo|"
    r"Cart|Dist|Fetch|Neigh|Accum|Op_|Pack|Unp|Attr|Info|Spawn|Lookup|Open|Close|Start)|internal_[A-Z]|_init_(?:shm|hook|"
    r"vci)|open_fabric|find_provider|create_vni_context|create_endpoint|update_global_limits|recv_target_cmpl_cb|"
    r"addr_exchange)\w*\(\d+\)[. ]*:"
)

ERRORS = (
    RecordPattern("mpich.abort", _CRAY +
           r"application called MPI_Abort\((?P<communicator>[^,]{1,80}), (?P<exit_code>-?\d+)\)", level="fatal",
           priority=6, note="A rank called MPI_Abort, which ends the job."),
    RecordPattern("mpich.abort", _ABORT +
           r"application called MPI_Abort\((?P<communicator>[^,]{1,80}), (?P<exit_code>-?\d+)\)(?: - process \d+)?",
           level="fatal", priority=6, note="A rank called MPI_Abort, which ends the job."),
    RecordPattern("mpich.abort",
           r"application called MPI_Abort\((?P<communicator>[^,]{1,80}), (?P<exit_code>-?\d+)\)(?: - process "
           r"(?P<rank>\d+))?", level="fatal", priority=5, note="A rank called MPI_Abort, which ends the job."),
    RecordPattern("mpich.abort", r"(?:^|\] )internal ABORT - process (?P<rank>\d+)", level="fatal",
           note="MPI gave up inside this process."),
    RecordPattern("mpich.fatal", _CRAY + _FATAL, level="fatal", read_lines=read_error_stack, priority=4,
           note="An MPI call failed and MPI ends the job; its error stack follows."),
    RecordPattern("mpich.fatal", _CRAY_OLD + _FATAL, level="fatal", read_lines=read_error_stack, priority=4,
           note="An MPI call failed and MPI ends the job; its error stack follows."),
    RecordPattern("mpich.abort", _CRAY_OLD +
           r"application called MPI_Abort\((?P<communicator>[^,]{1,80}), (?P<exit_code>-?\d+)\)", level="fatal",
           priority=6, note="A rank called MPI_Abort, which ends the job."),
    RecordPattern("mpich.fatal", r"\[(?:\w{3} ){2}[^\]]{8,24}\] \[(?P<host>[^\]\s]{1,80})\] " + _FATAL, level="fatal",
           read_lines=read_error_stack, priority=4, scan=r"\] \[[^\]\s]{1,80}\] Fatal error in ",
           note="An MPI call failed and MPI ends the job; its error stack follows."),
    RecordPattern("mpich.fatal", r"^(?P<rank>\d+): (?P<host>[\w.-]{1,255}): -?\d+: " + _FATAL, level="fatal",
           read_lines=read_error_stack, priority=5, scan=r"^\d+: [\w.-]{1,255}: -?\d+: Fatal error in ",
           note="An MPI call failed in the process that this line of mpiexec's table is about."),
    RecordPattern("mpich.fatal", _ABORT + _FATAL, level="fatal", read_lines=read_error_stack, priority=4,
           note="An MPI call failed and MPI ends the job; its error stack follows."),
    RecordPattern("mpich.fatal", r"\[(?P<host>[\w.-]+):mpi_rank_(?P<rank>\d+)\]\[\w+\] (?:" + _FATAL +
           r"|Fatal error in (?P<function>P?MPI_\w+):\s*$)", level="fatal", read_lines=read_error_stack, priority=4,
           scan=r":mpi_rank_\d+\]\[\w+\] Fatal error in ",
           note="An MPI call failed on this rank and MVAPICH ends the job; its error stack follows."),
    RecordPattern("mpich.fatal", r"(?:^|[\]\s:])" + _FATAL + r"(?:, error stack:)?", level="fatal", read_lines=read_error_stack,
           priority=3, note="An MPI call failed and MPI ends the job; its error stack follows."),
    RecordPattern("mpich.fatal", r"(?:^|[\]\s:])Fatal error in (?P<function>P?MPI_\w+):\s*$", level="fatal",
           read_lines=read_error_stack, priority=2,
           note="An MPI call failed and MPI ends the job; its error stack follows."),
    RecordPattern("mpich.fatal", r"\[cli_(?P<by_rank>\d+)\]: aborting job:", level="fatal", read_lines=read_error_stack,
           priority=2, note="A rank ends the job; the reason follows."),
    RecordPattern("mpich.fatal", _ABORT + r"(?P<message>\S.*)?", level="fatal", read_lines=read_error_stack, priority=0,
           note="MPI ends the job."),
    RecordPattern("mpich.fatal", _CRAY + r"(?P<message>\S.*)", level="fatal", read_lines=read_error_stack, priority=1,
           note="Cray MPICH ends the job."),
    RecordPattern("mpich.error",
           r"MPICH ERROR(?: \[Rank (?P<rank>\d+)\](?: \[[^\]]*\]){2} \[(?P<host>[^\]]*)\] -)?:? (?P<message>.+)",
           level="fatal", read_lines=read_error_stack, note="Cray MPICH reports an error."),
    RecordPattern("mpich.warning",
           r"(?:PE (?P<by_rank>\d+): )?MPICH (?:WARNING|Warning|Notice|NOTICE)\b:?"
           r"(?: \[Rank (?P<rank>\d+)\](?: \[[^\]]*\]){2} \[(?P<host>[^\]]*)\] -)?"
           r":? ?(?P<message>.+)", level="warning", note="Cray MPICH warns."),
    RecordPattern("mpich.ofi",
           r"(?P<function>\w*OFI\w*|open_fabric|"
           r"recv_target_cmpl_cb)\(\d*\)\.*: *(?P<message>OFI .{1,300})", scan=r"OFI (?:fi_|call |get |getinfo|"
           r"endpoint |fabric |domain |address |addrinfo|memory |EP |av |"
           r"event |resource |send|recv|read|write|poll|tagged |inject|netmod|cq |mr |cntr|default)",
           level="error", priority=1, note="The libfabric device of MPICH reports a failed call."),
    RecordPattern("mpich.stack", r"^\s*(?P<innermost>" + _STACK_NAMES + r")\(\d+\)[. ]*: *(?P<message>\S.*)",
    level="error", scan=_STACK_SCAN,
           note="A line of an MPI error stack."),
    RecordPattern("mpich.stack", r"^\s*(?P<innermost>\w+)\(\d+\)[. ]*: *(?P<message>\[ch3:sock\] rank (?P<by_rank>\d+) "
           r"(?:unable|failed) to connect.*)", level="error", priority=1,
           scan=r"\[ch3:sock\] rank \d+ (?:unable|failed)", note="A rank reached no socket of another."),
    RecordPattern("mpich.stack", r"^\s*\(unknown\)\(\)[. ]*: *(?P<message>\S.*)", level="error",
           note="A line of an MPI error stack."),
    RecordPattern("mpich.assertion", r"Assertion failed in file (?P<file>\S+) at line (?P<line>\d+): (?P<message>.*)",
           level="fatal", note="A check inside the MPI library failed; it ends the process."),
    RecordPattern("mpich.io", r"(?P<message>File locking failed in (?P<function>ADIOI_\w+)).*|"
           r"^\s*(?P<function>ADIOI?_\w+)::? ?(?P<message>No locks available|Function not implemented|"
           r".{0,80}?: (?:No such file|Permission denied|Input/output error).*)",
           level="error", note="MPI's file layer (ROMIO) could not lock or use a file."),
)  # fmt: skip

LAUNCHER = (
    RecordPattern("mpich.bad_termination", r"(?:= +|^\s*)BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
           level="fatal", read_lines=read_bad_termination, note="The launcher saw a process end badly."),
    RecordPattern("mpich.bad_termination", r"(?:= +|^\s*)(?:RANK (?P<rank>\d+) )?PIDS? (?P<pid>\d+) RUNNING AT "
           r"(?:[\w.-]+@)?(?P<host>[\w.-]+)", level="fatal",
           read_lines=read_bad_termination, note="The launcher saw a process end badly."),
    RecordPattern("mpich.exit_string",
           r"APPLICATION TERMINATED WITH THE EXIT STRING: (?P<message>.*?(?:\(signal (?P<signal>\d+)\))?)\s*$",
           level="fatal", note="The launcher says how the program ended."),
    RecordPattern("mpich.rank_died",
           r"^(?:(?P<host>[\w.-]+): )?rank (?P<rank>\d+) (?:exited with code (?P<exit_code>-?[1-9]\d*)|"
           r"died from signal (?P<signal>\d+))(?: and dumped core)?", level="fatal",
           note="The launcher names the rank that ended and how."),
    RecordPattern("mpich.daemon_died", r"^(?:(?P<host>[\w.-]+): )?shepherd died from signal (?P<signal>\d+)", level="fatal",
           read_lines=read_own_host, note="PALS lost its daemon on this node."),
    RecordPattern("mpich.rank_told_to_end",
           r"^(?:(?P<host>[\w.-]+): )?rank (?P<rank>\d+) died from signal (?P<signal>15)\b", level="warning",
           priority=1, note="PALS ended this rank: another one had failed, or the job was told to end."),
    RecordPattern("mpich.rank_died",
           r"_pmiu_daemon\(SIGCHLD\): \[NID (?P<nid>\d+)\] (?:\[[^\]]*\] ){0,3}PE RANK (?P<rank>\d+) exit signal "
           r"(?P<signal_text>.+?)\s*$", level="fatal", read_lines=read_nid,
           note="ALPS names the rank that a signal ended."),
    RecordPattern("mpich.rank_died", r"Application \d+ exit (?:codes?: (?P<exit_code>[1-9]\d*)|"
           r"signals?: (?P<signal_text>[A-Z].+?))(?:, .*)?\s*$", level="fatal", read_lines=read_signal,
           note="ALPS says how the application ended."),
    RecordPattern("mpich.rank_died",
           r"(?:\[(?P<by_host>[\w.-]+):mpispawn_\d+\])?\[child_handler\] MPI process \(rank: (?P<rank>\d+), "
           r"pid: (?P<pid>\d+)\) (?:terminated with signal "
           r"(?P<signal>\d+)|exited with status (?P<exit_code>\d+))", level="fatal",
           note="mpirun_rsh names the rank that ended and how."),
    RecordPattern("mpich.rank_died",
           r"^\s*[Rr]ank (?P<rank>\d+) in job \d+ +\S.{0,200}? +caused collective abort of all ranks", level="fatal",
           read_lines=read_mpd_end, scan=r"caused collective abort of all ranks",
           note="MPD, the launcher of MPICH2, names the rank that ended."),
    RecordPattern("mpich.rank_died",
           r"\[WARN\] PLE \d{4} plexec The process terminated with the signal\.\(rank=(?P<rank>\d+)\).*?"
           r"\(sig=(?P<signal>\d+)\)", level="fatal", note="Fujitsu's launcher names the rank that a signal ended."),
    RecordPattern("mpich.abort",
           r"\[WARN\] PLE \d{4} plexec (?P<message>One of MPI processes was aborted)\.\(rank=(?P<rank>\d+)\)",
           level="fatal", note="Fujitsu's launcher names the rank that called MPI_Abort."),
    RecordPattern("mpich.launcher", r"\[ERR\.\] PLE \d{4} plexec (?P<message>.{1,300})", level="error",
           note="Fujitsu's launcher reports a failure."),
    RecordPattern("mpich.rank_died", r"\[NID (?P<nid>\d+)\] .*?(?P<message>OOM killer terminated this process)", level="fatal",
           read_lines=read_nid, note="ALPS says that the kernel killed a process for lack of memory."),
    RecordPattern("mpich.exec_failed", r"^aprun: file (?P<file>\S+) not found", level="fatal", priority=1,
           note="ALPS could not find the program."),
    RecordPattern("mpich.launcher", r"^(?:aprun|apsched): (?P<message>.*?(?:claim exceeds|cannot exceed|Exiting due to errors|"
           r"[Ee]rror|[Uu]nable|[Ff]ailed|not found).*)", level="error", note="ALPS reports a failure."),
    RecordPattern("mpich.rank_died", r"\[NID (?P<nid>\d+)\] .{0,60}?initiated application termination", level="error",
           priority=-1, read_lines=read_nid, note="ALPS ends the application because of what happened on this node."),
    RecordPattern("mpich.exec_failed", _HYDRA +
           r".*?(?P<message>execvp error on file (?P<file>\S+) \((?P<error>[^)]*)\)|unable to change wdir to .*)",
           level="fatal", priority=3, note="A node could not start the program."),
    RecordPattern("mpich.exec_failed", r"(?P<message>execvp error on file (?P<file>\S+) \((?P<error>[^)]*)\))|"
           r"\[\w[\w:.@-]*\].*?(?P<message2>cannot execvp .*)", level="fatal", priority=2,
           note="A node could not start the program."),
    RecordPattern("mpich.usage", _HYDRA + _WHERE +
           r"(?P<message>unrecognized argument .*|argument matching returned error|error parsing .*|"
           r"unable to parse user arguments|no executable provided.*|invalid .*|unrecognized launcher.*|"
           r"duplicate setting: .*|token \w+ not supported.*|unable to open host ?file.*)", level="fatal", priority=2,
           note="mpiexec does not understand its arguments."),
    RecordPattern("mpich.connect", _HYDRA + r"(?:" + _WHERE +
           r")?(?P<message>(?:unable to get host address for|unable to connect from \"?[\w.-]{1,200}\"? to|"
           r"connection to proxy(?: \d{1,7} at host)?|error connecting to|could not resolve)\W*"
           r"(?P<peer>[\w.-]+)?.*)", level="error", priority=2,
           note="The launcher's processes could not reach each other."),
    RecordPattern("mpich.interrupt", _HYDRA +
           r"(?P<message>Sending Ctrl-C to processes as requested|Press Ctrl-C again to force abort)", level="info",
           priority=2, note="mpiexec was interrupted from the keyboard."),
    RecordPattern("mpich.time_limit", _HYDRA + r"(?P<message>APPLICATION TIMED OUT.*)", level="fatal", priority=2,
           note="mpiexec's own time limit ended the job."),
    RecordPattern("mpich.time_limit", r"^(?P<message>(?:I_MPI_JOB_TIMEOUT|MPIEXEC_TIMEOUT) = \d+ second\(s\): job ending "
           r"due to timeout)", level="fatal", scan="job ending due to timeout",
           note="mpiexec's own time limit ended the job."),
    RecordPattern("mpich.init_failed", r"^(?P<message>I_MPI_JOB_\w{0,10}TIMEOUT = -?\d+ second\(s\): job ending due to "
           r"startup timeout)", level="fatal", scan="job ending due to startup timeout",
           note="mpiexec waited in vain for its proxies or for the program to start."),
    RecordPattern("mpich.warning", _HYDRA + r"(?P<function>cache_put_flush) \((?P<file>[\w./-]+):\d+\): (?P<message>.+)",
           level="warning", priority=1, note="A slip of MPICH 4.3's proxy that changes nothing."),
    RecordPattern("mpich.hydra", _HYDRA + _WHERE + r"(?P<message>.+)", level="error",
           note="The launcher reports a problem."),
    RecordPattern("mpich.hydra", _HYDRA + r"(?P<file>[\w./\\-]{1,200}\.c) \(\d+\): (?P<message>.+)", level="error",
           scan=r"(?:\[mpiexec@|\[proxy|\[hydra|\[bstrap)[^\n]{0,200}\.c \(\d+\): ",
           note="The launcher reports a problem."),
    RecordPattern("mpich.hydra", _HYDRA + r"(?P<message>(?:Error|ERROR|error|Unable|unable|HYD\w*_\w+).*)", level="error",
           scan=r"(?:\[mpiexec@|\[mpiexec:|\[proxy|\[hydra|\[upstart|\[mpirun|\[bstrap)[^\n]{0,300}\] (?:Error|"
           r"ERROR|error|Unable|unable|HYD)",
           priority=-1, note="The launcher reports a problem."),
    RecordPattern("mpich.hydra", r"\b(?P<function>HYD[UTX]?\w*_\w+) \((?P<file>[\w./-]+\.c):\d+\): (?P<message>.+)",
           level="error", priority=-1, scan=r"(?:HYD[UTX]_|HYD_pmc|HYD_uii|HYD_sock|HYD_get|"
           r"HYDI_)\w* \(", note="The launcher reports a problem."),
    RecordPattern("mpich.connect", r"\[(?:\S+:)?mpi(?:run_rsh|spawn_\d+)\]\[\w+\] (?P<message>.*)", level="error",
           note="MVAPICH's launcher reports a problem."),
    RecordPattern("mpich.hosts_unusable", _RSH + r"(?P<message>(?:Can't open|No host found in|Error (?:parsing|opening)|"
           r"No|Without) host(?:file|name)\b.*|Error parsing slurm (?:nodelist|tasks per node).*|"
           r"Unable to parse PBS_NODEFILE.*)", level="fatal", priority=1,
           note="MVAPICH's launcher cannot use the list of hosts."),
    RecordPattern("mpich.init_failed", _RSH + r"(?P<message>Error in init phase, aborting!.*|could not connect to .*|"
           r"connect\(\) failed.*|Timeout during (?:client startup|attempt to bind).*)|"
           r"^(?P<message2>Timeout during (?:client startup|attempt to bind mpirun_rsh socket)\.)", level="fatal",
           priority=1, note="MVAPICH's launcher and its daemons did not find each other."),
    RecordPattern("mpich.exec_failed", _RSH +
           r"(?P<message>Failed to execvp\(\) '(?P<file>[^'\n]{1,300})'(?:: (?P<error>.*?))?)(?: \(\d+\))?\s*$",
           level="fatal", priority=2, note="A node could not start the program."),
    RecordPattern("mpich.abort",
           r"\[[\w.-]+:mpirun_rsh\]\[\w+\] Abort signaled by rank (?P<rank>\d+): '?(?P<message>.*?)'?\s*$",
           level="fatal", priority=2, note="A rank called MPI_Abort, which ends the job."),
    RecordPattern("mpich.interrupt", _RSH + r"(?P<message>Caught signal 2, killing job)", level="info", priority=2,
           note="mpirun_rsh was interrupted from the keyboard."),
)  # fmt: skip

PMI = (
    RecordPattern("mpich.pmi",
           r"(?P<message>(?:(?:PMI2?|PMIX?)_?(?:Init|Job_GetId|KVS_\w+|Finalize|Barrier)\w*|PMI2?_\w+) (?:failed|"
           r"returned|error)(?:.*?[Rr]eturn code:? *(?P<code>-?\d+))?.*)", level="error",
           scan=r"PMI[2X]?_(?:Init|Job|KVS_|Final|Barr|Get_|Info|Abort|Publ|Look|Spawn|Connect)\w* (?:failed|returned|"
           r"error)",
           note="The process manager could not be reached or refused."),
    RecordPattern("mpich.pmi", r"\[(?:unset|cli_\d+|\w+)\]: (?P<message>(?:write_line error|readline failed|PMIU_\w+|"
           r"Unable to write to PMI_fd|[Ee]xpecting cmd=|Missing hostname or port|parse_kevals).*)", level="error",
           note="The link to the process manager is broken."),
    RecordPattern("mpich.pmi", r"\[cli_\d+\]: (?P<message>(?:connect failed with|accept failed in accept_one|Unable to get |"
           r"unable to decode hostport|write_line: message|write_line failed|Unable to connect to |PMI_PORT init).*)",
           level="error", note="The link to the process manager is broken."),
    RecordPattern("mpich.pmi",
           r"(?P<message>(?:system msg for write_line failure|Unable to write to PMI_fd|MPIR_pmi_init\(\d+\)|"
           r"pmi_cmd_send|PMIU_cmd_\w+\b.*failed).*)", level="error", priority=-1,
           note="The link to the process manager is broken."),
    RecordPattern("mpich.peer_gone",
           r"\[PE_(?P<by_rank>\d+)\]: ?(?P<message>(?:inet_recv: ?)+unexpected socket EOF on (?P<by_host>[\w.-]+) from "
           r"(?P<peer>[\w.-]+).*|_pmi_network_\w+: ?_pmi_inet_(?:recv|send) (?:from|to) target \d+ failed.*|_pmi_\w+: ?"
           r"_pmi_network_\w+ failed.*)", level="error", priority=2,
           note="The link to the process manager of another node closed: what ran there probably died."),
    RecordPattern("mpich.pmi",
           r"\[PE_(?P<by_rank>\d+)\]: ?(?P<message>.{0,300}?(?:[Ff]ail|[Ee]rror|refused|in use|timed? ?out).*)",
           level="error", note="Cray's process manager library reports a failure."),
    RecordPattern("mpich.pmi", r"\[(?:unset|PE_\d+)\]: ?(?P<message>_pmi\w*:.*(?:not OKAY|returned -\d+|fail|error).*)",
           level="error", note="Cray's process manager library reports a failure."),
    RecordPattern("mpich.pmi", r"(?P<message>PMI(?:2|X)? ?(?:ERROR|Error)\b.*)", level="error", priority=-2,
           note="The process manager library reports a failure."),
    RecordPattern("mpich.shm",
           r"(?P<message>xpmem_\w+ (?:error|failed).*|shm_(?:seg_)?(?:open|create|attach)\w*\W.*(?:failed|"
           r"No space).*)", level="error", note="Shared memory between the processes of a host failed.", priority=-2),
)  # fmt: skip

MVAPICH = (
    RecordPattern("mpich.signal", r"\[(?P<by_host>[\w.-]+):mpi_rank_(?P<by_rank>\d+)\]\[error_sighandler\] Caught error: "
           r"(?P<message>.+?) \(signal (?P<signal>\d+)\)", level="fatal",
           note="A rank crashed; MVAPICH caught the signal."),
    RecordPattern("mpich.completion", r"\[(?P<by_host>[\w.-]+):mpi_rank_(?P<by_rank>\d+)\].*?Got completion with error "
           r"(?P<status>\d+), vendor code=(?P<vendor_err>0x[0-9a-f]+), dest rank=(?P<peer_rank>\d+)", level="error",
           read_lines=read_completion, priority=1, note="InfiniBand completed a transfer with an error."),
    RecordPattern("mpich.completion",
           r"\[(?P<by_rank>\d+)\] Got completion with error, code=(?P<message>\S+),.*?dest rank=(?P<peer_rank>\d+)",
           level="error", note="InfiniBand completed a transfer with an error."),
    RecordPattern("mpich.completion", r"\[(?P<by_host>[\w.-]+):mpi_rank_(?P<by_rank>\d+)\]\[\w+\] Msg from "
           r"(?P<peer_rank>\d+): wc\.status=(?P<status>\d+)", level="error", read_lines=read_completion, priority=1,
           note="InfiniBand completed a transfer with an error."),
    RecordPattern("mpich.mvapich", r"\[(?P<by_host>[\w.-]+):mpi_rank_(?P<by_rank>\d+)\]\[(?P<function>\w+)\] .{0,200}?"
           r"(?P<message>Got FATAL event .*)", level="error", priority=1,
           note="The network card reported a fatal event to MVAPICH."),
    RecordPattern("mpich.peer_gone", r"\[(?P<by_host>[\w.-]+):mpi(?:_rank_(?P<by_rank>\d+)|"
           r"spawn_\d+)\]\[\w+\] (?P<message>(?:Unexpected End-Of-File|Error while reading (?:a )?PMI socket).*)",
           level="error", priority=1, note="The link to another process closed: that one probably died."),
    RecordPattern("mpich.warning",
           r"\[(?P<by_host>[\w.-]+):mpi_rank_(?P<by_rank>\d+)\]\[(?P<function>\w+)\] (?P<message>.*(?:[Ww]arning|"
           r"WARNING|[Dd]isabl(?:ing|ed\b)|[Ff]all(?:ing|s)? ?back|[Cc]ontinuing|[Uu]sing default).*)", level="warning",
           priority=1, note="MVAPICH warns, or does without something."),
    RecordPattern("mpich.mvapich",
           r"\[(?P<by_host>[\w.-]+):mpi_rank_(?P<by_rank>\d+)\]\[(?P<function>\w+)\] (?P<message>.{0,300}?(?:[Ee]rror|"
           r"ERROR|[Ff]ail|[Cc]annot|[Uu]nable|[Nn]o such).*)", level="error", note="MVAPICH reports a failure."),
    RecordPattern("mpich.error", r"MPIDI_CRAY_init: (?P<message>GPU_SUPPORT_ENABLED is requested.*)", level="fatal",
           priority=-1, note="Cray MPICH was told to send GPU memory, and cannot."),
    RecordPattern("mpich.mvapich", r"(?:rdma_iba_hca_init\w*|rdma_cm\w*|ibv_channel_manager|rdma_open_hca|"
           r"rdma_find_active_port)[ (].*?(?P<message>(?:[Nn]o active|[Cc]annot|[Ff]ailed|[Ee]rror).*)", level="error",
           priority=-1, note="MVAPICH could not set up InfiniBand."),
)  # fmt: skip

INTEL = (
    RecordPattern("mpich.version", r"(?P<product>Intel\(R\) MPI Library)(?: for Linux\* OS)?, Version (?P<version>[\d.]+\d)",
           level="info", note="The version of Intel MPI."),
    RecordPattern("mpich.version", r"^(?P<product>MPICH|MVAPICH2?|HYDRA) (?:Version|build details|"
           r"Info):?\s+(?:Version:\s+)?(?P<version>\d+\.\d+\S*)", level="info", note="The version of MPICH."),
    RecordPattern("mpich.rank",
           r"\[\d+\] MPI startup\(\): +(?P<by_rank>\d+) +(?P<by_pid>\d+) +(?P<by_host>[\w.-]*[A-Za-z][\w.-]*) +[{"
           r"(]?[\d,+-]", level="info", note="Which host, process and cores a rank has."),
    RecordPattern("mpich.provider", r"MPI startup\(\): libfabric (?:provider: (?P<provider>\S+)|version: (?P<version>\S+))",
           level="info", note="Which transport Intel MPI uses."),
    RecordPattern("mpich.setting",
           r"MPI startup\(\): (?P<message>(?:Warning: )?.*(?:has been removed|is not supported|is deprecated|"
           r"are ignored|is ignored|will be ignored|similar variables).*)", level="warning",
           note="Intel MPI ignores a setting."),
    RecordPattern("mpich.startup",
           r"\[(?P<by_rank>\d+)\] MPI startup\(\): (?!Unable to read tuning)"
           r"(?P<message>.{0,300}?(?:not available|cannot|[Uu]nable|[Ff]ail|"
           r"ERROR|" r"[Ee]rror).*)", level="error", note="Intel MPI could not set up a transport."),
    RecordPattern("mpich.startup",
           r"(?P<message>(?:dapl|tmi|ofa|ofi|tcp|shm) fabric is not available and fallback fabric is not enabled)",
           level="fatal", priority=1, note="Intel MPI could not set up the transport that was asked for."),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*ERRORS, *LAUNCHER, *PMI, *MVAPICH, *INTEL)

SIGNS: LifecycleSigns = {
    "mpich.abort": ("end told", "named end"),
    "mpich.bad_termination": ("end told", "named end", "last words"),
    "mpich.rank_died": ("end told", "named end", "last words"),
    "mpich.daemon_died": ("last words",),
    "mpich.fatal": ("named end",),
    "mpich.rank_told_to_end": ("end told", "last words"),
    "mpich.signal": ("own end",),
}
