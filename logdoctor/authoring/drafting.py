"""Drafts of rules, made from one log line. The words are left to the author as TODOs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import regex
import yaml
from msgspec import Struct

from logdoctor.inputs import open_streams
from logdoctor.logs import parse_text
from logdoctor.logs.line_parser import read_message
from logdoctor.matcher.scan_pattern import make_pattern
from logdoctor.model import InputError, Job, Problem, Record, Stream
from logdoctor.pipeline.masking import Piece, split_values
from logdoctor.ruleset import BASE, SUFFIX
from logdoctor.ruleset.tables import Signature

ID = re.compile(r"[a-z0-9][a-z0-9-]*\.[a-z0-9][a-z0-9-]*")
LINES_READ = 200
"""Lines read from the chosen line on, because its record may go on there."""
LONGEST_TEXT = 160
"""Characters of the message that the suggested expression covers."""
FLAT = 2
"""Parts of the path of a rule without a folder of its signature."""
UNKNOWN_KINDS = ("text.line",)
_SOURCE = re.compile(r"^[\w./-]{1,200}\.(?:cc|cpp|cu|cuh|c|h|hpp|py|go|rs):\d+[:\])]*\s+")
_BEFORE = re.compile(r"([A-Za-z]{3,16})[ =:#]{1,2}$")
_TO_PEER = re.compile(r"(?i)\b(?:to|from|peer|with|by|remote)[ =:]{1,2}$")
_STOP_WORDS = frozenset(
    "after and are for from has have into line not than that the then this took was were with".split()
)
_HOSTS = ("host", "node", "hostname", "server")


class Draft(Struct, frozen=True):
    """The text of a new rule file, with details of the log line.

    ``message`` is the line without the prefixes of launchers and loggers.
    """

    text: str
    log: str
    kind: str
    level: str
    message: str


def lines_at(place: str) -> str:
    """Return the line at ``FILE:LINE`` and the lines below it. FILE is a path or ``archive.tar:member``, as in reports.

    Raise `InputError` if there is no such line.
    """
    file, _, number = place.rpartition(":")
    if not file or not number.isdigit() or int(number) < 1:
        raise InputError("this names no line", place, "", "give FILE:LINE, as reports and 'rules gaps' print it")
    problems: list[Problem] = []
    for stream in open_streams(Job(file, (_on_disk(file),)), problems):
        if stream.name == file:
            return _read_lines(stream, int(number), place)
    first = problems[0] if problems else Problem("no log found", file, "it is not there, or holds no text")
    raise InputError(first.what, first.where, first.why, first.help)


def _on_disk(file: str) -> str:
    """Return the existing file or archive: ``logs.tar`` for ``logs.tar:run/job.log``."""
    path = file
    while not Path(path).exists() and ":" in path:
        path = path.rpartition(":")[0]
    return path if Path(path).exists() else file


def _read_lines(stream: Stream, number: int, place: str) -> str:
    lines: list[bytes] = []
    at = 0
    with io.BufferedReader(_Raw(stream)) as reader:
        for line in iter(lambda: reader.readline(1 << 20), b""):
            at += line.endswith(b"\n") or 0
            if at >= number or (at == number - 1 and not line.endswith(b"\n")):
                lines.append(line)
            if len(lines) == LINES_READ:
                break
    if not lines:
        raise InputError("there is no such line", place, f"the log has {at} lines", "count from 1")
    return b"".join(lines).decode("utf-8", "replace")


class _Raw(io.RawIOBase):
    """Adapt a stream of a job to `io.BufferedReader`."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._stream.readinto(memoryview(buffer))


def place_of(rule_id: str, signature: str = "") -> Path:
    """Return the file of a rule below its folder. A variant is beside the rule of its signature in the same family."""
    family, _, name = rule_id.partition(".")
    if not signature or signature == rule_id:
        return Path(family, name, BASE + SUFFIX)
    of_family, _, folder = signature.partition(".")
    return Path(family, folder, name + SUFFIX) if of_family == family else Path(family, name + SUFFIX)


def draft(rule_id: str, text: str, signatures: Mapping[str, Signature], signature: str = "") -> Draft:
    """Draft the rule ``rule_id`` for the first record of ``text``. Raise `InputError` if the first line is empty."""
    lines = text.splitlines()
    if not lines or not lines[0].strip():
        raise InputError("the line is empty", "", "", "choose a line that says what failed")
    record = next((e for e in parse_text(text) if 1 in (e.line.number, *(line.number for line in e.lines))), None)
    log = "\n".join(lines[: _line_count(record)])
    message = record.text if record else read_message(lines[0]).text
    kind, level = (record.kind, record.level) if record else (UNKNOWN_KINDS[0], "info")
    agreed = signatures.get(signature or rule_id)
    symptom = _symptom(message, kind)
    body = _file(rule_id, signature, agreed, _about(kind, level, message), symptom, log)
    return Draft(body, log, kind, level, message)


def _line_count(record: Record | None) -> int:
    return max(record.line.number, *(line.number for line in record.lines), 1) if record else 1


def _about(kind: str, level: str, message: str) -> list[str]:
    parsed = "no parser knows this line" if kind in UNKNOWN_KINDS else f"the line is of the kind {kind}"
    return [f"  # {parsed}, level {level}; its message:", f"  #   {_one_line(message)}"]


