"""Prefixes of log collectors and viewers.

They are those of syslog, journal, containers, Kubernetes, JSON, grep and mail.  Sources: RFC 3164 and 5424,
journalctl's output modes, dmesg -x, Docker's json-file driver, CRI logging, kubectl logs --prefix and --timestamps,
stern (its default template), TorchX (its command log), docker compose, Determined's trial logs (0.12 on), Kaggle's
notebook logs, Alibaba Cloud PAI-DLC (its pods), logrus and logfmt, common keys of JSON loggers (python-json-logger,
structlog, zap, Cloud Logging, Elastic).  Also the marks of quoted and commented lines, of Python exception groups and
of pytest.
"""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.logs.json_lines import read_json, read_kaggle, read_logfmt
from logdoctor.logs.record_pattern import Prefix
from logdoctor.logs.source_from_filename import source_from_filename
from logdoctor.logs.syslog_programs import read_program
from logdoctor.logs.timestamps import ISO, LEVEL, STAMP, SYSLOG
from logdoctor.model import Source

_DIGITS = "0123456789"
_MONTHS = "JFMASOND"
_HOST = rf"(?!{LEVEL}\b|\d{{4}}-\d\d-)(?P<host>[A-Za-z0-9][\w.-]{{0,254}})"
_PROGRAM = r"(?P<logger>[\w./()-]{1,64})(?:\[(?P<pid>\d{1,10})\])?: ?"
_ISO_ZONE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_PID_PROGRAM = r"(?P<logger>[\w./()-]{1,64})\[(?P<pid>\d{1,10})\]: ?|(?P<logger2>kernel): ?"


