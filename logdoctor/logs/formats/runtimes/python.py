r"""Failures of the Python interpreter and its standard library.

Kinds and fields (all tracebacks read to one record; `Record.text` is ``Type: message`` with its further lines):

``python.traceback``  exception (dotted type, "" if the end is missing), message (first line), inner (type raised
    inside, in a worker or a Ray task), where ("file.py:12 in f"), function, frames (the innermost 12, "path:f >
    path:g", path from the package on), chained ("during" | "direct": it follows another exception), caught (1: logged,
    ignored or at exit, it ended nothing), went_on (1: caught further in, and calm lines of a logger follow), thread,
    process (a child's name), local_rank (the index of a spawned process
    that failed), context (text before it on the head line), and those that the message tells:
    worker, worker_pids, signal, exit_code, errno, pid
``python.exception``  an exception line alone, or a report of PyTorch's error handler: exception, message, inner, and
    those that the message tells
``python.dataloader`` worker (its number), worker_pids, signal, exit_code
``python.anomaly``    function (the one whose backward raised: ``CudnnBatchNormBackward``)
``python.fatal``      message, signal, threads, where, frames
``python.stack``      stacks of a living process: threads, where, frames (of the main or current thread, the
    innermost 32), thread_id, pid, local_rank, after_s, and the rank and host of a headline above it
``python.warning``    category, file, line; ``python.leak`` (resource_tracker): leaked, what
``python.start``      program, message (script or module not found)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.hydra_errors import CALL, CALL_SCAN, read_call
from logdoctor.logs.multiline.python.around import read_hook, read_ignored, traceback_reader
from logdoctor.logs.multiline.python.exceptions import EXCEPTION, LINE_MARKS, read_message
from logdoctor.logs.multiline.python.messages import read_worker
from logdoctor.logs.multiline.python.reports import REPORT, REPORT_SCAN, read_report
from logdoctor.logs.multiline.python.stacks import read_fatal, read_pystack, read_section, read_threads
from logdoctor.logs.multiline.python.tracebacks import read_traceback
from logdoctor.logs.multiline.stack_headlines import STACK_HEADLINE, STACK_HEADLINE_SCAN
from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value


def _warning(head: Message, _: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Take the source line that the warnings module prints below a warning."""
    line = next(below, None)
    has_source_line = line is not None and line.text.startswith("  ") and "Traceback" not in line.text
    return Multiline(head.text, {}, (line.below,) if line and has_source_line else ())


