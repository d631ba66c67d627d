"""Signs that a program works whose lines no format knows, read from the excerpts of its logs.

Masking is slow, so for the heartbeat numbers are replaced and nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import partial

from logdoctor.logs.last_lines import PROMPT
from logdoctor.logs.line_parser import LineParser, read_message
from logdoctor.logs.record_pattern import Message
from logdoctor.model import Candidate, Line
from logdoctor.pack.regexes import later
from logdoctor.pipeline.excerpts import Excerpt
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.pipeline.new_templates import ALARM_WORDS, MAX_LINES, NUMBERS
from logdoctor.reasoning.findings.symptoms import load_index
from logdoctor.reasoning.lifecycle.heartbeat import MAX_NUMBERS, Heartbeat, Printed, find_beats

STAMPS = re.compile(
    r"\b\d{4}[-/.]\d\d[-/.]\d\d\b|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b|\b\d{9,}(?:\.\d+)?\b|^\[? *\d+\.\d+\]?"
)
"""Times and serial numbers, which rise whatever the program does."""
NUMBER = re.compile(r"(?<![\w.])\d{1,12}(?:\.\d{1,6})?(?![\w.]*[a-fA-F]\d)")
MIN_WORK = 3
"""Lines of a program that show that it works on."""
LINES_ABOVE = 3
"""Lines above a complaint that may begin its block."""
MAX_BLOCK = 60
MAX_HEARD = 200
"""Lines right behind a complaint, and at the end of its log, that are heard."""
ENDING = later(
    r"(?i)\b(?:abort(?:ed|ing|s)?|terminat(?:ed|ing)|giv(?:es|ing) up|gave up|killed|crashed|fatal"
    r"|core dumped|cancel(?:l?ed)?)\b"
    r"|\bexit(?:ed|ing)? (?:with )?(?:code|status)\b|\bcannot continue\b|\bsegmentation\b"
)
OF_OTHERS = later(
    r"\s*(?:\[[\w.-]+:\d+\]|(?:mpirun|mpiexec|orterun|prterun|srun|slurmstepd|torchrun|horovodrun|hydra_\w+|NCCL|UCX)\b"
    r"|[-=*_#~ ]{4,}$|\S{0,80}\.py:\d+:|warnings\.warn|\s*\[?\w+@|[^\n]{0,80} NCCL (?:INFO|WARN|TRACE) "
    r"|\[ *\d+\.\d{6}\] )"
)
"""Beginnings of lines of launchers, libraries, shells and the kernel, and of Python's warnings."""
SAYS_SOMETHING = later(r"[A-Za-z]{3}|\d\s+[-+\d.]")
"""A word, or two numbers of a table."""


def listen(logs: Sequence[Excerpt]) -> Heartbeat:
    """Return the heartbeat of the logs."""
    return Heartbeat({log.name: beats for log in logs if (beats := find_beats(_printed(log), _time_of))})


def _time_of(line: Line) -> float | None:
    return read_message(line.text).source.time


def _printed(log: Excerpt) -> Iterator[Printed]:
    """Yield the lines of the start and the end of a log, each once."""
    last = 0
    for line in itertools.islice((*log.first_lines(), *log.last_lines()), MAX_LINES):
        if line.number > last and line.text.strip():
            last, text = line.number, STAMPS.sub("", line.text)
            numbers = tuple(float(number) for number in NUMBER.findall(text)[:MAX_NUMBERS])
            yield Printed(line, NUMBERS.sub("0", text), numbers)


def hear_work(logs: Sequence[Excerpt], pack: Knowledge, first: Line, last: Line) -> Line | None:
    """Return the last line in which the program works on behind the complaints from ``first`` to ``last``.

    Its lines tell work in no form that is known, so several of them count, and none that complains, ends something, or
    is of a library or a launcher.
    """
    file = last.file
    lines = [line for log in logs if log.name == file for line in _lines_behind(log, first.number - LINES_ABOVE)]
    search, confirm = pack.matcher.match, load_index(pack.rules, pack.scanned).confirm
    parser, work, taken = LineParser(file, search, 0, confirm), list[Line](), set[int]()
    raws = [line.text.encode() for line in lines]
    for at, (line, raw) in enumerate(zip(lines, raws, strict=True)):
        if line.number > last.number and PROMPT.match(line.text):  # what follows is of another program
            break
        below = partial(iter, raws[at + 1 : at + 1 + MAX_BLOCK])
        records = parser.parse(Candidate(raw, line.number, tuple(search(raw)), below))
        for record in records:
            taken.update(range(record.line.number, record.line.number + record.span))
        if line.number <= first.number or line.number in taken or parser.is_taken(line.number):
            is_work = any(record.has("works") for record in records)
        else:
            message = read_message(line.text)
            if ENDING.search(message.text):
                return None
            is_work = not records and not OF_OTHERS.match(line.text) and _is_work(message)
        if is_work and line.number > first.number:
            work.append(line)
    return work[-1] if len(work) >= MIN_WORK and work[-1].number > last.number else None


def _is_work(message: Message) -> bool:
    alarming = message.source.level not in (None, "info") or ALARM_WORDS.search(message.text)
    return not alarming and not OF_OTHERS.match(message.text) and SAYS_SOMETHING.search(message.text) is not None


def _lines_behind(log: Excerpt, number: int) -> list[Line]:
    """Return the kept lines from ``number`` on, of a long log the first and the last ones."""
    kept = {line.number: line for line in (*log.first_lines(), *log.last_lines()) if line.number >= number}
    lines = [kept[number] for number in sorted(kept)]
    return lines if len(lines) <= 2 * MAX_HEARD else [*lines[:MAX_HEARD], *lines[-MAX_HEARD:]]
