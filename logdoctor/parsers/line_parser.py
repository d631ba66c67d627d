"""From the lines that the scan picked to events: peel, split what is glued together, recognise, read on below."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from logdoctor.model import Candidate, Event, Level, Line, Speaker, Value, without_impossible_rank
from logdoctor.parsers import meanings, peeling, records
from logdoctor.parsers.file_speakers import speaker_of
from logdoctor.parsers.line_pieces import clean, pieces
from logdoctor.parsers.mute_shapes import MuteShapes
from logdoctor.parsers.peeling import Peeled, Who
from logdoctor.parsers.record import MAX_BLOCK_LINES, Bare, Block, Record
from logdoctor.parsers.same_speaker import as_said_by
from logdoctor.parsers.times import NO_YEAR, year_of
from logdoctor.parsers.windows_codes import exit_code_elsewhere
from logdoctor.regexes import compiled

TIMEOUT = 0.1
"""Seconds that one pattern may take on one line."""
MAX_TIMEOUTS = 3
"""A line on which so many patterns took that long is hostile: nothing more is tried on it."""
SHOWN = 2000
"""Characters of a line that are kept as evidence."""
KEPT = 40
"""So many lines of a record are kept, to be quoted."""
_REMEMBERED = 2048
"""Lines below candidates that are kept peeled, and numbers of lines that blocks took."""


class LineParser:
    """Makes the events of one file; feed it candidates in file order.

    ``rescan`` gives the ids of the patterns that hit in a text (the scan's own search); ids below ``len(records())``
    are records, the others, minus that number, go into `Event.patterns`.  Without it all patterns of the candidate
    count for every piece.  ``alone`` are the ids that tell something even in a line in which no record is found and
    that is no error by its prefix (None: all do).  ``start`` is the `Event.order` to go on from, `order` the last one
    given.
    """

    def __init__(
        self,
        file: str,
        rescan: Callable[[bytes], Sequence[int]] | None = None,
        start: int = 0,
        alone: Container[int] | None = None,
    ) -> None:
        """Nothing is read yet."""
        self.file, self.rescan, self.order, self.alone = file, rescan, start, alone
        self.default = speaker_of(file)
        self.year = NO_YEAR
        self.tasks_are_ranks = True
        self._mute = MuteShapes()
        self._taken: dict[int, set[str]] = {}
        self._peeled: dict[int, list[Peeled]] = {}

    def parse(self, candidate: Candidate) -> list[Event]:
        """The events of one line: none, one, or several where records are glued together."""
        if self._mute.tells_nothing(candidate.raw):
            return []
        self._forget_before(candidate.number)
        found = pieces(clean(candidate.raw))
        events, mute = list[Event](), True
        for at, piece in enumerate(found):
            if self._is_taken(candidate.number, piece):
                mute = False
                continue
            ids, symptoms = self._hits(piece, candidate.patterns, alone=len(found) == 1)
            below = _Below(self, candidate, piece, found[at + 1 :])
            event = self._recognise(piece, ids, symptoms, below)
            if event is not None:
                events += [event, *self._passed_on(event, below.passes_on, candidate)]
            mute = mute and not below.was_read and not self._tells(event)
        if mute:
            self._mute.note(candidate.raw)
        return events

    def _passed_on(self, event: Event, said: str, candidate: Candidate) -> list[Event]:
        """What the line says that ``event`` quotes of another program, where anybody asks for it."""
        found = pieces(said) if said else []
        events = list[Event]()
        for piece in found:
            ids, symptoms = self._hits(piece, candidate.patterns, alone=False)
            lone = Candidate(b"", event.line.number, (), lambda: iter(()))
            inner = self._recognise(piece, ids, symptoms, _Below(self, lone, piece, []))
            if inner is not None and inner.patterns:
                events.append(replace(inner, line=event.line, speaker=event.speaker))
        return events

    def _hits(self, piece: Peeled, ids: tuple[int, ...], *, alone: bool) -> tuple[list[int], tuple[int, ...]]:
        """Records to try (the likeliest first) and symptoms seen in a piece; a decoded or cut one is searched anew."""
        count = len(records())
        seen: Iterable[int] = ids
        if self.rescan is not None and (piece.decoded or not alone):
            seen = self.rescan(piece.text.encode())
            ids = (*ids, *seen)
        tried = sorted({i for i in ids if i < count}, key=_precedence().__getitem__)
        return tried, tuple(sorted({i - count for i in seen if i >= count}))

    def _recognise(self, piece: Peeled, ids: list[int], symptoms: tuple[int, ...], below: _Below) -> Event | None:
        self._learn(piece.who)
        slow = 0
        for record, text, who in _attempts([records()[index] for index in ids], piece.stages()):
            try:
                hit = compiled(record.pattern).search(text, timeout=TIMEOUT)
            except TimeoutError:
                slow += 1
                if slow == MAX_TIMEOUTS:
                    break
                continue
            event = self._of_record(record, hit, text, who, symptoms, below) if hit else None
            if event is not None:
                return event
        if not symptoms or not piece.text.strip():
            return None
        printer = self.speaker(piece.who, timed=True)
        return self._event("text.line", piece.text, printer, below, level=printer.level, patterns=symptoms)

    def _tells(self, event: Event | None) -> bool:
        """Whether such events count however many there are."""
        if event is None or event.kind != "text.line" or event.failing:
            return event is not None
        alone, count = self.alone, len(records())
        return alone is None or any(i + count in alone for i in event.patterns)

    def _of_record(
        self, record: Record, hit: Any, text: str, who: Who, symptoms: tuple[int, ...], below: _Below
    ) -> Event | None:
        """The event of a record that matched; None if its block turns out to be none."""
        fields, spoken = _fields(hit)
        head = Bare(text, self.speaker({**spoken, **who}, timed=True))
        said = str(hit.groupdict().get("text") or text)
        block = Block(said)
        if record.block is not None:
            given = {**fields, "text": said} if "text" in hit.re.groupindex else fields
            below.patience = record.patience
            read = record.block(head, given, iter(below))
            if read is None:
                return None
            block, below.passes_on = read, read.passes_on
            symptoms = self._symptoms_of(block, said, symptoms)
        return self._event(
            block.kind or record.kind,
            block.text,
            head.speaker,
            below,
            level=block.level or record.level or head.speaker.level,
            fields=without_impossible_rank({**fields, **block.fields}),
            patterns=symptoms,
            block=block,
            note=record.note,
        )

    def _symptoms_of(self, block: Block, said: str, symptoms: tuple[int, ...]) -> tuple[int, ...]:
        """The symptoms in a block's text."""
        if self.rescan is None or block.text == said:
            return symptoms
        count = len(records())
        return tuple(sorted({i - count for i in self.rescan(block.text.encode()) if i >= count}))

    def _event(
        self,
        kind: str,
        text: str,
        who: Speaker,
        below: _Below,
        *,
        level: Level | None,
        patterns: tuple[int, ...],
        fields: dict[str, Value] | None = None,
        block: Block | None = None,
        note: str = "",
    ) -> Event:
        self.order += 1
        number, printed, span = below.close(block) if block else below.head
        line = Line(self.file, number, printed if len(printed) <= SHOWN else printed[: SHOWN - 1] + "…")
        dialect = kind.partition(".")[0]
        lines = tuple(Line(self.file, n, t[:SHOWN]) for n, t in below.kept) if block and span > 1 else ()
        said = (line, dialect, kind, text, who, level or "info", fields or {})
        return Event(*said, self.order, span, patterns, lines, note, meanings().get(kind, ()))

    def speaker(self, who: Who, *, timed: bool = False) -> Speaker:
        """Who the prefixes say it was.  The time is only read where it is asked for: it costs."""
        if not timed and "time" in who:
            who = {name: value for name, value in who.items() if name != "time"}
        found = peeling.speaker(who, self.default, year=self.year, tasks_are_ranks=self.tasks_are_ranks)
        if found.time is not None and self.year == NO_YEAR:
            self.year = year_of(found.time) or NO_YEAR
        return found

    def _learn(self, who: Who) -> None:
        """A launcher that starts one torchrun a node numbers nodes: then its numbers are no ranks."""
        if "task" in who and self.tasks_are_ranks:
            rank = who.get("rank")
            self.tasks_are_ranks = "local_rank" not in who and (rank is None or str(rank) == str(who["task"]))

    # ── lines below, and lines that are taken ───────────────────────────────────────────────────────────────────────

    def pieces_at(self, number: int, raw: bytes) -> list[Peeled]:
        """The pieces of a line below a candidate; many blocks read the same lines."""
        found = self._peeled.get(number)
        if found is None:
            parts = clean(raw).split("\r")
            found = self._peeled[number] = [p for part in parts if part or len(parts) == 1 for p in pieces(part)]
        return found

    def take(self, number: int, piece: Peeled) -> None:
        """Keep a piece for the record that it belongs to."""
        self._taken.setdefault(number, set()).add(piece.printed)

    def _is_taken(self, number: int, piece: Peeled) -> bool:
        return number in self._taken and piece.printed in self._taken[number]

    def _forget_before(self, number: int) -> None:
        for kept in (self._peeled, self._taken):
            if len(kept) > _REMEMBERED:
                for old in [n for n in kept if n < number]:
                    del kept[old]


class _Below:
    """The lines below a head as a block reader sees them, and what becomes of those that it took."""

    def __init__(self, parser: LineParser, candidate: Candidate, head: Peeled, rest: list[Peeled]) -> None:
        self._parser, self.candidate, self._head, self._rest = parser, candidate, head, rest
        self._given: dict[int, tuple[int, Peeled]] = {}
        self.was_read = False
        """Whether what became of the head may depend on them."""
        self.patience = 0
        self.passes_on = ""
        """The line of another program that the record of the head quotes."""
        """So many lines of others in a row are read over."""
        self.kept: list[tuple[int, str]] = []
        """Number and text of the lines of the block, the head first (bounded)."""

    @property
    def head(self) -> tuple[int, str, int]:
        """Number, text and span of the head's own line."""
        return self.candidate.number, self._head.printed, 1

    def __iter__(self) -> Iterator[Bare]:
        """The lines of the same speaker; each time from the first."""
        self._given.clear()
        self.was_read = True
        foreign = 0
        for below, (number, piece) in enumerate(self._lines(), 1):
            said = as_said_by(self._head, piece)
            if said is None:
                foreign += 1
                if foreign > self.patience:
                    return
                continue
            foreign = 0
            self._given[below] = number, piece
            yield Bare(said[0], self._parser.speaker(said[1]), below)
            if len(self._given) >= MAX_BLOCK_LINES:
                return

    def _lines(self) -> Iterator[tuple[int, Peeled]]:
        first = self.candidate.number
        yield from ((first, piece) for piece in self._rest)
        for number, raw in enumerate(self.candidate.following(), first + 1):
            yield from ((number, piece) for piece in self._parser.pieces_at(number, raw))

    def close(self, block: Block) -> tuple[int, str, int]:
        """Mark what the block took; gives number and text of the line to quote, and the span."""
        first = last = self.candidate.number
        self.kept = [(first, self._head.printed)]
        for below in block.taken:
            if below in self._given:
                number, piece = self._given[below]
                last = max(last, number)
                self._parser.take(number, piece)
                if len(self.kept) < KEPT:
                    self.kept.append((number, piece.printed))
        number, quoted = self._given.get(block.evidence, (first, self._head))
        return number, quoted.printed, last - first + 1


# ── records ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _attempts(tried: list[Record], stages: list[tuple[str, Who]]) -> Iterator[tuple[Record, str, Who]]:
    """Which record is searched in which stage of peeling, in order.

    A specific record may hold what looks like a prefix; a general one (priority below 0) matches many a prefix, so it
    sees one only after all have failed on the bare line.
    """
    for record in tried:
        yield from ((record, text, who) for text, who in (stages if record.priority >= 0 else stages[:1]))
    for record in tried:
        if record.priority < 0:
            yield from ((record, text, who) for text, who in stages[1:2])


@cache
def _precedence() -> list[tuple[int, int]]:
    """For each record its place in the order of trying."""
    return [(-record.priority, index) for index, record in enumerate(records())]


def _fields(hit: Any) -> tuple[dict[str, Value], Who]:
    """The groups of a match: fields of the event, and who printed it (``by_`` groups)."""
    fields, spoken = dict[str, Value](), Who()
    for name, value in hit.groupdict().items():
        if not value or name == "text":
            continue
        if name.startswith("by_"):
            spoken[name[3:]] = value
        else:
            fields[name] = _value(value)
    if isinstance(code := fields.get("exit_code"), int):
        fields["exit_code"] = exit_code_elsewhere(code)
    return fields, spoken


def _value(text: str) -> Value:
    digits = text[1:] if text[0] == "-" else text
    return int(text) if digits.isdecimal() and len(digits) < 19 else text


# ── for tests and tools ─────────────────────────────────────────────────────────────────────────────────────────────


def parse_text(text: str, file: str = "job.log") -> list[Event]:
    """The events of a short text, without a scan: every record is tried on every line."""
    parser = LineParser(file)
    every = tuple(range(len(records())))
    lines = [line.encode() for line in text.removesuffix("\n").split("\n")]
    events = list[Event]()
    for number, line in enumerate(lines, 1):
        for part in line.split(b"\r"):
            events += parser.parse(Candidate(part, number, every, lambda n=number: iter(lines[n:])))  # type: ignore[misc]
    return events


def peel(text: str) -> Bare:
    """One line without its wrappers, and who said it."""
    peeled = peeling.peel(clean(text.encode("utf-8", "replace")))
    return Bare(peeled.text, peeling.speaker(peeled.who, Speaker()))
