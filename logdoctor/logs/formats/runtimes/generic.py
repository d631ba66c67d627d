r"""Fallback for all formats: lines that look like a failure by their shape.  Priority -10 and below.

Kinds and their fields:

- ``generic.error`` message: a level word (ERROR, CRITICAL …) in the place where loggers print it, ``prog: error: text``
  or ``Error: text``; level error
- ``generic.fatal`` message: the same with FATAL or ``fatal:``; the program ends; level fatal
- ``generic.warning``, ``generic.harmless`` look-alikes with their own level
- ``generic.usage`` prog; ``generic.usage_error`` prog, message: an option or argument was refused

The last record takes what only the logger's prefix calls an error (the prefix is stripped, its level stays).

What the shape must not catch: settings (``max_error: 3``, ``on_error='raise'``), counts (``0 errors``), metrics
(``error: 0.12``), help texts (``--fail-on-error``), class and file names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Level, Value
from logdoctor.pack.regexes import later

_LOUD = r"(?:ERROR|CRITICAL|SEVERE|ERR)"
_DEAD = r"(?:FATAL|PANIC|EMERG)"
BRACKETS = ((r"\[", r"\]"), (r"\(", r"\)"), ("<", ">"))
_WORK = (
    "(?:(?:The |the )?(?:[Rr]un|[Jj]ob|[Tt]raining|[Ff]ine-?tuning|[Ss]imulation|[Cc]alculation|[Bb]enchmark|[Ss]cript|"
    "[Ee]xperiment|[Ee]xecution|[Pp]rogram|[Pp]ipeline|[Ww]orkflow|[Ee]valuation|[Ii]nference))"
)
_WORK_LOUD = "(?:RUN|JOB|TRAINING|SIMULATION|CALCULATION|BENCHMARK|BUILD|SCRIPT|EXPERIMENT|PIPELINE|EVALUATION)"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?"
_RANK = "(?:[Rr]ank|RANK|[Pp]roc(?:ess(?:or)?)?|PE|[Tt]ask|[Nn]ode)"
_SAYER = rf"(?:\[[\w.-]{{1,80}}:\d{{1,7}}\]:? |{_RANK} ?#?\d{{1,6}} ?[:)>-]{{1,3}} )"
"""Source of a line, as MPI programs write it in front: `[host:pid]`, `Rank 3:`."""
_EMPTY = later(
    r"^\W*(?:$|(?:none|null|nil|no|false|true|n/?a|0|ok)\b|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?\s*%?\s*(?:$|[,;|/)\]]))|"
    r"^\W*(?:rate|count|bars?|handl\w+|code|message|log|level|margin|threshold|toleran\w+|loss|budget)s?\b\s*[:=]",
    regex.IGNORECASE,
)
_MEASURED = later(r"^(?:in|of|for) [A-Za-z][\w ()/-]{0,60}[:=] *[-+]?\d+\.\d+(?:[eEdD][-+]?\d+)?\b")
"""A program names the error of its numbers (``error in Hartree potential : 0.0012 Ha``)."""

_DEBRIS = later(r"^(?:[\d:./-]+ ){0,2}\[[\w.]+:\d+\](?: {2,}|\s*\^|\s*$)|^\s*\^+\s*$")
"""A line of a stack whose every line got the logger's prefix."""

_STACK = later(
    r"^(?:\s{2,}|\s*$|\s*\^+|Traceback \(|frame #\d|During handling of the above|"
    "The above exception)"
)
_CALM = later(
    r"\b(?:no|0|zero|without(?: any)?|any) (?:fatal |critical )?errors?\b(?! file)|\berror[- ]free\b", regex.IGNORECASE
)

