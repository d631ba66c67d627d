r"""GASNet, the network layer of Legion, Chapel, UPC++ and Fortran coarrays, and Realm's crash handler above it.

``gasnet.fatal``   rank, func, file, line, category, message, errno: GASNet, Legion or Realm ended this process
``gasnet.error``   rank, category, message: Realm reports an error
``gasnet.signal``  rank, pid, signal: a process crashed
``gasnet.frozen``  pid, host: a process that crashed waits for a debugger
``gasnet.note``    what GASNet prints beside it: advice, the call of a debugger

Sources: GASNet 1.30 to 2024.5 (gasnet_tools.c, ofi-conduit, ibv-conduit), AMUDP 3, Realm and Legion 21.03 to
24.12 (runtime/realm/runtime_impl.cc, logging.cc, runtime/legion/runtime.cc).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_PROC = (
    r"(?:\(Node (?P<rank>\d{1,7})\)| \((?:proc (?P<rank>\d{1,7})(?:/(?P<host>[\w.-]{1,255}))?|(?P<host>[\w.-]{1,255}):"
    r"(?P<pid>\d{1,10}))\))?"
)
"""Source of a line: the process's number, or its host and pid before it has a number (since 2022.9). AMUDP says Node."""

_REALM = r"^\[(?P<rank>\d{1,7}) - [0-9a-f]{4,16}\] {1,8}(?:[\d.]{3,20} )?"
"""Realm's logger: node and thread, seconds since the start (newer ones), then level and category."""

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "gasnet.fatal",
        rf"\*\*\* (?:GASNET )?FATAL ERROR{_PROC}: (?:in (?P<func>[\w:~]{{2,80}})(?:\(\))? at (?P<file>\S{{1,300}}?)"
        r":(?P<line>\d{1,7}): )?(?P<message>\S.{0,400}?(?:: (?P<errno>-\d{1,4})\(.{1,80}\))?)\s*$",
        level="fatal",
        priority=4,
        scan=r"\*\*\* (?:GASNET )?FATAL ERROR",
        note="GASNet could not go on and ended this process.",
    ),
    RecordPattern(
        "gasnet.signal",
        rf"\*\*\* Caught a (?:fatal )?signal{_PROC}: SIG[A-Z]{{2,8}}\((?P<signal>\d{{1,2}})\)"
        r"(?: on node (?P<rank>\d{1,7})/\d)?",
        level="fatal",
        priority=4,
        scan=r"\*\*\* Caught a (?:fatal )?signal",
        note="This process crashed.",
    ),
    RecordPattern(
        "gasnet.signal",
        r"^Signal (?P<signal>\d{1,2}) received by node (?P<rank>\d{1,7}), process (?P<pid>\d{1,10}) ",
        level="fatal",
        priority=4,
        scan=r"Signal \d{1,2} received by node \d",
        note="Realm caught a crash of this process.",
    ),
    RecordPattern(
        "gasnet.signal",
        r"^Legion process received signal (?P<signal>\d{1,2}): ",
        level="fatal",
        priority=4,
        note="Realm caught a crash of this process.",
    ),
    RecordPattern(
        "gasnet.frozen",
        r"^Process (?P<pid>\d{1,10}) on node (?P<host>[\w.-]{1,255}) is frozen!",
        level="error",
        note="This process crashed, and waits for a debugger instead of ending.",
    ),
    RecordPattern(
        "gasnet.fatal",
        r"^\[(?P<rank>\d{1,7}) - [0-9a-f]{6,16}\] {1,8}[\d.]{3,20} \{[56]\}\{\w{1,40}\}: "
        r"(?P<message>(?:\[error \d{1,5}\] )?LEGION ERROR: \S.*)",
        level="fatal",
        scan="LEGION ERROR: ",
        note="Legion's run-time ends this process: the program uses it in a way that it cannot go on with.",
    ),
    RecordPattern(
        "gasnet.fatal",
        _REALM + r"\{6\}\{(?P<category>\w{1,40})\}: (?P<message>\S.*)",
        level="fatal",
        priority=-1,
        scan=r"\{6\}\{\w{1,40}\}: ",
        note="Realm, the run-time under Legion, cannot go on and ends this process.",
    ),
    RecordPattern(
        "gasnet.error",
        _REALM + r"\{5\}\{(?P<category>\w{1,40})\}: (?P<message>\S.*)",
        level="error",
        priority=-1,
        scan=r"\{5\}\{\w{1,40}\}: ",
        note="Realm, the run-time under Legion, reports an error.",
    ),
    RecordPattern(
        "gasnet.note",
        r"^NOTICE: We recommend linking the debug version of GASNet|^\[\d{1,7}\] Invoking \w{2,12} for backtrace"
        r"|^\*\*\* (?:NOTICE|Details for bug reporting)(?: \(proc \d{1,7}\))?: ",
        level="info",
        scan=r"debug version of GASNet|Invoking \w{2,12} for backtrace|\*\*\* NOTICE|\*\*\* Details for bug reporting",
        note="What GASNet prints around a crash.",
    ),
)

SIGNS: LifecycleSigns = {
    "gasnet.fatal": ("own end", "named end"),
    "gasnet.frozen": ("named end",),
    "gasnet.signal": ("own end", "named end"),
}
