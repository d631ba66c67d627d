r"""Native crashes: what shells, run-times and those who saw the end print when a process dies; stacks: `crash_traces`.

Kinds and their fields:

- ``crash.signal`` signal (number), pid, command: a shell's or crash handler's line (``Killed``, ``Segmentation fault``)
- ``crash.heap`` message: the C library found its heap damaged; ``crash.smashed`` a stack or buffer overrun
- ``crash.terminate`` exception, message: ``terminate called …`` with its ``what():`` lines; the event's text holds both
  (behind a watchdog's time-out it only repeats that)
- ``crash.assertion`` file, source_line, expression, message: a failed assert or check
- ``crash.sanitizer`` message; ``crash.panic`` message, where: Go, Rust, Java and LLVM run-times that
  give up; ``crash.script`` message, where: an interpreter that is not Python ended a program with an error
- ``crash.exit`` exit_code: somebody reports a non-zero exit code; ``crash.exit_signal`` signal; ``crash.oom_killed``
  a container ended as ``OOMKilled``

``frames`` are function names, innermost first, ``library`` the first shared object of the stack outside libc.
Sources: bash jobs.c, zsh jobs.c and signames2.awk, glibc malloc.c (2.17-2.39) and assert.c, libstdc++ vterminate.cc,
Rust, Go and Java run-times.
"""

from __future__ import annotations

from logdoctor.logs.multiline.crash_stacks import read_panic, read_signal, read_stack, read_terminate
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern
from logdoctor.logs.signals import SIGNAL_NAME

_SIGNAL_TEXT = (
    r"Segmentation fault|Bus error|Illegal instruction|Aborted|Killed|Terminated|Floating point exception|Hangup|"
    r"Trace/breakpoint trap|CPU time limit exceeded|File size limit exceeded|Bad system call|User defined signal [12]"
)
_ZSH_TEXT = (
    r"segmentation fault|bus error|illegal hardware instruction|abort|killed|floating point exception|"
    r"trace trap|cpu limit exceeded|file size limit exceeded|invalid system call|user-defined signal [12]"
)

SIGNALS = (
    RecordPattern(
        "crash.signal",
        rf"(?:line \d+: +|^\[\d+\] {{0,4}}[-+]? +|^ *)(?P<pid>\d+) (?P<signal_text>{_SIGNAL_TEXT})(?:\s*\(core "
        rf"dumped\))?\s+(?P<command>\S.{{0,400}})",
        level="fatal",
        read_lines=read_signal,
        priority=-1,
        scan=rf"\d+ (?:{_SIGNAL_TEXT})(?:\s+\(core dumped\)\s|\s\s)|\d+ (?:CPU time|File size) limit exceeded",
        note="The shell reports that a signal ended this command.",
    ),
    RecordPattern(
        "crash.signal",
        rf"^(?:\[\d{{1,4}}\] {{0,4}}[-+]? {{1,4}}(?P<pid>\d{{1,10}})|zsh:) (?P<signal_text>{_ZSH_TEXT})"
        r"(?: \(core dumped\))? {2,}(?P<command>\S.{0,400})",
        level="fatal",
        read_lines=read_signal,
        priority=-1,
        scan=rf"(?:\d|zsh:) (?:{_ZSH_TEXT})(?: \(core dumped\))?  ",
        note="The shell (zsh) reports that a signal ended this command.",
    ),
    RecordPattern(
        "crash.signal",
        rf"^(?!Aborted\.$)(?:\S{{1,200}}: (?:line \d+: )?)?(?P<signal_text>{_SIGNAL_TEXT})(?: \(core dumped\))?\.?$",
        level="fatal",
        read_lines=read_signal,
        priority=-1,
        scan=rf"^.{{0,200}}(?:{_SIGNAL_TEXT})(?: \(core dumped\))?\.?\r?$",
        note="A signal ended a process.",
    ),
    RecordPattern(
        "crash.signal",
        rf"(?P<signal_text>{_SIGNAL_TEXT})\s*\(core dumped\)",
        level="fatal",
        read_lines=read_signal,
        priority=-2,
        scan=r"\(core dumped\)",
        note="A signal ended a process and a core dump was taken.",
    ),
    RecordPattern(
        "crash.signal",
        r"^==(?P<pid>\d+)== Process terminating with default action of signal (?P<signal>\d+) "
        r"\((?P<signal_text>SIG\w+)\)",
        level="fatal",
        note="valgrind saw a signal end the program.",
    ),
    RecordPattern(
        "crash.signal",
        r"(?:\[(?P<by_host>[\w.-]{1,255}):(?P<by_pid>\d{1,10}) *:\d+:\d+\] )?Caught signal (?P<signal>\d+) "
        r"\((?P<message>[^)]{1,200})(?:\)|$)",
        level="fatal",
        read_lines=read_stack,
        priority=-1,
        scan=r"Caught signal \d+ \(",
        note="A crash handler caught a signal of its own process.",
    ),
    RecordPattern(
        "crash.signal",
        r"(?:^|\] )signal \((?P<signal>\d+)(?:\.\d+)?\): (?P<message>[A-Z].{1,80})",
        level="fatal",
        read_lines=read_stack,
        priority=-1,
        scan=r"signal \(\d+(?:\.\d+)?\): [A-Z]",
        note="A crash handler caught a signal of its own process.",
    ),
    RecordPattern(
        "crash.signal",
        r"^\s*(?P<signal_text>SIG(?:SEGV|ABRT|FPE|ILL)) - (?P<message>(?:Segmentation violation|Abort \(abnormal "
        r"termination\)|Floating point error|Illegal instruction) signal)\s*$",
        level="fatal",
        read_lines=read_signal,
        note="Catch2 caught a signal of the tested program.",
    ),
    RecordPattern(
        "crash.signal",
        r"\*\*\* caught (?P<message>segfault|bus error|illegal operation) \*\*\*",
        level="fatal",
        priority=-1,
        note="A crash handler caught a signal of its own process.",
    ),
)

