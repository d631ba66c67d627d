"""Open MPI's help frames: a text between two rows of 74 dashes, which mpirun or a rank prints as one piece.

Source: opal/util/show_help.c (1.x to 5.x), PRRTE src/util and PMIx src/util/pmix_show_help.c (the same frame), the
``help-*.txt`` files of Open MPI 3.0 to 5.0 and PRRTE 2 and 3 for the wordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.model import Level, Value
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import later

MAX_FRAME_LINES = 60
MAX_LOOSE_LINES = 16
MAX_LISTED_BELOW = 24
"""So far below the first words of a text without a frame its list of names and values may stand."""

_RULE = later(r"-{74}\s*")
_FOREIGN = later(r"Traceback \(most|\[[\w.-]+:\d+\] |\[[\w.-]+:\d+\]\s*$|\S+:\d+:\d+ \[|\[rank\d|.{400}")
_SUBJECT = later(
    r"Open[ -]?(?:MPI|RTE|PAL|SHMEM|Fabrics)|\bMPI|OPAL|ORTE|PRTE|PRRTE|PMI|mpirun|mpiexec|orterun|prterun|"
    r"prun\b|orted|"
    r"prted|daemon|hostfile|slots|MCA|\bBTL\b|\bPML\b|UCX|HWLOC|hwloc|\bbind|mapping|Local host|CUDA|fork\(\)"
)
_FIELD_LINE = later(r"\s|[-*] |(?!WARNING|NOTE|Note|ERROR)[A-Z][\w /()]{0,40}:(?:\s|$)")
_MILD = later(
    r"WARNING|[Ww]arning|By default, for Open MPI|You can override this policy|Another transport will be used|"
    r"will be (?:used )?instead|will be ignored|is being ignored|performance may|may (?:result in|"
    r"cause) (?:lower|degraded)|"
    r"[Tt]he library attempted to open the following supporting|CUDA-aware support is disabled|"
    r"deprecated|fork\(\) |This is (?:only )?a warning|simply a warning|your job will continue|Your job will continue|"
    r"Falling back to another component|has been ignored|terminated normally"
)
_FATAL = later(
    r"will now abort|likely to abort|job (?:has been|will be|is being|being) (?:aborted|terminated)|"
    r"(?:run|orterun|mpiexec) (?:was unable|could not|has exited|detected|noticed)|unable to launch|aborting|"
    r"an? unrecoverable error|highly unusual and should|[Tt]his error is fatal|cannot continue"
)
_NUMBER_FIELDS = later(
    r"(?:(?:signal|on signal) (?P<signal>\d+) ?\()|"
    r"(?:with errorcode|[Ee]rror ?code:|[Ee]xit code:) *(?P<exit_code>-?\d{1,9})|"
    r"(?:Process name|Proc|Process \d+): *\(?(?:\[\[\d+,\d+\],|\S+?@1,)(?P<rank>\d{1,7})\b|"
    r"Process 1 \((?:\[\[\d+,\d+\],|\S{1,255}@1,)(?P<rank>\d{1,7})\]?\) is on|"
    r"\b(?:PID|process ID|pid):? *(?P<pid>\d{1,8})\b|"
    r"(?:Error|[Rr]eason|Message): [^\n]*\((?P<errno>\d{1,3})\)|"
    r"connect\(\) to (?P<peer>[\d.:a-fA-F]+\d|[\w.-]+:\d+) failed"
)
_NODE = later(
    r"(?:Local host(?:name)?|[Hh]ostname|Node(?: name)?|Host): +(?P<host>[\w.-]+)|"
    r"(?<!HNP daemon[^\n]{1,80})on node (?P<on>[\w.-]*\w)|"
    r"Process 1 \(\S{1,300}\) is on host: +(?P<host>[\w.-]+)|Process 2 \(\S{1,300}\) is on host: +(?P<peer>[\w.-]+)|"
    r"(?:Remote host|remote (?:host|daemon)|Peer host(?:name)?|(?<!Bind )to): +(?P<peer>[\w.:-]+)"
)
_LISTED = later(
    r"\s{1,6}\S[^:]{0,40}: |"
    r"(?:Node(?: name)?|Executable|(?:Local |Remote |Peer )?[Hh]ost(?:name)?|Framework|Component): +"
)
_NEW_MESSAGE = later(r"\S+: |\[|\S+:\d+|[=-]{5}|\(")
_WRAPPED = 40
_SORRY = later(r"help about: (?P<topic>\S{1,200}) from the file: (?P<help_file>\S{1,200})")
_WORD = later(r"[A-Za-z][A-Za-z0-9_]*")


def read_frame(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """A frame from its upper row of dashes on; None if what follows is no help text, or has a record of its own."""
    del head, fields
    lines: list[Bare] = []
    for line in islice(below, MAX_FRAME_LINES):
        if _RULE.fullmatch(line.text):
            return _framed(lines, line.below) if lines else None
        if _FOREIGN.match(line.text):
            return None
        lines.append(line)
    return None


def read_known(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """A help text from its first words on, to the closing row; of a cut frame, the first paragraph."""
    lines, taken, end = [head], list[int](), 0
    for line in islice(below, MAX_FRAME_LINES):
        if _RULE.fullmatch(line.text):
            taken, end = [*(n.below for n in lines[1:]), line.below], len(lines)
            break
        if _FOREIGN.match(line.text):
            break
        lines.append(line)
    listed = list[str]()
    if not end:
        listed = [line.text for line in lines[:MAX_LISTED_BELOW] if _LISTED.match(line.text)]
        lines = _first_paragraph(lines)
        taken = [line.below for line in lines[1:]]
    text = join_help([line.text for line in lines])
    text = "\n".join([text, *(line.strip() for line in listed if line.strip() not in text)])
    return Block(text, {**help_fields(text), **fields}, tuple(taken))


def read_warning(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """As `read_known`, for a text after which the job goes on, unless its own words say that it ends."""
    block = read_known(head, fields, below)
    level: Level = "fatal" if help_level(block.text) == "fatal" else "warning"
    return Block(block.text, block.fields, block.taken, block.evidence, level)


def read_missing_help(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """``Sorry!  You were supposed to get help about: TOPIC from the file: FILE``: topic and help_file."""
    del fields
    said, taken = [head.text.strip()], list[int]()
    for line in islice(below, 6):
        if _RULE.fullmatch(line.text):
            break
        taken.append(line.below)
        said.append(line.text.strip())
    text = " ".join(part for part in said if part)
    found = _SORRY.search(text)
    return Block(text, {k: v for k, v in found.groupdict().items() if v} if found else {}, tuple(taken))


def _framed(lines: list[Bare], end: int) -> Block | None:
    text = join_help([line.text for line in lines])
    if not _SUBJECT.search(text):
        return None
    first = next(line.below for line in lines if line.text.strip())
    taken = (*(line.below for line in lines), end)
    return Block(text, help_fields(text), taken, first, help_level(text))


def _first_paragraph(lines: list[Bare]) -> list[Bare]:
    """What surely belongs to a text without its end: the wrapped lines of the head, and an indented list behind it."""
    kept = 1
    while kept < min(len(lines), MAX_LOOSE_LINES) and _goes_on(lines[kept - 1].text, lines[kept].text):
        kept += 1
    listed = kept
    while listed < min(len(lines), MAX_LOOSE_LINES) and (
        not lines[listed].text.strip() or _LISTED.match(lines[listed].text)
    ):
        listed += 1
    while listed > kept and not lines[listed - 1].text.strip():
        listed -= 1
    return lines[:listed]


def _goes_on(line: str, following: str) -> bool:
    """Whether ``following`` is the same sentence, broken at the width of a terminal."""
    if not following.strip() or following[0].isspace() or _NEW_MESSAGE.match(following):
        return False
    return len(line) >= _WRAPPED and (following[0].islower() or line.rstrip()[-1:] not in ".!?:")


def join_help(lines: list[str]) -> str:
    """Wrapped lines joined to one line a paragraph; list items and ``Name: value`` lines stay lines."""
    out: list[str] = []
    glue = False
    for line in lines:
        plain = line.strip()
        own = bool(_FIELD_LINE.match(line))
        if plain and glue and not own:
            out[-1] += " " + plain
        elif plain:
            out.append(plain)
        glue = bool(plain) and not own
    return "\n".join(out)


def help_level(text: str) -> Level:
    """How loud a help text is, from its own words."""
    first = text.partition("\n")[0]
    if _FATAL.search(text) and not first.startswith("WARNING"):
        return "fatal"
    return "warning" if _MILD.search(text) else "error"


def help_fields(text: str) -> dict[str, Value]:
    """``topic`` (the first sentence as a slug), and rank, pid, host, peer, signal, exit_code, errno where printed."""
    first = text.partition("\n")[0].partition(". ")[0]
    found: dict[str, Value] = {"topic": "-".join(_WORD.findall(first)[:9]).lower()}
    for match in _NUMBER_FIELDS.finditer(text[:8000]):
        for name, value in match.groupdict().items():
            if value is not None:
                found.setdefault(name, int(value) if value.lstrip("-").isdigit() else value)
    for match in _NODE.finditer(text[:8000]):
        if host := match["host"] or match["on"]:
            found.setdefault("host", host)
        if match["peer"]:
            found.setdefault("peer", match["peer"])
    return found