_ROOT = later(r"\bCRITICAL\b[\])>:|\s-]{1,4}root\b")
_TELLS = later(
    r"error|exception|fail|fatal|abort|invalid|illegal|missing|unable|cannot|can't|could not|couldn't|not found|"
    r"no such|denied|refused|unexpected|corrupt|lost|broken|killed|dead\b|died|crash|exceed|timed? ?out|out of|full\b|"
    r"\bnan\b|\binf\b|exiting|giving up|stopp|shutting down|unreachable|disconnect",
    regex.IGNORECASE,
)
"""Scripts print with ``logging.critical`` what shall stand out: such a line counts where it speaks of trouble."""


def read_message(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a line with a level, unless its message tells of no error.

    That is a number, a setting, or a text such as "no error".
    """
    del below
    message = str(fields.get("message", ""))
    if _EMPTY.match(message) or _MEASURED.match(message) or _DEBRIS.match(message) or _CALM.search(head.text):
        return None
    if _ROOT.search(head.text) and not _TELLS.search(message):
        return None
    level = head.source.level if head.source.level in ("warning", "info") else None
    return Multiline(head.text, level=level)


def read_spoken(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a line whose stripped prefix has level error or fatal.

    Return None for lines of a stack.
    """
    del fields, below
    level = head.source.level
    if level not in ("error", "fatal") or _STACK.match(head.text) or _CALM.search(head.text):
        return None
    if level == "fatal" and head.source.logger == "root" and not _TELLS.search(head.text):
        return None
    return Multiline(head.text, level=level)


def _loud(kind: str, words: str, *, lower: str, fatal: bool) -> tuple[RecordPattern, ...]:
    """Build the records for the level ``words``, one for each place where loggers print it."""
    bracketed = "|".join(rf"{before}(?:{words}|{lower}){after}" for before, after in BRACKETS)
    scanned = words.replace("|ERR)", "| ERR | ERR:|\\|ERR\\|)")  # a short word alone would slow the scan
    shapes = (
        (
            rf"^(?!;)[\W\d]{{0,40}}{words}\b(?![ '\"]*=)[\])>}}!*#]{{0,5}}(?:\s*[:|-]+|\s)\s*(?P<message>\S.*)",
            rf"{scanned}[\])>:| !*#-]",
        ),
        (
            rf"{_CLOCK}\W{{1,6}}(?:[\w.:@/-]{{1,60}}\W{{1,4}}){{0,2}}{words}\b[\])>:|\s-]+(?P<message>\S.*)",
            rf":\d\d\W.{{0,140}}{scanned}[\])>:| -]",
        ),
        (
            rf"^.{{0,120}}?[\[(<](?:{words}|{lower})[\])>][\s:|-]*(?P<message>\S.*)",
            bracketed,
        ),
        (rf"^.{{0,160}}?(?: -+|\|) ?{words}\s*(?:-+|\|)\s*(?P<message>\S.*)", rf"(?: -|\|) ?{scanned}\s*(?:-|\|)"),
        (
            rf"(?:\blevel|\bseverity|\"level(?:name)?\"|\"severity\")\s?[=:]\s?\"?(?i:{lower})\b(?P<message>.*)",
            rf"(?:level(?:name)?|severity)\"?\s?[=:]\s?\"?(?:{lower}|{words})",
        ),
    )
    note = "A program says that it gives up." if fatal else "A program reports an error."
    level: Level = "fatal" if fatal else "error"
    return tuple(
        RecordPattern(
            kind, pattern, level=level, read_lines=read_message, note=note, priority=-11 if fatal else -12, scan=scan
        )
        for pattern, scan in shapes
    )


WORDS = (
    RecordPattern(
        "generic.fatal",
        rf"^ ?(?:[\w./+\[\]-]{{1,80}}: |{_SAYER}){{0,3}}(?:fatal(?: error)?|Fatal(?: error| Error|Error)?|"
        r"FATAL(?: ERROR)?)[:!] ?(?P<message>[^\s=].*)",
        level="fatal",
        read_lines=read_message,
        priority=-11,
        scan=r"(?:fatal(?: error)?|Fatal(?: [Ee]rror|Error)?|FATAL(?: ERROR)?)[:!] ?[^\s=]",
        note="A program says that it gives up.",
    ),
    RecordPattern(
        "generic.error",
        rf"^(?:[\w./+\[\]()-]{{1,80}}: |{_SAYER}){{1,3}}(?:error|Error|ERROR|[Ee]xception)(?: \d{{1,5}})?: ?"
        r"(?P<message>\S.*)",
        level="error",
        read_lines=read_message,
        priority=-12,
        scan=r"[]:)>] (?:error|Error|ERROR|[Ee]xception)(?: \d{1,5})?: ?[^\d\s]",
        note="A program reports an error.",
    ),
    RecordPattern(
        "generic.error",
        r"^\W{0,6}(?:Error|error|Internal [Ee]rror|System [Ee]rror|Runtime [Ee]rror|Unexpected [Ee]rror|"
        r"Unhandled (?:[Ee]rror|[Ee]xception)|An (?:unexpected )?error (?:has )?occurred)(?: \d{1,5})?"
        "(?:[:!.] ?| (?=(?:while|when|in|during|at|on|reading|loading|opening|executing|creating|from|occurred|"
        r"parsing|connecting)\b))(?P<message>[A-Za-z\[\"'`/(<].{4,})",
        level="error",
        read_lines=read_message,
        priority=-13,
        scan=r"(?:Error|error|xception)(?:: |! |\. )|(?:Error|error):[A-Z]|(?:Error|error) (?:while|when|in|during|at|"
        r"on|reading|loading|opening|executing|creating|from|occurred|has occurred|parsing|connecting) |"
        r"Error \d{1,5}(?:: |! )|rror (?:has )?occurred[!.]",
        note="A program reports an error.",
    ),
    RecordPattern(
        "generic.fatal",
        "(?P<message>(?:[Aa]borting|ABORTING|[Ee]xiting|[Tt]erminating|[Ss]hutting down|"
        r"[Gg]iving up)(?: now)?(?: the \w+)? (?:due to|because of|after|on) .{0,40}?(?:[Ee]rror|[Ff]ailure|"
        r"[Ee]xception|[Ff]atal)\b.{0,120})",
        level="error",
        read_lines=read_message,
        priority=-13,
        scan="(?:borting|BORTING|xiting|erminating|hutting down|iving up).{0,24} (?:due to|because of|after|"
        "on) .{0,40}(?:rror|ailure|xception|atal)",
        note="A program says that it ends because of an error.",
    ),
    RecordPattern(
        "generic.fatal",
        r"^.{0,80}?\b(?:[Uu]nable to|[Cc]annot|[Cc]an't|[Cc]ould not|[Ff]ail(?:ed|ure)|not found|[Ii]nvalid|[Ee]rror)\b"
        r"(?P<message>.{2,300}?[.,;!:)] {0,2}(?:[Ee]xiting|EXITING|[Aa]borting|ABORTING|[Qq]uitting)\b(?! loop).{0,9})",
        level="error",
        read_lines=read_message,
        priority=-13,
        scan=r"[.,;!:)] {0,2}(?:[Ee]xiting|EXITING|[Aa]borting|ABORTING|[Qq]uitting)",
        note="A program says what it could not do, and that it ends.",
    ),
    RecordPattern(
        "generic.error",
        r"^\W{0,6}(?P<message>[A-Za-z][\w .-]{0,60}? [Dd]etected an [Ee]rror[:.!] .{3,200})",
        level="error",
        priority=-13,
        scan="etected an [Ee]rror[:.!] ",
        note="A script checked its program's work and found it wanting.",
    ),
    RecordPattern(
        "generic.error",
        r"^\W{0,6}(?P<message>(?:[Bb]egin|BEGIN|[Ss]tart)(?: of)? (?:stack ?trace|STACK ?TRACE|back ?trace"
        r"|BACK ?TRACE))\W{0,6}$",
        level="error",
        priority=-13,
        scan="(?:egin|BEGIN|tart)(?: of)? (?:stack ?trace|STACK ?TRACE|back ?trace|BACK ?TRACE)",
        note="A program prints its own stack: it met something that it could not handle.",
    ),
    RecordPattern(
        "generic.error",
        r"^\W{0,6}(?P<message>(?:Run|Job|Task|Training|Trial|Workflow|Pipeline|Experiment)(?: \S{1,100})?"
        r" (?:has )?FAILED\b.{0,200})",
        level="error",
        priority=-13,
        scan="(?:Run|Job|Task|Training|Trial|Workflow|Pipeline|Experiment) .{0,110}FAILED",
        note="A platform says that the run failed.",
    ),
    RecordPattern(
        "generic.error",
        r"^\W{0,6}(?P<message>(?:FAIL(?:ED|URE)?|ERROR)\]:? (?:.{0,160}\()?"
        r"(?:exit(?:ed)?(?: with)?(?: code| status)?|rc)[ =:]{1,2}[1-9]\d{0,2}\b.{0,120})",
        level="error",
        priority=-13,
        scan=r"(?:FAIL(?:ED|URE)?|ERROR)\]:? ",
        note="A script says that its program ended with an error, and not why.",
    ),
    RecordPattern(
        "generic.error",
        r"^\W{0,12}(?P<message>(?:"
        rf"{_WORK} (?:has |was |did )?(?:[Ff]ailed|[Aa]borted)"
        r"(?: (?:at|after|with|because|due to)\b.{0,160}|\W{0,12}$|[.!:] .{0,160})|"
        rf"{_WORK_LOUD} (?:HAS |WAS )?(?:FAILED|ABORTED)\b.{{0,120}}|Finished: FAILURE$|"
        r"(?:(?i:overall|final|job|run|exit) )?(?:[Ss]tatus|STATUS|[Rr]esult|RESULT)\s?[:=]\s{0,4}"
        r"(?i:failed|failure|fail)\W{0,6}$|"
        r"(?:EXIT_?CODE|exit_?code)=[1-9]\d{0,2}\s*$|"
        r"\S.{0,100}? failed \((?:with )?(?:rc|exit(?: code| status)?|code|status|return code)"
        r"[ =:]{1,2}-?[1-9]\d{0,2}\)\W{0,4}$))",
        level="error",
        read_lines=read_message,
        priority=-13,
        scan=r"(?:ailed|FAILED|borted|ABORTED|FAILURE|[:=]\s{0,4}(?i:fail)|(?i:exit_?code)=[1-9])",
        note="The last word of a run on itself: it failed.",
    ),
    RecordPattern(
        "generic.harmless",
        r"(?i:\b(?:no|0|zero|without(?: any)?) (?:fatal |critical )?errors?\b(?! file))",
        level="info",
        priority=-9,
        scan="(?:[Nn]o|0|[Zz]ero|[Ww]ithout(?: any)?) (?:[a-z]{5,8} )?(?:[Ee]rrors?|ERRORS?) (?:found|detected|"
        "reported|occurred)",
        note="A program says that nothing went wrong.",
    ),
)

USAGE = (
    RecordPattern(
        "generic.usage_error",
        r"^(?:.{0,200}?/)?(?P<prog>[^\s:/]{1,100}): error: (?P<message>(?:unrecognized arguments|"
        r"the following arguments are required|argument \S|ambiguous option|"
        "one of the arguments|no such option|unknown option|expected (?:one|at least one) argument|"
        "too few arguments|not allowed with argument).{0,300})",
        level="fatal",
        priority=-6,
        scan=": error: (?:unrecognized arguments|the following arguments are required|argument |ambiguous option|"
        "one of the arguments|no such option|unknown option|too few arguments)",
        note="The program refused its command line.",
    ),
    RecordPattern(
        "generic.usage_error",
        "(?P<message>No such option: .{2,120}|Missing (?:option|argument|parameter) '.{2,120}|"
        "Invalid value for '.{2,160}|Got unexpected extra arguments? .{2,120}|"
        "unknown command line flag '.{2,80}|FATAL Flags parsing error.{0,120}|Unknown command line flag '.{2,80}|"
        "(?:unrecognized|invalid|unknown) option(?: --|: ).{1,80}|"
        r"Could not override '[^']{1,160}'\.?|Key '[^']{1,160}' is not in struct|Missing mandatory value: .{2,120}|"
        "In '[^']{1,120}': Could not (?:find|load) '[^']{1,160}'|"
        r"You must specify '[^']{1,80}'|Error parsing override '.{1,160}|"
        r"mismatched input '[^']{1,80}' expecting .{1,80}|"
        r"token recognition error at: .{1,80}|The function received no value for the required argument: .{1,80}|"
        r"Could not append to config\. An item is already at '[^']{1,160}'|"
        r"Error when composing\. Overrides: |Could not consume arg: .{1,80})",
        level="error",
        priority=-8,
        scan="No such option: |Missing (?:option|argument|parameter) '|Invalid value for '|"
        "Got unexpected extra argument|nknown command line flag '|Flags parsing error|"
        "(?:unrecognized|invalid|unknown) option(?: --|: )|Could not override '|Key '.{1,160}' is not in struct|"
        "Missing mandatory value: |': Could not (?:find|load) '|You must specify '|Error parsing override '|"
        "mismatched input '|token recognition error at: |received no value for the required argument: |"
        r"Could not append to config\. An item is already|Error when composing\. Overrides: |Could not consume arg: ",
        note="The program refused its command line or its configuration.",
    ),
    RecordPattern(
        "generic.usage",
        r"^(?:usage|Usage|USAGE): ?(?P<prog>\S{1,120}) (?:\[|<|-|\.\.\.|OPTION|COMMAND)",
        level="info",
        priority=-8,
        scan=r"^(?:usage|Usage|USAGE): ?\S{1,80} (?:\[|<|-|\.\.\.|OPTION|COMMAND)",
        note="A program printed how it wants to be called; often because it refused its arguments.",
    ),
)

SPOKEN = (
    RecordPattern(
        "generic.error",
        r"^(?P<message>.+)",
        level="error",
        read_lines=read_spoken,
        priority=-20,
        scan=r"\b[EF]\d{3,4} \d\d:\d\d:\d\d[^\n]{1,160}(?:\.cpp|\.rs|\.h(?:pp)?|"
        r"(?:init|group|proxy|socket|server|client|engine|"
        r"runtime|manager|worker|service|channel|context|session|device|stream|memory|pool|executor|controller|"
        r"operations|coordinator|common|comm|net|main|util|utils)\.cc|(?:kubelet|workers|runtime|reflector|server|"
        r"manager|controller)\.go):\d+\]|"
        r"\[[EF] [\w/.+-]{1,100}\.cpp:\d+\]|"
        r"\b[EF]\d{3,4} \d\d:\d\d:\d\d[^\n]{1,40}torch/[^\n]{1,100}\.py:\d+\]|(?:ERROR|CRITICAL|FATAL):[\w.]{1,100}:|"
        r"[|-] (?:ERROR|CRITICAL|FATAL) {0,4}[|-]|[\[(](?:ERROR|CRITICAL|FATAL)[\])]|(?:ERROR|CRITICAL|"
        r"FATAL) \d\d-\d\d \d\d:|"
        r"\d[ \t](?:ERROR|CRITICAL|FATAL) |\[NeMo [EF] |\[TRT-LLM\] [^\n]{0,16}\[[EF]\] |"
        r"\"(?:level(?:name)?|severity)\": ?\"(?:error|ERROR|critical|CRITICAL|fatal|"
        "FATAL)",
        note="A program reports an error.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (
    *USAGE,
    *WORDS,
    *_loud("generic.fatal", _DEAD, lower="[Ff]atal|panic|emerg", fatal=True),
    *_loud("generic.error", _LOUD, lower="[Ee]rror|critical|severe", fatal=False),
    *SPOKEN,
)