RUNTIME = (
    RecordPattern(
        "crash.heap",
        r"(?P<message>double free or corruption(?: \([!a-z]+\))?|free\(\): (?:invalid (?:pointer|size|"
        r"next size \(\w+\))|"
        "double free detected in tcache 2|unaligned chunk detected.{0,20}|corrupted unsorted chunks|"
        "too many chunks detected in tcache)|"
        r"malloc\(\): [a-z].{3,80}|realloc\(\): invalid (?:pointer|next size|old size)|"
        r"(?:munmap|mremap)_chunk\(\): invalid pointer|"
        r"malloc_consolidate\(\): [a-z].{3,60}|corrupted (?:size vs\. prev_size(?: \w+ \w+)?|"
        r"double-linked list(?: \(not small\))?)|"
        r"malloc: \*\*\* error for object .{3,80}|sysmalloc: Assertion.{0,80})",
        level="fatal",
        scan=r"double free or corruption|free\(\): (?:invalid|double free|unaligned|corrupted|too many)|"
        r"malloc\(\): [a-z]|"
        r"realloc\(\): invalid|_chunk\(\): invalid|malloc_consolidate\(\): |corrupted (?:size vs|double-linked)|"
        r"malloc: \*\*\* error for object|sysmalloc: Assertion",
        note="The C library found its heap damaged and ended the process.",
    ),
    RecordPattern(
        "crash.smashed",
        r"\*\*\* (?P<message>(?:stack smashing|buffer overflow) detected|"
        ".{0,20}longjmp causes uninitialized stack frame)"
        r" \*\*\*",
        level="fatal",
        scan=r"\*\*\* (?:stack smashing|buffer overflow) detected|longjmp causes uninitialized",
        note="The C library found an overrun buffer and ended the process.",
    ),
    RecordPattern(
        "crash.terminate",
        r"terminate called (?:after throwing an instance|recursively|without an active exception)"
        r"(?: of '?(?P<exception>[\w:<>, ]+)?)?",
        level="fatal",
        read_lines=read_terminate,
        scan=r"terminate called ",
        note="A C++ exception that nobody caught ended the process.",
    ),
    RecordPattern(
        "crash.terminate",
        r"libc\+\+abi: terminating (?:due to|with) uncaught exception(?: of type (?P<exception>[\w:]+))?(?:: "
        "(?P<message>.*))?",
        level="fatal",
        scan=r"libc\+\+abi: terminating",
        note="A C++ exception that nobody caught ended the process.",
    ),
    RecordPattern(
        "crash.terminate",
        r"^\s*what\(\):\s+(?P<message>\S.*)",
        level="fatal",
        priority=-2,
        scan=r"what\(\):  ",
        note="What an uncaught C++ exception says.",
    ),
    RecordPattern(
        "crash.terminate",
        r"(?P<message>pure virtual method called|deleted virtual method called)",
        level="fatal",
        note="A C++ object was used after its end.",
    ),
    RecordPattern(
        "crash.assertion",
        r"(?P<file>[\w./+-]{1,300}\.(?:c|cc|cpp|cxx|h|hh|hpp|inl|inc|cu|cuh)):(?P<source_line>\d+): .{0,600}?"
        r"Assertion [`'\"](?P<expression>.{1,300}?)['\"`] failed",
        level="fatal",
        priority=-1,
        scan=r": Assertion [`'\"].{1,300} failed",
        note="A check inside a native program failed and ended it.",
    ),
    RecordPattern(
        "crash.assertion",
        r"Fatal (?:glibc error: |error: (?=glibc detected ))(?P<message>.{3,200})",
        level="fatal",
        note="A check inside the C library failed and ended the process.",
    ),
    RecordPattern(
        "crash.assertion",
        r"^(?!.{0,200}?(?:Error|Exception): ).*?\bCheck fail(?:ed|ure)(?: at)?[: ] *(?P<expression>\S.{0,400})",
        level="fatal",
        priority=-1,
        scan=r"Check fail(?:ed|ure)",
        note="A check inside a native program failed and ended it.",
    ),
    RecordPattern(
        "crash.assertion",
        r"^\*\*\* (?P<expression>Check failure stack trace): \*\*\*",
        level="fatal",
        read_lines=read_stack,
        scan=r"\*\*\* Check failure stack trace: ",
        note="The stack of the check that failed.",
    ),
    RecordPattern(
        "crash.sanitizer",
        r"==\d+==\s?ERROR: (?P<message>(?:Address|Memory|Leak|Thread|UndefinedBehavior)Sanitizer:? .{0,300})",
        level="fatal",
        read_lines=read_stack,
        scan=r"ERROR: (?:Address|Memory|Leak|Thread|UndefinedBehavior)Sanitizer",
        note="A memory checker found an illegal access.",
    ),
    RecordPattern(
        "crash.panic",
        "^(?:panic: |fatal error: (?:all goroutines|unexpected signal|concurrent map|runtime: )|LLVM ERROR: )"
        r"(?P<message>.{0,300})",
        level="fatal",
        scan="panic: |fatal error: (?:all goroutines|unexpected signal|concurrent map|runtime: )|LLVM ERROR: ",
        note="The run-time of a program gave up.",
    ),
    RecordPattern(
        "crash.panic",
        r"\[libprotobuf FATAL [^\]]{1,300}\] (?P<message>.{1,300})",
        level="fatal",
        scan=r"\[libprotobuf FATAL ",
        note="The Protocol Buffers library gave up and ended the process.",
    ),
    RecordPattern(
        "crash.panic",
        r"thread '[^']{0,100}' (?:\(\d+\) )?panicked at "
        r"(?:'(?P<message>.{1,300})', (?P<where>\S{1,300}:\d+:\d+)|(?P<where>\S{1,300}:\d+:\d+):?$|"
        r"(?P<message>.{0,300}))",
        level="error",
        read_lines=read_panic,
        scan=r"' (?:\(\d+\) )?panicked at ",
        note="A Rust program hit a failed check.",
    ),
    RecordPattern(
        "crash.panic",
        r"(?P<message>A fatal error has been detected by the Java Runtime Environment|"
        r"Exception in thread \"[^\"]{1,100}\" [\w.$]+(?:Exception|Error).{0,200})",
        level="error",
        scan=r"A fatal error has been detected by the Java|Exception in thread \"",
        note="A Java program failed.",
    ),
    RecordPattern(
        "crash.script",
        r"(?:^|/)lua(?:jit|[\d.]{0,8}): (?P<where>\S{1,300}\.lua:\d{1,7}): (?P<message>.{1,300})",
        level="error",
        scan=r"lua(?:jit|[\d.]{0,8}): \S{1,300}\.lua:\d",
        note="A Lua program (Torch7) ended with an error.",
    ),
)