def read_grep(groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Return the line that grep found, with the source of its file."""
    return rest, source_from_filename(groups["file"])


def read_bold(_groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Remove the ``**`` at the end of a bold line."""
    return rest.rstrip()[:-2], Source()


_POD = r"(?P<host>[a-z0-9](?:[a-z0-9.-]{0,240}[a-z0-9])?-(?:\d{1,5}|[bcdfghjklmnpqrstvwxz2456789]{5}))"
"""Pod of a controller. Its name ends in a number or in five random characters of Kubernetes (no vowels)."""
_RECORD_BEGINS = (
    r"(?=\[rank\d|\[default\d|\[?\d{4}[-/]\d\d[-/]\d\d|\[?[FEWIV]\d{3,4} |[\w.-]{1,255}:\d{1,10}:\d{1,10} \[|Traceback "
    r"|NCCL |\{\"|  File \"| {4,60}\S|[\w.]{0,120}(?:Error|Exception)\b)"
)
_BELOW_BEGINS = r"(?=\[| {2,60}\S|(?:Root Cause |Failures:|<NO_)|[=*-]{20}|terminate called )"
"""Beginnings of lines that torchrun and the run-times print below the first line of a message."""
_TRACEBACK = (
    r"(?:Exception Group )?Traceback \(|  File \"|[\w.]{1,160}(?:Error|Exception|ExceptionGroup)(?:: |$)"
    r"|\[rank\d{1,7}\]:"
)
"""Beginnings of the lines of a traceback, without the source lines."""


PREFIXES: tuple[Prefix, ...] = (
    Prefix("kaggle", r"[\[,]? ?(?=\{\"stream_name\": ?\"std(?:out|err)\",[^\n]*\}\]?\s*$)", "[,{", read_kaggle),
    Prefix("json", r"(?=\{\s*\"[^\n]*\},?\s*$)", "{", read_json),
    Prefix("logfmt", r"(?=(?:time|ts|level|lvl)=[^\n]{1,200}? (?:msg|message)=)", "tl", read_logfmt),
    Prefix("cri", rf"(?P<time>{ISO}) (?:stdout|stderr) [FP] ?", _DIGITS),
    Prefix("kubectl.prefix", r"\[pod/(?P<host>[\w.-]{1,253})/[\w.-]{1,253}\] ?", "["),
    Prefix("pai.dlc", r"\[(?P<host>dlc[a-z0-9]{8,40}-(?:master|worker|chief|launcher|ps)-\d{1,5})\] ?", "["),
    Prefix(
        "compose",
        r"(?P<tag>[a-z0-9][\w.-]{0,100}[-_]\d{1,6}) +\| ?(?!-?\d+(?:\.\d+)? *\|)",
        "abcdefghijklmnopqrstuvwxyz",
        unless=("tag", "host", "logger"),
    ),
    Prefix(
        "stern",
        rf"{_POD} [a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])? {_RECORD_BEGINS}",
        "abcdefghijklmnopqrstuvwxyz0123456789",
        unless=("tag", "host", "logger"),
    ),
    Prefix(
        "rfc5424",
        rf"<\d{{1,3}}>1 (?P<time>{ISO}) (?P<host>\S{{1,255}}) (?P<logger>\S{{1,48}}) (?P<pid>\S{{1,128}})"
        r" \S{1,32} (?:-|\[[^\n\]]{0,500}\]) ?",
        "<",
        read_program,
    ),
    Prefix("syslog", rf"(?:<\d{{1,3}}>)?(?P<time>{SYSLOG}) {_HOST} {_PROGRAM}", "<" + _MONTHS, read_program),
    Prefix("journal.iso", rf"(?P<time>{_ISO_ZONE}) {_HOST} (?:{_PID_PROGRAM})", _DIGITS, read_program),
    Prefix(
        "dmesg.decoded",
        rf"(?:kern|user|daemon|syslog) {{0,4}}:(?P<level>emerg|alert|crit|err|warn|notice|info|debug) {{0,4}}: "
        rf"(?:\[?(?P<time>{STAMP})\]? ?)?",
        "kuds",
        last=True,
    ),
    Prefix(
        "indent", r"[ \t]+(?=\[(?:rank|default)\d+\]:|\[?[FEWI]\d{3,4} \d\d:\d\d:\d\d|\[\d{4}-\d\d-\d\d[ T])", " \t"
    ),
    Prefix(
        "determined",
        r"(?P<tag>[0-9a-f]{8}(?:-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})?)(?: \[rank=(?P<rank>\d{1,7})\])? \|\| ?"
        r"|\[rank=(?P<rank2>\d{1,7})\] \|\| ?",
        "[0123456789abcdef",
        once=True,
    ),
    Prefix(
        "determined.cli",
        rf"<(?P<level>[a-z]{{0,9}})> {{1,14}}\[(?P<time>{ISO})\] (?:\[?(?P<tag>[0-9a-f]{{8}})\]? )?"
        r"(?:\[rank=(?P<rank>\d{1,7})\] )?(?:\|\| )?",
        "<",
    ),
    Prefix(
        "torchx",
        rf"(?P<tag>[A-Za-z][\w.-]{{0,100}}/\d{{1,5}}) (?:{_RECORD_BEGINS}|{_BELOW_BEGINS})",
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        unless=("tag", "host", "logger"),
    ),
    Prefix("quote", r"(?:> ){1,3}(?!>)|>$", ">"),
    Prefix("bold", r"\*\*(?=[^\s*\\][^\n*]{3,2000}\*\*\s*$)", "*", read_bold),
    Prefix("framed", rf" {{1,40}}[|+] (?={_TRACEBACK}| {{4,60}}[^|\s][^|\n]*$)", " "),
    Prefix("columns", rf" {{0,4}}(?:\| {{0,4}}){{1,4}}(?={STAMP} +\|)", " |"),
    Prefix("pytest.mark", rf"E {{3,60}}(?={_TRACEBACK}|-- Process \d)|E(?: {{3}}|\s*$)", "E"),
    Prefix("comment", rf"# (?={_TRACEBACK}|\[20\d\d-\d\d-\d\d[ T])", "#"),
    Prefix(
        "grep",
        r"(?P<file>[\w./@+-]{1,300}\.(?:log|out|err|txt|stderr|stdout|nolog)(?:\.\d{1,3})?)"
        r"(?::(?:\d{1,9}[:-])?(?! \S)|-\d{1,9}-)",
        decode=read_grep,
    ),
    Prefix(
        "grep.syslog",
        r"(?P<file>(?:[\w.@+-]{0,100}/){0,9}(?:messages|syslog|dmesg|kern)[\w.@+-]{0,40})"
        rf":(?:\d{{1,9}}:)?(?={SYSLOG} |\[ *\d|\d{{4}}-\d\d-\d\dT)",
        "./abcdefghijklmnopqrstuvwxyz",
        decode=read_grep,
    ),
)