_EXCEPTION_SCAN = (
    r"(?:[A-Za-z](?:Error|Exception|Failure|Timeout|Interrupt)|SystemExit|StopIteration|ExceptionGroup|^Exception"
    r"|NotFound|Conflict|TimeoutExpired|Disconnected|IncompleteRead|ProcessPool|ArrowInvalid|BadZipFile|EnforceNotMet"
    r"|\.(?:exceptions?|errors?|exc)\.[A-Z][A-Za-z]*|queue\.Empty|queue\.Full|\.error|socket\.timeout"
    r"|socket\.gaierror|Failed)(?:\([A-Za-z.]+\))?(?::|\s*$)"
)
_A_METRIC = r"(?!\w*(?:Squared|Absolute|Percentage|Logarithmic|Relative|Reconstruction|Test|Train)Error: ?[-.\d])"

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "python.traceback",
        r"Traceback \(most recent call last\)",
        "fatal",
        read_traceback,
        "A Python program stopped at an exception.",
        5,
    ),
    RecordPattern(
        "python.traceback",
        r"^\s*(?:[|+] )?During handling of the above exception, another exception occurred",
        "fatal",
        traceback_reader(chained="during"),
        "While an exception was handled, a second one was raised.",
        6,
    ),
    RecordPattern(
        "python.traceback",
        r"^\s*(?:[|+] )?The above exception was the direct cause of the following exception",
        "fatal",
        traceback_reader(chained="direct"),
        "An exception was raised because of the one before it.",
        6,
    ),
    RecordPattern(
        "python.anomaly",
        r"\bError detected in (?P<function>\w{3,80})\. (?:Traceback of forward call that|No forward pass information)",
        "error",
        None,
        "PyTorch's anomaly mode shows where the operation was called whose backward raised an exception.",
        7,
        scan=r"Error detected in \w{3,80}\. (?:Traceback of forward call|No forward pass information)",
    ),
    RecordPattern(
        "python.traceback",
        r"^Exception ignored (?:in|on|while)\b",
        "warning",
        read_ignored,
        "Python ignored an exception in a destructor or callback; the program went on.",
        6,
    ),
    RecordPattern(
        "python.traceback",
        r"\sException ignored in(?: sys\.unraisablehook)?: <",
        "warning",
        read_ignored,
        "The same behind a prefix that no wrapper knows.",
        6,
        scan=r"Exception ignored in(?: sys\.unraisablehook)?: <",
    ),
    RecordPattern(
        "python.traceback",
        r"(?:--- Logging error ---|^Error in atexit\._run_exitfuncs:|^Exception in callback )",
        "warning",
        traceback_reader("warning", caught=1),
        "An exception in the logging module, an exit function or a callback; the program went on.",
        6,
        scan=r"--- Logging error ---|Error in atexit\._run_exitfuncs|Exception in callback ",
    ),
    RecordPattern(
        "python.traceback",
        r"^Batched Comm Closed <",
        "info",
        traceback_reader("info", caught=1),
        "A connection of Dask was closed while something was left to send; it says so when a cluster ends, too.",
        6,
        scan=r"Batched Comm Closed <",
    ),
    RecordPattern(
        "python.traceback",
        r"^WARNING: .{1,300}; the following exception was raised:",
        "warning",
        traceback_reader("warning", caught=1),
        "Sphinx could not import what a page documents, and went on (`sphinx/ext/autodoc/importer.py`).",
        6,
        scan=r"; the following exception was raised:",
    ),
    RecordPattern(
        "python.traceback",
        r"Jax plugin configuration error: Exception when calling ",
        "warning",
        traceback_reader("warning", caught=1),
        "JAX does without a plug-in for a kind of device and goes on, with the CPU if need be (`xla_bridge.py`).",
        6,
    ),
    RecordPattern(
        "python.traceback",
        r"(?:Error loading server extension |\| (?:error (?:adding|linking|loading) extension|extension failed load))",
        "warning",
        traceback_reader("warning", caught=1),
        "A server of Jupyter did without an extension (`notebookapp.py`, jupyter_server's `manager.py`).",
        6,
        scan=r"Error loading server extension |\| (?:error (?:adding|linking|loading) extension|extension failed load)",
    ),
    RecordPattern(
        "python.traceback",
        r"(?:Task|Future) exception was never retrieved",
        "warning",
        traceback_reader("warning", caught=1),
        "An exception of an asynchronous task that nobody waited for.",
        6,
    ),
    RecordPattern(
        "python.traceback",
        r"^Exception in thread (?P<thread>\S.*?):?\s*$",
        "error",
        traceback_reader("error"),
        "A thread of the program ended with an exception; the process went on without it.",
        6,
        scan=r"Exception in thread ",
    ),
    RecordPattern(
        "python.traceback",
        r"^Process (?P<process>(?:\w*Process|\w+:?[\w:]*)-\d[\d:]*):\s*$",
        "fatal",
        traceback_reader("fatal"),
        "A child process ended with an exception.",
        6,
        scan=r"Process \w*Process-\d|Process \w+-\d+:",
    ),
    RecordPattern(
        "python.traceback",
        r"^\s*-- Process (?P<local_rank>\d{1,6}) terminated with the following error:\s*$",
        "fatal",
        traceback_reader("fatal"),
        "torch.multiprocessing shows the exception of a process that it had started.",
        6,
        scan=r"-- Process \d+ terminated with the following error:",
    ),
    RecordPattern(
        "python.traceback",
        CALL,
        "fatal",
        read_call,
        "Hydra was to make an object, and what it called raised.",
        6,
        scan=CALL_SCAN,
    ),
    RecordPattern(
        "python.traceback",
        r"^Error in sys\.excepthook:",
        "error",
        read_hook,
        "The handler for uncaught exceptions failed itself; the exception follows.",
        6,
    ),
    RecordPattern(
        "python.dataloader",
        r"^(?:ERROR: )?Unexpected (?:bus error|segmentation fault|floating-point \w+) encountered in worker",
        "error",
        read_worker,
        "A data-loading worker process received a deadly signal.",
        7,
        scan=r"encountered in worker",
    ),
    RecordPattern(
        "python.dataloader",
        r"DataLoader worker \(pid(?:\(s\))? [\d, ]+\) (?:exited unexpectedly|is killed by signal)",
        "error",
        read_worker,
        "A data-loading worker process died.",
        -6,
        scan=r"DataLoader worker \(pid",
    ),
    RecordPattern(
        "python.fatal",
        r"Fatal Python error: (?P<message>[^\n]+?)\s*$|Windows fatal exception: (?P<message>(?:access violation|"
        r"stack overflow|float [a-z ]{4,20}|int(?:eger)? [a-z ]{4,20}|page error|code 0xc0000\w{3})\s*$)",
        "fatal",
        read_fatal,
        "The Python interpreter itself crashed or received a deadly signal.",
        8,
        scan=r"Fatal Python error: |Windows fatal exception: ",
    ),
    RecordPattern(
        "python.stack",
        r"^Timeout \((?P<after>\d+:\d\d:\d\d(?:\.\d+)?)\)!",
        "warning",
        read_threads,
        "faulthandler's timer ran out and it printed where every thread was.",
        6,
        scan=r"Timeout \(\d+:\d\d:\d\d",
    ),
    RecordPattern(
        "python.stack",
        r"^(?:Current thread|Thread) 0x[0-9a-f]+(?: \[[^\]]*\])? \(most recent call first\)",
        "warning",
        read_threads,
        "The stacks of the threads of a Python program, innermost call first.",
        3,
        scan=r"hread 0x[0-9a-f]+.{0,40}most recent call first",
    ),
    RecordPattern(
        "python.stack",
        r"^(?:Thread \d+ \((?:idle|active)[^)]*\): \"|Thread 0x[0-9A-F]+ \((?:idle|active))",
        "info",
        read_threads,
        "The stacks of the threads of a Python program, as py-spy saw them.",
        3,
        scan=r"Thread [0-9a-fx]+ \((?:idle|active)",
    ),
    RecordPattern(
        "python.stack",
        r"^Process (?P<pid>\d{1,10}): \S*python",
        "info",
        read_threads,
        "The stacks of the threads of a Python program, as py-spy saw them.",
        3,
        scan=r"Process \d+: .{0,60}python",
    ),
    RecordPattern(
        "python.stack",
        r"^Traceback for thread \d+ .{0,200}\(most recent call last\)",
        "info",
        read_pystack,
        "The stacks of the threads of a Python program, as pystack saw them.",
        6,
        scan=r"Traceback for thread \d",
    ),
    RecordPattern(
        "python.stack",
        STACK_HEADLINE,
        "info",
        read_section,
        "The stacks of one rank, under a headline that names it.",
        4,
        scan=STACK_HEADLINE_SCAN,
    ),
    RecordPattern(
        "python.leak",
        r"resource_tracker: There appear to be (?P<leaked>\d+) leaked (?P<what>\w+)",
        "warning",
        _warning,
        "A process ended without giving back shared objects; this follows from another end.",
        6,
    ),
    RecordPattern(
        "python.leak",
        r"resource_tracker: (?:'|process died|\w)|Producer process has been terminated before all shared CUDA",
        "warning",
        _warning,
        "The tracker of shared objects tidied up.",
        5,
    ),
    RecordPattern(
        "python.warning",
        r"^\s*(?P<file>[^\s:]+\.pyx?|<[\w. ]+>|[^\s:]*ipykernel[^\s:]*):(?P<line>\d+): "
        r"(?P<category>(?:\w+\.)*\w*Warning): ",
        "warning",
        _warning,
        "A Python warning.",
        4,
        scan=r":\d+: [A-Za-z_.]*Warning: ",
    ),
    RecordPattern(
        "python.warning",
        r"^Warning: .+\(function [\w<>~:]+(?:\(\))?\)",
        "warning",
        note="A warning of PyTorch's C++ code.",
        scan=r"\(function \w+",
    ),
    RecordPattern(
        "python.start",
        r"(?P<program>\S*python[\d.]*): (?P<message>can't open file .+|No module named .+"
        r"|can't find '__main__' module.*|Error while finding .*)",
        "fatal",
        note="The Python interpreter did not find the script or module to run.",
        priority=6,
        scan=r"python[\d.]*: (?:can't |No module named |Error while)",
    ),
    RecordPattern(
        "python.exception",
        REPORT,
        "fatal",
        read_report,
        "An exception as PyTorch's error handler reports it.",
        6,
        scan=REPORT_SCAN,
    ),
    RecordPattern(
        "python.exception",
        r"Unhandled exception <class '(?P<exception>(?!KeyboardInterrupt'|SystemExit')[\w.]{1,120})'> in thread "
        r"<[^>]{1,120}>, proc (?P<pid>\d{1,9})\b",
        "error",
        note="The hook of better_exchook (RETURNN) names the exception before it prints the traceback.",
        scan=r"Unhandled exception <class '[\w.]{1,120}'> in thread <",
    ),
    RecordPattern(
        "python.exception",
        rf"^(?:{LINE_MARKS})?" + _A_METRIC + EXCEPTION,
        "error",
        read_message,
        "An exception of a Python program, without its traceback.",
        -5,
        scan=_EXCEPTION_SCAN,
        patience=4,
    ),
)

SIGNS: LifecycleSigns = {
    "python.exception": ("own end", "lost peer"),
    "python.fatal": ("own end", "stack"),
    "python.stack": ("stack",),
    "python.traceback": ("own end", "lost peer"),
    "python.warning": ("once",),
}