_EXIT_CODE = r"(?!-(?:1[6-9]|2[0-36-9]|3[02-9]|[4-9]\d|1\d\d)\b)(?P<exit_code>-?[1-9]\d{0,9})\b"
"""Negative ones are signals that end programs; any other is an errno, as the kernel's drivers print them."""

EXITS = (
    RecordPattern(
        "crash.exit",
        r"(?:[Ee]xit(?:ed|s|ing)?|[Ff]inished|[Tt]erminated|[Cc]ompleted|[Ff]ailed|[Rr]eturned|[Dd]ied|[Cc]rashed)"
        " (?:with |abnormally )?(?:a )?(?:non-?zero )?(?:error |exit |return )?(?:code|status|"
        rf"exitcode)[^\w-]{{1,4}}{_EXIT_CODE}",
        level="error",
        priority=-5,
        scan=r"(?:exit|rror|eturn|with|zero|xited|xits|xiting|inished|erminated|ompleted|ailed|eturned|ied|rashed|mally"
        r"| a) (?:code|status)\W{1,4}-?[1-9]|exitcode\W{1,4}-?[1-9]",
        note="A program ended with this exit code.",
    ),
    RecordPattern(
        "crash.exit",
        r"(?:^|[\s\"'{(,;-])(?:[Ee]xit[ _]?[Cc]ode|EXIT CODE|[Ee]xit status|[Rr]eturn ?[Cc]ode)\"?(?: ?[=:]| is|"
        rf" was|) ?{_EXIT_CODE}",
        level="error",
        priority=-5,
        scan=r"(?:xit[ _]?[Cc]ode|EXIT CODE|xit status|eturn ?[Cc]ode)\"?(?: ?[=:]| is| was)? ?-?[1-9]",
        note="A program ended with this exit code.",
    ),
    RecordPattern(
        "crash.exit",
        r"^make(?:\[\d+\])?: \*\*\* .{0,200}Error (?P<exit_code>[1-9]\d*)",
        level="error",
        priority=-5,
        scan=r"make: \*\*\* |\]: \*\*\* ",
        note="A build step failed.",
    ),
    RecordPattern(
        "crash.exit_signal",
        "(?:(?:[Kk]illed|[Tt]erminated|[Dd]ied|[Ee]xited|[Ee]nded|[Cc]rashed|[Ii]nterrupted) (?:by|with|on|from|"
        r"due to) (?:a )?(?:signal:?|<Signals\.)"
        rf" ?)(?:(?P<signal>[1-9]\d?)|(?P<signal_text>{SIGNAL_NAME}|{_SIGNAL_TEXT}))",
        level="error",
        read_lines=read_signal,
        priority=-5,
        scan="(?:illed|erminated|ied|xited|nded|rashed|nterrupted) (?:by|with|on|from|due to) (?:a )?(?:signal|"
        r"<Signals\.)",
        note="A signal ended a program.",
    ),
    RecordPattern(
        "crash.oom_killed",
        r"\bOOMKilled\b(?!\"?\s*[:=]\s*(?:false|False|0))",
        level="fatal",
        scan=r"OOMKilled",
        priority=-2,
        note="A container was killed because it reached its memory limit.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*SIGNALS, *RUNTIME, *EXITS)

SIGNS: LifecycleSigns = {
    "crash.assertion": ("own end",),
    "crash.exit_signal": ("end told",),
    "crash.heap": ("own end",),
    "crash.panic": ("own end",),
    "crash.script": ("own end",),
    "crash.signal": ("end told",),
    "crash.smashed": ("own end",),
    "crash.terminate": ("own end",),
}
