r"""PyTorch's process groups: watchdog, heartbeat monitor, errors of NCCL, flight recorder, the end of a group.

``group_rank`` is the rank inside the process group ``pg`` (``pg_desc``), the global one only in the default group.
Fields of all kinds where printed: pg, pg_desc, group_rank.  Kinds and their further fields:

- ``c10d.watchdog_timeout``    error; seq, op, shape, numel_in, numel_out, timeout_ms, ran_ms
- ``c10d.wait_timeout``        error; a work timed out in wait(), where the watchdog is off; the same fields
- ``c10d.pg_state``            error; work, last_enqueued, last_completed (-1: none)
- ``c10d.dump_signal``         error; from_rank (the one that timed out FIRST, not the culprit), last_enqueued,
  last_completed
- ``c10d.heartbeat``           fatal; the watchdog itself got stuck; stuck_s, work_list
- ``c10d.terminating``         fatal; the monitor ends the process; reason
- ``c10d.dumping``             info; debug info is being written
- ``c10d.gil``                 error; the GIL could not be had
- ``c10d.taking_down``         fatal; fallout of an earlier line
- ``c10d.watchdog_exception``  fatal; error (first line), and as c10d.nccl_error
- ``c10d.async_error``         error; seq, op ..., and as c10d.nccl_error
- ``c10d.nccl_error``          error; file, line, error, version, result (``ncclSystemError`` ...), last_error and what
  it names (peer, errno ...), raised_from, frames, exception
- ``c10d.comm_aborted``        error; aborted_rank, error (the original reason)
- ``c10d.aborted_elsewhere``   error; from_rank aborted its communicators
- ``c10d.failed_stack``        info; the Python stack of the failed collective: frames ("file.py:func > ...",
  innermost first)
- ``c10d.desync_report``       error; op, seq, ranks (those behind), states
- ``c10d.flight_recorder``     info; path
- ``c10d.cpp_trace``           warning or error; a C++ back trace alone: raised_from, file, line, frames
- ``c10d.mpi_error``           error; file, line, code
- ``c10d.not_destroyed``       warning, harmless
- ``c10d.watchdog_ended``      info; the watchdog ended normally
- ``c10d.options``             info; timeout_ms
- ``c10d.log``                 the level of the line (F, E); any other such line of c10d's C++ files

Sources: PyTorch 1.8 to 2.15, torch/csrc/distributed/c10d (ProcessGroupNCCL.cpp, NCCLUtils.cpp, TraceUtils.h,
FlightRecorder.cpp, ProcessGroupMPI.cpp).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.c10d_lines import WORK, group_record, read_error, rejoin_lines
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import compiled, later

_STATE = (
    r"[Ll]ast enqueued (?:NCCL )?work: (?P<last_enqueued>-?\d+), "
    r"last completed (?:NCCL )?work: (?P<last_completed>-?\d+)"
)
_TIMEOUT = (
    rf"Watchdog caught(?! exception)(?: collective operation timeout: (?:{WORK}(?:\)? ran for "
    r"(?P<ran_ms>\d+)(?: milliseconds)?)?)?)?"
)
_CAUGHT = rf"\bCaught collective operation timeout: {WORK}(?:\)? ran for (?P<ran_ms>\d+)(?: milliseconds)?)?"
_PROGRESS = (
    r"(?:Exception \(either an error or timeout\)(?: detected by watchdog at work: )?|Timeout at NCCL work: |"
    rf"failure detected by watchdog at work sequence id: )(?:(?P<work>-?\d+)(?:,| PG status:) {_STATE})?"
)
_FILES = (
    r"(?:ProcessGroup\w*|NCCLUtils|TCPStore\w*|FileStore|HashStore|PrefixStore|Store|socket|Utils|reducer|logger|"
    r"FlightRecorder\w*|Work|Backend|comm|init|debug|intra_node_comm|\w*SymmetricMemory\w*|NanCheck|"
    r"ControlPlane|WorkerServer|Functional|TraceUtils)\.(?:cpp|hpp|h|cu)"
)
_FILES_SCAN = (
    r"(?:\.cpp:|ProcessGroup\w*\.hpp:|Utils\.hpp:|Backend\.hpp:|FlightRecorder\w*\.hpp:|Work\.hpp:|TraceUtils\.h:|comm\.h:|debug\.h:|"
    r"comm\.hpp:|Store\.hpp:|NanCheck\.cu:|intra_node_comm\.cu:|SymmetricMemory\w*\.(?:cu|hpp):|socket\.h:|logger\.hpp:)"
)
_OWN_FILE = later(_FILES)
_STACK_LINE = later(r"^\s*#\d+ (?P<function>\S+) from (?P<path>\S+?)(?::\d+)?\s*$")
_BEHIND = later(
    r"\[(?P<ranks>[\d, ]{1,4000})\] ?(?:finished collective #\d+, but didn't join|joined but didn't finish)"
)
_REPORT_LINE = later(
    r"^\s+(?:- )?(?:\[[\d, ]+\]|Timeout at collective|To our best knowledge|Snapshot of ranks|#\d+ (?:started|"
    r"finished)|ranks? )|^\s*-"
)


def _read_stack(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the Python stack of a failed collective, innermost frame first."""
    frames: list[str] = []
    taken: list[int] = []
    for message in below:
        hit = _STACK_LINE.match(message.text)
        if not hit:
            break
        frames.append(f"{hit['path']}:{hit['function']}")
        taken.append(message.below)
    return Multiline(head.text, {"frames": " > ".join(frames[:12])} if frames else {}, tuple(taken))