def _one_line(text: str) -> str:
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    text = "".join(c if c.isprintable() else "?" for c in line)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _symptom(message: str, kind: str) -> dict[str, str]:
    """Return a condition for the message. If its text is too weak, add its kind."""
    expression = suggest(message)
    symptom = {"text": expression} if expression else {}
    if kind not in UNKNOWN_KINDS and (not expression or _too_weak(expression)):
        symptom["kind"] = kind
    return symptom


def _too_weak(expression: str) -> bool:
    try:
        make_pattern(expression)
    except ValueError:
        return True
    return False


def suggest(message: str) -> str:
    r"""Return a regular expression for a message, with its values as named groups.

    ``link 7 to 10.0.0.7:90`` becomes ``link (?P<link>\d+) to (?P<peer>…)``.
    """
    line = _SOURCE.sub("", next((line for line in message.splitlines() if line.strip()), "").strip())
    parts: list[str] = []
    used: dict[str, int] = {}
    before = ""
    for piece in split_values(line):
        if len(before) + len(piece.text) > LONGEST_TEXT and parts:
            parts += [] if piece.kind else [_quoted(_cut(piece.text, LONGEST_TEXT - len(before)))]
            break
        parts.append(_group(piece, before, used) if piece.kind else _quoted(_cut(piece.text, LONGEST_TEXT)))
        before += piece.text
    expression = "".join(parts).strip()
    return expression if expression and regex.search(expression, line) else ""


def _cut(text: str, room: int) -> str:
    """Cut ``text`` to ``room`` characters, at the end of a word."""
    return text if len(text) <= room else text[:room].rpartition(" ")[0]


def _quoted(text: str) -> str:
    return str(regex.escape(text, special_only=True, literal_spaces=True))


def _group(piece: Piece, before: str, used: dict[str, int]) -> str:
    name = _name(piece, before)
    used[name] = used.get(name, 0) + 1
    return f"(?P<{name if used[name] == 1 else f'{name}{used[name]}'}>{_expression(piece)})"


def _name(piece: Piece, before: str) -> str:
    """Name a value after the word before it (``port 8123``), else after its kind."""
    kind = piece.kind.name if piece.kind else ""
    if kind in ("address", "name") and _TO_PEER.search(before):
        return "peer"
    match = _BEFORE.search(before) if kind in ("number", "name") else None
    word = match[1].lower() if match else ""
    if kind == "name" and word in _HOSTS:
        return "host"
    return word if word and word not in _STOP_WORDS else kind


def _expression(piece: Piece) -> str:
    if piece.text.isdigit():
        return r"\d+"
    if piece.text.replace(".", "").isdigit() and piece.kind and piece.kind.name == "number":
        return r"[\d.]+"
    return piece.kind.expression if piece.kind else ""


def groups_of(expression: str) -> list[str]:
    return re.findall(r"\(\?P<(\w+)>", expression)


def _file(
    rule_id: str, signature: str, agreed: Signature | None, about: list[str], symptom: dict[str, str], log: str
) -> str:
    value = next((f"{{{n}}}" for n in groups_of(symptom.get("text", "")) if n != "rank"), "its partner")
    meaning = f"# {agreed.meaning}\n" if agreed else ""
    choices = "stop: fix first; retry: start again; exclude: drain the host; none: nothing"
    lines = [
        f"# {rule_id}: see docs/rules.md; every TODO is yours to write, 'logdoctor rules lint {rule_id}' finds them.",
        *([f"signature: {signature}"] if len(place_of(rule_id, signature).parts) == FLAT else []),
        f"{meaning}title:",
        f'  - "TODO: the answer in one line: Rank {{rank}} lost {value}"',
        '  - "TODO: the answer without values: A connection was lost"',
        'cause: "TODO: one sentence that says what happened{host? on {host}}"',
        *([] if agreed else [f"action: stop  # {choices}"]),
        *([] if agreed else ["failure_class: program fails  # or another class of failure_classes.tsv"]),
        "strength: likely  # proof, strong, likely or hint: how often it is right when it holds",
        "remedy:",
        '  - "TODO: find out: the command that shows it"',
        '  - "TODO: change: the variable, parameter or file"',
        '  - "TODO: verify: how one sees that it works"',
        'references: ["TODO: a page that explains it"]',
        "symptoms:",
        *about,
        "  seen:",
        *(f"    {key}: {_quote(value)}" for key, value in symptom.items()),
        "examples:",
        *_log("  - log: ", log),
        "near_misses:",
        "  - is: healthy",
        '    because: "TODO: why this line, which looks alike, means something else"',
        '    log: "TODO: the likeliest line to be confused with it"',
    ]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else _double_quoted(text)


def _double_quoted(text: str) -> str:
    r"""Return ``text`` in double quotes, with unprintable characters as escapes (``\e``)."""
    return str(yaml.safe_dump(text, default_style='"', width=1 << 30)).strip()


def _log(head: str, log: str) -> Iterator[str]:
    """Yield the example as a YAML block. Quote it if it holds unprintable characters."""
    if not all(c.isprintable() or c in "\n\t" for c in log):
        yield head + _double_quoted(log + "\n")
        return
    yield head + "|2"
    yield from ("      " + line for line in log.split("\n"))
