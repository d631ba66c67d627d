"""Open MPI's help frames: a text between two rows of dashes.

mpirun or a rank prints the frame. Each row has 74 dashes.

Source: opal/util/show_help.c (1.x to 5.x), PRRTE src/util and PMIx src/util/pmix_show_help.c (the same frame), the
``help-*.txt`` files of Open MPI 3.0 to 5.0 and PRRTE 2 and 3 for the wordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice, takewhile
from typing import Any

from logdoctor.codes import find_printed
from logdoctor.logs import record_patterns
from logdoctor.logs.multiline.lines_below import numbers_of
from logdoctor.logs.record_pattern import LineReader, Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import compiled, later

CATALOGUE = "openmpi-help"
MAX_FRAME_LINES = 60
MAX_LOOSE_LINES = 16
MAX_LISTED_BELOW = 24
"""Lines of a text without a frame that are searched for its list of names and values."""

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
_MIN_WRAPPED = 40
_MISSING_HELP = later(r"help about: (?P<topic>\S{1,200}) from the file: (?P<help_file>\S{1,200})")
_WORD = later(r"[A-Za-z][A-Za-z0-9_]*")


def read_frame(_head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a frame from its upper to its lower row of dashes.

    Return None if the frame is not closed or its text is not about MPI.
    """
    lines: list[Message] = []
    for line in islice(below, MAX_FRAME_LINES):
        if _RULE.fullmatch(line.text):
            return _framed(lines, line.below) if lines else None
        if _FOREIGN.match(line.text):
            return None
        lines.append(line)
    return None