def _read_desync(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the report of TORCH_NCCL_DESYNC_DEBUG: the ranks behind, and the number of states."""
    lines = [head.text]
    taken: list[int] = []
    for message in below:
        if not _REPORT_LINE.match(message.text):
            break
        lines.append(message.text)
        taken.append(message.below)
    text = "\n".join(line.strip() for line in lines)
    behind = [int(rank) for hit in _BEHIND.finditer(text) for rank in compiled(r"\d+").findall(hit["ranks"])]
    more: dict[str, Value] = {"states": sum(" started " in line or " finished " in line for line in lines)}
    if behind:
        more["ranks"] = tuple(dict.fromkeys(behind))
    return Multiline(text, more, tuple(taken))


def _read_own(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a message that a C++ file of c10d logged as an error.

    The file stands in the stripped prefix (``source.logger``).
    """
    source = head.source
    if source.level not in ("error", "fatal") or not _OWN_FILE.match((source.logger or "").rpartition("/")[2]):
        return None
    return read_error(head, fields, below)


RECORDS: tuple[RecordPattern, ...] = (
    group_record(
        "c10d.watchdog_timeout",
        _TIMEOUT,
        "error",
        "A collective did not finish in time on this rank.",
        scan="Watchdog caught",
        read_lines=rejoin_lines(_TIMEOUT, "ran_ms"),
    ),
    group_record(
        "c10d.wait_timeout",
        _CAUGHT,
        "error",
        "A collective did not finish in time on this rank.",
        scan="Caught collective operation timeout",
        read_lines=rejoin_lines(_CAUGHT, "ran_ms"),
    ),
    group_record(
        "c10d.wait_timeout",
        r"Work(?:NCCL| WorkNCCL)\([^\n]{1,300}\) timed out in (?:call to wait\(\)|blocking wait)",
        "error",
        "A collective did not finish in time on this rank.",
        scan=r"timed out in (?:call to wait\(\)|blocking wait)",
        read_lines=read_error,
    ),
    group_record(
        "c10d.pg_state",
        _PROGRESS,
        "error",
        "How far this rank had come in its process group when the failure was seen.",
        scan=r"(?:Exception \(either an error or timeout\)|Timeout at NCCL work: |"
        r"failure detected by watchdog at work)",
        read_lines=rejoin_lines(_PROGRESS, "last_completed"),
    ),
    group_record(
        "c10d.dump_signal",
        r"(?:Received a (?:global )?(?:dump signal|timeout)\b[^\n]{0,90}?from\s+(?:rank (?P<from_rank>\d+)|"
        r"this local rank|another rank)|Observed flight recorder dump signal|First PG on this rank (?:to signal|"
        r"detecting))"
        rf"(?:[^\n]{{0,200}}?{_STATE})?",
        "error",
        "Another rank timed out first and told this one to write its debug information.",
        scan=r"(?:Received a (?:global )?(?:dump signal|timeout)|Observed flight recorder dump|First PG on this rank )",
    ),
    group_record(
        "c10d.heartbeat",
        r"(?:watchdog got stuck for (?P<stuck_s>\d+) ?s|NCCL monitor thread timeout\.|monitoring thread detects no "
        r"heartbeat and will|Heartbeat monitor timed out!"
        r"(?:[^\n]{0,120}?workMetaList_\.size\(\)=(?P<work_list>\d+))?)",
        "fatal",
        "The thread that watches the collectives made no progress itself, so the process is ended.",
        scan=r"(?:watchdog got stuck for \d|NCCL monitor thread timeout\.|monitoring thread detects no heartbeat and|"
        r"Heartbeat monitor timed out!)",
        read_lines=read_error,
    ),
    group_record(
        "c10d.terminating",
        r"Terminating the process after attempting to dump debug info, due to (?P<reason>[^\n]+?)\.?\s*$",
        "fatal",
        "PyTorch ends this process after it wrote its debug information.",
        scan="Terminating the process after attempting to dump debug info",
        read_lines=read_error,
    ),
    group_record(
        "c10d.dumping",
        r"ProcessGroupNCCL (?:preparing to dump debug info|dumping nccl trace)",
        "info",
        "PyTorch writes debug information about the collectives.",
        scan="ProcessGroupNCCL (?:preparing to dump|dumping nccl)",
    ),
    group_record(
        "c10d.gil",
        r"Could not acquire GIL within \d+ ms on exit, possible GIL induced hang",
        "error",
        "Another thread of this process held Python's lock.",
        scan="Could not acquire GIL within ",
    ),
    group_record(
        "c10d.taking_down",
        r"(?:Some NCCL operations have failed or timed out\.|To avoid (?:this|"
        r"data) inconsistency, we are taking the entire process"
        " down)",
        "fatal",
        "PyTorch ends this process because a collective failed before.",
        scan="(?:Some NCCL operations have failed or timed out|we are taking the entire process down)",
    ),
    group_record(
        "c10d.watchdog_exception",
        r"(?:NCCL|Process group) watchdog thread terminated with exception: (?P<error>[^\n]*)",
        "fatal",
        "The thread that watches the collectives ended on an error.",
        scan="watchdog thread terminated with exception: ",
        priority=6,
        read_lines=read_error,
    ),
    group_record(
        "c10d.async_error",
        rf"Collective {WORK}\)? raised the following async exception: (?P<error>[^\n]*)",
        "error",
        "A collective that was under way failed.",
        scan="raised the following async exception: ",
        priority=6,
        read_lines=read_error,
    ),
    group_record(
        "c10d.nccl_error",
        r"(?:(?P<exception>\w+(?:\.\w+){0,4}(?:Error|Exception)): )?NCCL error(?: in: (?P<file>\S+?):(?P<line>\d+),|:) "
        r"(?P<error>[^\n]+?), NCCL version (?P<version>[\d.]+)",
        "error",
        "A call of NCCL failed.",
        scan=r"NCCL error(?: in: [^ \n]{3,200}:\d+,|:) [^\n]{3,120}, NCCL version \d",
        priority=5,
        read_lines=read_error,
    ),
    group_record(
        "c10d.nccl_error",
        r"(?:(?P<exception>\w+(?:\.\w+){0,4}(?:Error|Exception)): )?NCCL Error (?P<code>\d+): (?P<error>[^\n]+)",
        "error",
        "A call of NCCL failed.",
        scan=r"NCCL Error \d+: ",
        priority=5,
        read_lines=read_error,
    ),
    group_record(
        "c10d.nccl_error",
        r"(?P<result>nccl(?:UnhandledCudaError|SystemError|InternalError|InvalidArgument|InvalidUsage|RemoteError|"
        r"Timeout)): (?P<error>[^\n]+)",
        "error",
        "A call of NCCL failed.",
        scan=r"nccl(?:UnhandledCudaError|SystemError|InternalError|InvalidArgument|InvalidUsage|RemoteError|Timeout): ",
        priority=1,
        read_lines=read_error,
    ),
    group_record(
        "c10d.comm_aborted",
        r"NCCL communicator (?:was aborted|encountered error set by ProcessGroupNCCL)(?: on rank "
        r"(?P<aborted_rank>\d+))?(?:[^\n]*?Original reason for failure was: (?P<error>[^\n]+))?",
        "error",
        "A collective was called on a communicator that an earlier failure had closed.",
        scan="NCCL communicator (?:was aborted|encountered error set by)",
        priority=6,
    ),
    group_record(
        "c10d.aborted_elsewhere",
        r"Found key in store: NCCLABORTEDCOMM\S*, from rank: (?P<from_rank>\d+)",
        "error",
        "Another rank has aborted its communicators.",
        scan="Found key in store: NCCLABORTEDCOMM",
    ),
    RecordPattern(
        "c10d.failed_stack",
        r"Stack trace of the failed collective(?! not found)",
        "error",
        _read_stack,
        "Where in the program the failed collective was started.",
        3,
        scan="Stack trace of the failed collective",
    ),
    group_record(
        "c10d.flight_recorder",
        r"(?:Stack trace of the (?:failed|timed-?out) collective(?: operation)? not found|Finished (?:writing|"
        r"dumping)[^\n]{0,60}(?:debug info|[Ff]light [Rr]ecorder)(?:[^\n]{0,20}?\bto:? (?P<path>/\S+))?|"
        r"Skipping (?:the )?(?:heartbeat|dump|flight)|Flight [Rr]ecorder (?:dump|debug)|(?:Error|"
        r"Failed)[^\n]{0,30}(?:opening|writing|to open)[^\n]{0,40}debug info)",
        "info",
        "About the record of the last collectives that PyTorch keeps.",
        scan=r"(?:Stack trace of the (?:failed|timed)[^\n]{0,40} not found|Finished (?:writing|"
        r"dumping) [^\n]{0,60}debug info|Flight [Rr]ecorder d|Skipping (?:the )?(?:heartbeat|dump|flight)|(?:opening|"
        r"writing|to open)[^\n]{0,40}debug info)",
    ),
    RecordPattern(
        "c10d.desync_report",
        r"(?:Timeout at collective: (?P<op>\w+), #(?P<seq>\d+)|ranks that caused the desync are)",
        "error",
        _read_desync,
        "PyTorch compared the ranks and names those that are behind.",
        4,
        scan=r"(?:Timeout at collective: \w{3,30}, #\d|ranks that caused the desync are)",
    ),
    RecordPattern(
        "c10d.cpp_trace",
        r"Exception raised from (?P<raised_from>\S+) at (?P<file>\S+?):(?P<line>\d+) \(most recent call first\)",
        "warning",
        read_error,
        "Where in PyTorch's C++ code an error arose; the error itself stands above.",
        -1,
        scan=r"Exception raised from [^\n]{3,200} \(most recent call first\)",
    ),
    RecordPattern(
        "c10d.cpp_trace",
        r"Exception raised from (?P<raised_from>\S+) at (?P<file>\S*(?:ProcessGroup[A-Z]\w+|NCCLUtils|CUDAException)"
        r"\.[ch]pp):(?P<line>\d+) \(most recent call first\)",
        "error",
        read_error,
        "The same, from code that raises only where the process then ends: no warning carries such a trace.",
        0,
        scan=r"Exception raised from [^\n]{3,200}(?:ProcessGroup[A-Z]\w{2,12}|NCCLUtils|CUDAException)\.[ch]pp:\d",
    ),
    group_record(
        "c10d.mpi_error",
        r"MPI error in: (?P<file>\S+?):(?P<line>\d+), with error code: (?P<code>\d+)",
        "error",
        "A call of MPI failed.",
        scan=r"MPI error in: [^\n]{3,200}, with error code: ",
        priority=5,
        read_lines=read_error,
    ),
    RecordPattern(
        "c10d.not_destroyed",
        r"(?:process group has NOT been destroyed before (?:we destruct|it is being destructed)"
        r"|destroy_process_group\(\) was not called before program exit)",
        "warning",
        note="The program did not close its process group at the end; harmless.",
        priority=4,
    ),
    group_record(
        "c10d.watchdog_ended",
        "(?:NCCL|Process group) watchdog thread terminated normally",
        "info",
        "The process group was closed in order.",
        scan="watchdog thread terminated normally",
    ),
    group_record(
        "c10d.options",
        r"ProcessGroupNCCL initializ(?:ation options|ed with following options):(?:[^\n]*?TIMEOUT\(ms\): "
        r"(?P<timeout_ms>\d+))?",
        "info",
        "The settings of a process group.",
        scan="ProcessGroupNCCL initializ(?:ation options|ed with following)",
    ),
    RecordPattern(
        "c10d.log",
        r"^(?P<text>[^\n]+)$",
        None,
        _read_own,
        "PyTorch's distributed package logged an error.",
        -5,
        scan=rf"\b[EF]\d{{0,4}} (?:[\d:.]{{8,20}} )?(?:\d+ )?\w*{_FILES_SCAN}\d+\] ",
    ),
    RecordPattern(
        "c10d.log",
        rf"\[?(?:[EF]\d{{0,4}}) (?:[\d:.]{{8,20}} )?(?:\d+ )?(?P<file>{_FILES}):(?P<line>\d+)\] (?P<text>[^\n]+)$",
        "error",
        read_error,
        "PyTorch's distributed package logged an error.",
        -4,
        scan=rf"\b[EF]\d{{0,4}} (?:[\d:.]{{8,20}} )?(?:\d+ )?\w*{_FILES_SCAN}\d+\] ",
    ),
)

SIGNS: LifecycleSigns = {
    "c10d.aborted_elsewhere": ("gave up",),
    "c10d.async_error": ("gave up", "lost peer"),
    "c10d.comm_aborted": ("gave up",),
    "c10d.dump_signal": ("gave up",),
    "c10d.heartbeat": ("gave up",),
    "c10d.nccl_error": ("gave up", "lost peer"),
    "c10d.pg_state": ("gave up",),
    "c10d.taking_down": ("gave up",),
    "c10d.terminating": ("gave up",),
    "c10d.wait_timeout": ("gave up", "timed out"),
    "c10d.watchdog_exception": ("gave up", "lost peer"),
    "c10d.watchdog_timeout": ("gave up", "timed out"),
}
