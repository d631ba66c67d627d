r"""Stacks of native crashes: what crash handlers and debuggers print of a process that dies, or that hangs.

Kinds and their fields:

- ``crash.trace`` signal, pid, frames, library: a crash handler's stack (glog, abseil, PyTorch, UCX, glibc)
- ``crash.gdb`` signal, frames, library: a debugger caught the signal; ``crash.backtrace`` just stacks: threads, frames
  and pid (of the main thread), library, and the rank and host of a headline above it
- ``crash.core`` pid, process: a core dump was written

``frames`` are function names, innermost first, ``library`` the first shared object of the stack outside libc.
Sources: glog signalhandler.cc, PyTorch c10/util/signal_handler.cpp, abseil failure_signal_handler.cc, gdb infrun.c.
"""

from __future__ import annotations

from logdoctor.logs.multiline.crash_stacks import read_signal, read_stack
from logdoctor.logs.multiline.debugger_stacks import read_backtrace
from logdoctor.logs.multiline.stack_headlines import STACK_HEADLINE, STACK_HEADLINE_SCAN
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern
from logdoctor.logs.signals import SIGNAL_NAME

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "crash.trace",
        r"^(?P<program>[^\s:]{1,200}):(?P<pid>\d+) terminated with signal (?P<signal>\d+) at PC=\w+ SP=\w+",
        level="fatal",
        read_lines=read_stack,
        note="A crash handler printed the stack of a dying process.",
    ),
    RecordPattern(
        "crash.trace",
        r"\*\*\* Aborted at (?P<at>\d+) \(unix time\)",
        level="fatal",
        read_lines=read_stack,
        note="A crash handler printed the stack of a dying process.",
    ),
    RecordPattern(
        "crash.trace",
        rf"\*\*\* (?P<signal_text>{SIGNAL_NAME}) (?:\(@(?:0x[0-9a-f]+|\(nil\))\),? )?(?:see \S{{1,80}} )?received "
        r"(?:by PID (?P<pid>\d+)|at time=).*",
        level="fatal",
        read_lines=read_stack,
        scan=r"\*\*\* SIG[A-Z]{3,5} .{0,110}received ",
        note="A crash handler printed the stack of a dying process.",
    ),
    RecordPattern(
        "crash.trace",
        r"`(?P<message>[A-Z][A-Za-z ]{4,60})` is detected by the operating system",
        level="fatal",
        read_lines=read_signal,
        note="A crash handler caught a signal of its own process.",
    ),
    RecordPattern(
        "crash.trace",
        r"!{3,} (?P<message>Segfault|\S{3,30}) encountered !{3,}",
        level="fatal",
        read_lines=read_stack,
        scan=r"encountered !!!",
        note="PyTorch's crash handler printed the stack of a dying process.",
    ),
    RecordPattern(
        "crash.signal",
        rf"(?:^|(?<=\s))(?P<signal_text>{SIGNAL_NAME})\((?P<signal>\d{{1,2}})\), PID: (?P<pid>\d{{1,10}}), "
        r"Thread \d{1,10}: *$",
        level="fatal",
        read_lines=read_stack,
        scan=r"SIG[A-Z]{3,5}\(\d+\), PID: \d+, Thread ",
        note="PyTorch's signal handler printed the stacks of a dying process.",
    ),
    RecordPattern(
        "crash.trace",
        r"\*\*\* Begin stack trace \*\*\*",
        level="error",
        read_lines=read_stack,
        note="TensorFlow or XLA printed the stack with an error (`CurrentStackTrace`); the message stands above it.",
    ),
    RecordPattern(
        "crash.trace",
        r"=+ (?:[Bb]acktrace|BACKTRACE)(?: \(tid: *(?P<tid>\d+)\))?:? =+",
        level="error",
        read_lines=read_stack,
        scan=r"== (?:[Bb]acktrace|BACKTRACE)",
        note="A crash handler printed the stack of a process.",
    ),
    RecordPattern(
        "crash.gdb",
        rf"(?:Thread \d+ .{{0,120}}?|Program )(?:received|terminated with) signal (?P<signal_text>{SIGNAL_NAME})",
        level="fatal",
        read_lines=read_stack,
        scan=r"(?:received|terminated with) signal SIG",
        note="A debugger or run-time saw the process get this signal.",
    ),
    RecordPattern(
        "crash.gdb",
        r"Program terminated with signal (?P<signal>\d+), ",
        level="fatal",
        read_lines=read_stack,
        note="A core dump says by which signal the process died.",
    ),
    RecordPattern(
        "crash.backtrace",
        r"^#0 {2,3}(?:0x[0-9a-f]+ in )?(?P<function>[\w:~<>@.?]{2,200}) ?\(",
        level="info",
        read_lines=read_backtrace,
        priority=-1,
        scan=r"#0  (?: 0x|0x|__|raise|abort|poll|sysc|futex|pthr|nccl|ras|std::|mca_|opal|ompi|PMPI|MPI|cuda|at::|c10|"
        r"_Py|Py|sele|epoll|nano|clock|read|write|recv|send|uct_|ucp_|ucs_|libc|malloc|free|memcpy|wait|do_)",
        note="The stack of a process.",
    ),
    RecordPattern(
        "crash.backtrace",
        r"^(?:Thread \d+ \((?:Thread 0x[0-9a-f]+\b|LWP \d|process \d)|TID \d{1,10}:\s*$)",
        level="info",
        read_lines=read_backtrace,
        scan=r"Thread \d+ \((?:Thread 0x|LWP|process)|^TID \d+:",
        note="The stacks of the threads of a process.",
    ),
    RecordPattern(
        "crash.backtrace",
        STACK_HEADLINE,
        level="info",
        read_lines=read_backtrace,
        scan=STACK_HEADLINE_SCAN,
        note="The stacks of one rank, under a headline that names it.",
    ),
    RecordPattern(
        "crash.signal",
        r"^ {2,20}Signal: (?P<signal>\d+) \((?P<signal_text>[A-Z]{3,6})\)\s*$",
        level="fatal",
        scan=r"^ {2,20}Signal: \d+ \([A-Z]{3,6}\)",
        note="coredumpctl says which signal ended the process.",
    ),
    RecordPattern(
        "crash.core",
        r"Process (?P<pid>\d+) \((?P<process>[^)]{1,64})\) of user \d+ (?:dumped core|terminated abnormally)",
        level="fatal",
        scan=r"of user \d+ (?:dumped core|terminated abnormally)",
        note="A core dump of this process was stored.",
    ),
)

SIGNS: LifecycleSigns = {
    "crash.backtrace": ("stack",),
    "crash.trace": ("own end",),
}