def read_help_text(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read a help text from its first words to the closing row. Of a cut frame, read the first paragraph."""
    lines, taken, end = [head], list[int](), 0
    for line in islice(below, MAX_FRAME_LINES):
        if _RULE.fullmatch(line.text):
            taken, end = [*(n.below for n in lines[1:]), line.below], len(lines)
            break
        if _FOREIGN.match(line.text):
            break
        lines.append(line)
    list_lines = list[str]()
    if not end:
        list_lines = [line.text for line in lines[:MAX_LISTED_BELOW] if _LISTED.match(line.text)]
        lines = _first_paragraph(lines)
        taken = [line.below for line in lines[1:]]
    text = join_help([line.text for line in lines])
    text = "\n".join([text, *(line.strip() for line in list_lines if line.strip() not in text)])
    is_mere_note = _is_note(text) and not _MILD.search(text)  # a text that calls itself a warning has a format's level
    level: Level | None = "warning" if is_mere_note else None
    return Multiline(text, {**help_fields(text), **fields}, tuple(taken), level=level)


def read_warning(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read a help text as a warning. The level is fatal if its own words say that the job ends."""
    multiline = read_help_text(head, fields, below)
    level: Level = "fatal" if help_level(multiline.text) == "fatal" else "warning"
    return Multiline(multiline.text, multiline.fields, multiline.taken, multiline.evidence, level)


def read_missing_help(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read ``Sorry! You were supposed to get help about: TOPIC from the file: FILE``: topic, help_file."""
    lines = [*takewhile(lambda line: not _RULE.fullmatch(line.text), islice(below, 6))]
    text = " ".join(part for line in (head, *lines) if (part := line.text.strip()))
    match = _MISSING_HELP.search(text)
    return Multiline(text, {k: v for k, v in match.groupdict().items() if v} if match else {}, numbers_of(lines))


def read_repeats(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Read ``3 more processes have sent help message FILE / TOPIC``. The topic becomes ``FILE:TOPIC``."""
    return Multiline(head.text, {**fields, "topic": f"{fields['help_file']}:{fields['topic']}"})


def _framed(lines: list[Message], end: int) -> Multiline | None:
    text = join_help([line.text for line in lines])
    if not (_SUBJECT.search(text) or find_printed(text, CATALOGUE)):
        return None
    first = next(line.below for line in lines if line.text.strip())
    taken = (*(line.below for line in lines), end)
    return Multiline(text, help_fields(text), taken, first, help_level(text))


def _first_paragraph(lines: list[Message]) -> list[Message]:
    """Return the lines that surely belong to an unclosed text.

    These are the wrapped lines of the first sentence and an indented list behind it.
    """
    end = 1
    while end < min(len(lines), MAX_LOOSE_LINES) and _continues(lines[end - 1].text, lines[end].text):
        end += 1
    list_end = end
    while list_end < min(len(lines), MAX_LOOSE_LINES) and (
        not lines[list_end].text.strip() or _LISTED.match(lines[list_end].text)
    ):
        list_end += 1
    while list_end > end and not lines[list_end - 1].text.strip():
        list_end -= 1
    return lines[:list_end]


def _continues(line: str, following: str) -> bool:
    """Return True if ``following`` continues the sentence in ``line``.

    The sentence was broken at the width of a terminal.
    """
    if not following.strip() or following[0].isspace() or _NEW_MESSAGE.match(following):
        return False
    return len(line) >= _MIN_WRAPPED and (following[0].islower() or line.rstrip()[-1:] not in ".!?:")


def join_help(lines: list[str]) -> str:
    """Join the wrapped lines of each paragraph. List items and ``Name: value`` lines stay lines.

    ``["mpirun could not", "find a", "  Node: n1"]`` gives ``mpirun could not find a`` and ``Node: n1``.
    """
    paragraphs: list[str] = []
    continues = False
    for line in lines:
        stripped = line.strip()
        is_item = bool(_FIELD_LINE.match(line))
        if stripped and continues and not is_item:
            paragraphs[-1] += " " + stripped
        elif stripped:
            paragraphs.append(stripped)
        continues = bool(stripped) and not is_item
    return "\n".join(paragraphs)


def help_level(text: str) -> Level:
    """Return the level of a help text, from its own words and from the catalogue."""
    first = text.partition("\n")[0]
    if _FATAL.search(text) and not first.startswith("WARNING"):
        return "fatal"
    return "warning" if _is_note(text) or _MILD.search(text) else "error"


def _is_note(text: str) -> bool:
    """Return whether the catalogue knows the text as a mere note."""
    known = find_printed(text, CATALOGUE)
    return known is not None and known.columns.get("signature") == "note"


def help_fields(text: str) -> dict[str, Value]:
    """Return the values that a help text prints, and its topic.

    Values: rank, pid, host, peer, signal, exit_code, errno. The topic is the catalogue's code of a text that it knows,
    else a slug of the first nine words: ``mpirun-noticed-that-process-rank-with-pid-on-node``.
    """
    first = text.partition("\n")[0].partition(". ")[0]
    known = find_printed(text, CATALOGUE)
    fields: dict[str, Value] = {"topic": known.code if known else "-".join(_WORD.findall(first)[:9]).lower()}
    for match in _NUMBER_FIELDS.finditer(text[:8000]):
        for name, value in match.groupdict().items():
            if value is not None:
                fields.setdefault(name, number_or_text(value))
    for match in _NODE.finditer(text[:8000]):
        if host := match["host"] or match["on"]:
            fields.setdefault("host", host)
        if match["peer"]:
            fields.setdefault("peer", match["peer"])
    return fields


@cache
def _known_texts() -> Any:
    """Return one pattern for all texts that have a record of their own."""
    readers = (LineReader("openmpi_help.read_help_text"), LineReader("openmpi_help.read_warning"))
    return compiled("|".join(f"(?:{record.pattern})" for record in record_patterns() if record.read_lines in readers))


def read_unknown_frame(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read a help frame, or return None if another record reads its text."""
    lines = list(islice(below, MAX_FRAME_LINES))
    first = [n for n, line in enumerate(lines) if line.text.strip()][:3]
    if any(_known_texts().search(lines[n].text) for n in first):
        return None
    return read_frame(head, fields, iter(lines))
