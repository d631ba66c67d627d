"""Parse candidate lines into records.

The steps for one line are: strip prefixes, split joined lines, match the record patterns, read the lines below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from logdoctor.logs import lifecycle_signs, origin_of, prefix_stripping, record_patterns
from logdoctor.logs.about import add_subject
from logdoctor.logs.object_states import read_state
from logdoctor.logs.prefix_stripping import Labels, Stripped
from logdoctor.logs.quiet_templates import MuteShapes
from logdoctor.logs.record_pattern import MAX_MULTILINE_LINES, Message, Multiline, RecordPattern
from logdoctor.logs.repeats import Example, Lines, Repeats
from logdoctor.logs.source_from_filename import source_from_filename
from logdoctor.logs.source_match import match_source
from logdoctor.logs.split_joined import decode_line, split_line
from logdoctor.logs.times import NO_YEAR, year_of
from logdoctor.logs.windows_codes import posix_exit_code
from logdoctor.model import Candidate, Level, Line, Record, Source, Value, without_impossible_rank
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import compiled, later

TIMEOUT = 0.1
"""Seconds that one pattern may take on one line."""
MAX_TIMEOUTS = 3
"""Stop trying patterns on a line after this many timeouts, because the line may be hostile."""
MAX_LINE_LENGTH = 2000
"""Keep this many characters of a line as evidence."""
MAX_RECORD_LINES = 40
"""Keep this many lines of a multi-line record as evidence."""
MAX_IN_VAIN = 64
"""Lines of a file that become records although no symptom takes their level. They tell times and places."""
_CALM_WORD = later(r"\b(?:INFO|DEBUG|TRACE|DIAG|VERBOSE|NOTE|NOTICE)\b")
LEVEL_AT = 120
"""Characters at the beginning of a line of no known prefix that may tell its level."""
_MAX_CACHED_LINES = 2048
"""Size at which the caches of lines below a candidate drop the lines above it."""


class LineParser:
    """Parser for one file, which takes the candidates in file order.

    Pattern ids below ``len(records())`` are record patterns.  The others, minus that number, go into `Record.patterns`;
    they are called symptoms here.

    - ``search`` returns the ids of the patterns that a text may hold, as the scan does.  Without ``search`` all ids of
      the candidate count for each piece of its line.
    - ``start`` is the `Record.order` to go on from; the attribute `order` is the last one used.
    - ``confirm`` returns those of the symptoms that a text of a level holds.  A line without a record pattern gives a
      record only if one is confirmed.  None confirms all.
    """

    def __init__(
        self,
        file: str,
        search: Callable[[bytes], Sequence[int]] | None = None,
        start: int = 0,
        confirm: Callable[[str, Sequence[int], Level | None], tuple[int, ...]] | None = None,
        repeats: Repeats | None = None,
    ) -> None:
        self.file, self.search, self.order = file, search, start
        self._confirm = confirm or (lambda _text, symptoms, _level: tuple(symptoms))
        self._repeats = repeats
        self.file_source = source_from_filename(file)
        self.year = NO_YEAR
        self.tasks_are_ranks = True
        self._quiet = MuteShapes()
        self._in_vain = 0
        self._stamp = ""
        """Time stamp of the last source that was built with its time."""
        self._taken: dict[int, None] = {}
        """Numbers of the lines that belong to a record as a whole."""
        self._consumed: dict[int, set[str]] = {}
        self._pieces: dict[int, list[Stripped]] = {}

    def parse(self, candidate: Candidate) -> list[Record]:
        """Return the records of one line. A line of several joined records gives several."""
        if self.is_taken(candidate.number):
            return []
        self._drop_cache_above(candidate.number)
        if self._repeats is None or candidate.number in self._consumed:
            return self._parse(candidate)[0]
        if record := self._repeats.repeat(self, candidate):
            return [record]
        tasks_are_ranks = self.tasks_are_ranks
        records, example = self._parse(candidate)
        if example is not None and self.tasks_are_ranks == tasks_are_ranks:
            self._repeats.learn(self, candidate, example)
        return records

    def parse_example(self, lines: Lines, like: Example, patterns: tuple[int, ...]) -> Example | None:
        """Parse other lines of the shape of an example the long way, as if they stood in its place.

        Return None if they give no record, or several, or change what is known of the file.
        """
        parser = LineParser(like.record.line.file, self.search, 0, self._confirm)
        parser.year, parser.tasks_are_ranks, parser._in_vain = like.year, self.tasks_are_ranks, self._in_vain
        candidate = Candidate(lines[0], like.number, patterns, lambda: iter(lines[1:]))
        example = parser._parse(candidate)[1]
        return example if parser.tasks_are_ranks == self.tasks_are_ranks else None

    def _parse(self, candidate: Candidate) -> tuple[list[Record], Example | None]:
        """Parse a line the long way. Return it as an example too, if it is one record and nothing else."""
        if self._quiet.is_quiet(candidate.raw):
            return [], None
        year, example = self.year, None
        pieces = split_line(decode_line(candidate.raw))
        records, quiet = list[Record](), True
        for at, piece in enumerate(pieces):
            if self._is_consumed(candidate.number, piece):
                quiet = False
                continue
            ids, symptoms = self._find_patterns(piece, candidate.patterns, entire=len(pieces) == 1)
            below = _LinesBelow(self, candidate, piece, pieces[at + 1 :])
            record = self._parse_piece(piece, ids, symptoms, below)
            if record is not None:
                records += [record, *self._parse_quotation(record, below.quoted_line, candidate)]
                if len(pieces) == 1 and not (piece.decoded or below.quoted_line or below.took_parts):
                    example = below.as_example(record, symptoms, year, self._stamp)
            quiet = quiet and not below.was_read and record is None
        if quiet:
            self._quiet.count(candidate.raw)
        return records, example

    def _parse_quotation(self, record: Record, quotation: str, candidate: Candidate) -> list[Record]:
        """Parse the line of another program that ``record`` quotes. Keep its records if they may show symptoms."""
        records = list[Record]()
        for piece in split_line(quotation) if quotation else []:
            ids, symptoms = self._find_patterns(piece, candidate.patterns, entire=False)
            lone = Candidate(b"", record.line.number, (), lambda: iter(()))
            inner = self._parse_piece(piece, ids, symptoms, _LinesBelow(self, lone, piece, []))
            if inner is not None and inner.patterns:
                records.append(replace(inner, line=record.line, source=record.source))
        return records

    def _find_patterns(
        self, piece: Stripped, ids: tuple[int, ...], *, entire: bool
    ) -> tuple[list[int], tuple[int, ...]]:
        """Return the record patterns to try, in their order, and the symptoms.

        ``ids`` are the patterns that the scan found in the raw line.  The piece is searched again if it was decoded or
        is not the ``entire`` line.
        """
        count = len(record_patterns())
        matches: Iterable[int] = ids
        if self.search is not None and (piece.decoded or not entire):
            matches = self.search(piece.text.encode())
            ids = (*ids, *matches)
        return sorted({i for i in ids if i < count}), tuple(sorted({i - count for i in matches if i >= count}))

    def _parse_piece(
        self, piece: Stripped, ids: list[int], symptoms: tuple[int, ...], below: _LinesBelow
    ) -> Record | None:
        self._check_tasks(piece.labels)
        timeouts = 0
        for pattern, text, labels in _attempts([record_patterns()[index] for index in ids], piece.variants()):
            if pattern.line is not None and not _holds(piece.printed, pattern.line):
                continue
            try:
                match = compiled(pattern.pattern).search(text, timeout=TIMEOUT)
            except TimeoutError:
                timeouts += 1
                if timeouts == MAX_TIMEOUTS:
                    break
                continue
            record = self._parse_match(pattern, match, text, labels, symptoms, below) if match else None
            if record is not None:
                return record
        if not symptoms or not piece.text.strip():
            return None
        logger = self.build_source(piece.labels, with_time=True)
        if logger.level is None and _CALM_WORD.search(piece.text, 0, LEVEL_AT):
            logger = replace(logger, level="info")
        if not (symptoms := self.confirm(piece.text, symptoms, logger.level)):
            return None
        return self._build_event("text.line", piece.text, logger, below, level=logger.level, patterns=symptoms)

    def confirm(self, text: str, symptoms: tuple[int, ...], level: Level | None) -> tuple[int, ...]:
        """Return those of the symptoms that a line of no format shows.

        A line without a level of its own may be of any level. A few others count although no symptom takes their level,
        see `MAX_IN_VAIN`.
        """
        if self._in_vain >= MAX_IN_VAIN:
            return self._confirm(text, symptoms, level)
        found = self._confirm(text, symptoms, None)
        self._in_vain += bool(found) and not self._confirm(text, found, level)
        return found

    def _parse_match(
        self,
        pattern: RecordPattern,
        match: Any,
        text: str,
        labels: Labels,
        symptoms: tuple[int, ...],
        below: _LinesBelow,
    ) -> Record | None:
        """Build the record of a pattern that matched. Return None if its reader rejects the lines."""
        fields, own_labels = _split_groups(match)
        head = Message(text, self.build_source({**own_labels, **labels}, with_time=True))
        message = str(match.groupdict().get("text") or text)
        multiline = Multiline(message)
        if pattern.read_lines is not None:
            head_fields = {**fields, "text": message} if "text" in match.re.groupindex else fields
            below.patience = pattern.patience
            result = pattern.read_lines(head, head_fields, iter(below))
            if result is None:
                return None
            multiline, below.quoted_line = result, result.quoted_line
            if self.search is not None and multiline.text != message:
                symptoms, below.was_searched = self.find_symptoms(multiline.text), True
        return self._build_event(
            multiline.kind or pattern.kind,
            multiline.text,
            head.source,
            below,
            level=multiline.level or pattern.level or head.source.level,
            fields=without_impossible_rank({**fields, **multiline.fields}),
            patterns=symptoms,
            multiline=multiline,
            note=pattern.note,
        )

    def find_symptoms(self, text: str) -> tuple[int, ...]:
        """Return the symptoms that the text of a record of several lines may show."""
        count = len(record_patterns())
        return tuple(sorted({i - count for i in self.search(text.encode()) if i >= count})) if self.search else ()

    def _build_event(
        self,
        kind: str,
        text: str,
        logger: Source,
        below: _LinesBelow,
        *,
        level: Level | None,
        patterns: tuple[int, ...],
        fields: dict[str, Value] | None = None,
        multiline: Multiline | None = None,
        note: str = "",
    ) -> Record:
        self.order += 1
        number, printed, span = below.close(multiline) if multiline else below.head
        shortened = printed if len(printed) <= MAX_LINE_LENGTH else printed[: MAX_LINE_LENGTH - 1] + "…"
        lines = tuple(Line(self.file, n, t[:MAX_LINE_LENGTH]) for n, t in below.lines) if multiline and span > 1 else ()
        signs, fields = lifecycle_signs().get(kind, ()), fields or {}
        format_ = kind.partition(".")[0]
        return Record(
            Line(self.file, number, shortened),
            format_,
            kind,
            text,
            logger,
            level or "info",
            {**fields, **read_state(signs, fields, shortened)} if signs else fields,
            self.order,
            span,
            patterns,
            lines,
            note,
            add_subject(signs, text),
            origin_of(format_),
        )

    def build_source(self, labels: Labels, *, with_time: bool = False) -> Source:
        """Return the source that the prefixes name. The time is parsed only on demand, because that is slow."""
        if not with_time and "time" in labels:
            labels = {name: value for name, value in labels.items() if name != "time"}
        logger = prefix_stripping.build_source(
            labels, self.file_source, year=self.year, tasks_are_ranks=self.tasks_are_ranks
        )
        if with_time:
            self._stamp = stamp if isinstance(stamp := labels.get("time"), str) else ""
            self.note_year(logger.time)
        return logger

    def note_year(self, time: float | None) -> None:
        """Take the year of the file from the first time that has one."""
        if time is not None and self.year == NO_YEAR:
            self.year = year_of(time) or NO_YEAR

    def _check_tasks(self, labels: Labels) -> None:
        """Stop reading task numbers as ranks if a line contradicts.

        A line contradicts if it names another rank, or a local rank, beside its task.  Example: srun starts one
        torchrun per node.  In ``1: [rank9]: gone`` the task 1 is then the number of a node.
        """
        if "task" in labels and self.tasks_are_ranks:
            rank = labels.get("rank")
            self.tasks_are_ranks = "local_rank" not in labels and (rank is None or str(rank) == str(labels["task"]))

    # ── lines below a candidate, and lines that belong to a record already ──────────────────────────────────────────

    def read_pieces(self, number: int, raw: bytes) -> list[Stripped]:
        """Split a line below a candidate. The result is cached, because many records read the same lines."""
        pieces = self._pieces.get(number)
        if pieces is None:
            parts = decode_line(raw).split("\r")
            pieces = self._pieces[number] = [p for part in parts if part or len(parts) == 1 for p in split_line(part)]
        return pieces

    def consume(self, number: int, piece: Stripped) -> None:
        """Mark a piece as part of a record already parsed."""
        self._consumed.setdefault(number, set()).add(piece.printed)

    def take_lines(self, numbers: Iterable[int]) -> None:
        """Mark whole lines as part of a record already parsed."""
        self._taken.update(dict.fromkeys(numbers))

    def is_taken(self, number: int) -> bool:
        """Return whether a whole line is part of a record already parsed."""
        return number in self._taken

    def is_whole_line(self, number: int) -> bool:
        """Return whether a line below a candidate is one piece."""
        return len(self._pieces.get(number, ())) == 1

    def _is_consumed(self, number: int, piece: Stripped) -> bool:
        return number in self._consumed and piece.printed in self._consumed[number]

    def _drop_cache_above(self, number: int) -> None:
        for cached in (self._pieces, self._consumed, self._taken):
            if len(cached) > _MAX_CACHED_LINES:
                for old in [n for n in cached if n < number]:
                    del cached[old]


class _LinesBelow:
    """Lines of the same source below the first line of a record."""

    def __init__(self, parser: LineParser, candidate: Candidate, head: Stripped, rest: list[Stripped]) -> None:
        self._parser, self.candidate, self._head, self._rest = parser, candidate, head, rest
        self._pieces: dict[int, tuple[int, Stripped]] = {}
        self.was_read = False
        """True if a reader looked at these lines, so that the result may depend on them."""
        self.patience = 0
        """Skip at most this many lines of other sources in a row."""
        self.quoted_line = ""
        """See `Multiline.quoted_line`."""
        self.was_searched = False
        """True if the patterns were searched in the text of all lines."""
        self.took_parts = False
        """True if the record holds a part of a line."""
        self._looked_at: list[bytes] = []
        self._ended = False
        self._taken: list[int] = []
        self.lines: list[tuple[int, str]] = []
        """Number and text of the lines of the record, at most `MAX_RECORD_LINES`."""

    @property
    def head(self) -> tuple[int, str, int]:
        """Number, text and span of the first line alone."""
        return self.candidate.number, self._head.printed, 1

    def __iter__(self) -> Iterator[Message]:
        """Yield the lines of the same source. Each iteration begins at the first line."""
        self._pieces.clear()
        self.was_read = True
        foreign = 0
        for offset, (number, piece) in enumerate(self._all_pieces(), 1):
            match = match_source(self._head, piece)
            if match is None:
                foreign += 1
                if foreign > self.patience:
                    return
                continue
            foreign = 0
            self._pieces[offset] = number, piece
            yield Message(match[0], self._parser.build_source(match[1]), offset)
            if len(self._pieces) >= MAX_MULTILINE_LINES:
                return

    def _all_pieces(self) -> Iterator[tuple[int, Stripped]]:
        first = self.candidate.number
        yield from ((first, piece) for piece in self._rest)
        for number, raw in enumerate(self.candidate.following(), first + 1):
            if number - first > len(self._looked_at):
                self._looked_at.append(raw)
            yield from ((number, piece) for piece in self._parser.read_pieces(number, raw))
        self._ended = True

    def as_example(self, record: Record, symptoms: tuple[int, ...], year: int, stamp: str) -> Example:
        first = self.candidate.number
        return Example(
            lines=(self.candidate.raw, *self._looked_at),
            ended=self._ended,
            record=record,
            number=first,
            file_source=self._parser.file_source,
            symptoms=symptoms,
            year=year,
            stamp=stamp,
            taken=tuple(number - first for number in self._taken),
            searched=self.was_searched,
        )

    def close(self, multiline: Multiline) -> tuple[int, str, int]:
        """Consume the lines of ``block``. Return number and text of the line to quote, and the span."""
        first = last = self.candidate.number
        self.lines = [(first, self._head.printed)]
        for offset in multiline.taken:
            if offset in self._pieces:
                number, piece = self._pieces[offset]
                last = max(last, number)
                self._parser.consume(number, piece)
                self._taken.append(number)
                self.took_parts = self.took_parts or not self._parser.is_whole_line(number)
                if len(self.lines) < MAX_RECORD_LINES:
                    self.lines.append((number, piece.printed))
        if not self.took_parts:
            self._parser.take_lines(self._taken)
        number, evidence = self._pieces.get(multiline.evidence, (first, self._head))
        return number, evidence.printed, last - first + 1


# ── record patterns ─────────────────────────────────────────────────────────────────────────────────────────────────


def _attempts(
    patterns: list[RecordPattern], variants: list[tuple[str, Labels]]
) -> Iterator[tuple[RecordPattern, str, Labels]]:
    """Yield record patterns and texts to search, in the order in which they are tried.

    A specific pattern may describe text that looks like a prefix, so it is tried on all variants.  A pattern that is
    ``general`` or ``last`` would match many prefixes.  It sees a prefix only after all patterns failed on the message.
    """
    for pattern in patterns:
        late = pattern.general or pattern.last
        yield from ((pattern, text, labels) for text, labels in (variants[:1] if late else variants))
    for pattern in patterns:
        if pattern.general or pattern.last:
            yield from ((pattern, text, labels) for text, labels in variants[1:2])


def _holds(text: str, pattern: str) -> bool:
    try:
        return compiled(pattern).search(text, timeout=TIMEOUT) is not None
    except TimeoutError:
        return False


def _split_groups(match: Any) -> tuple[dict[str, Value], Labels]:
    """Split the groups of a match into fields and labels (``by_`` groups)."""
    fields, labels = dict[str, Value](), Labels()
    for name, value in match.groupdict().items():
        if not value or name == "text":
            continue
        if name.startswith("by_"):
            labels[name[3:]] = value
        else:
            fields[name] = number_or_text(value)
    if isinstance(code := fields.get("exit_code"), int):
        fields["exit_code"] = posix_exit_code(code)
    return fields, labels


# ── for tests and tools ─────────────────────────────────────────────────────────────────────────────────────────────


def parse_text(text: str, file: str = "job.log") -> list[Record]:
    """Parse a short text without a scan. Each record pattern is tried on each line."""
    parser = LineParser(file)
    every = tuple(range(len(record_patterns())))
    lines = [line.encode() for line in text.removesuffix("\n").split("\n")]
    records = list[Record]()
    for number, line in enumerate(lines, 1):
        for part in line.split(b"\r"):
            records += parser.parse(Candidate(part, number, every, lambda n=number: iter(lines[n:])))  # type: ignore[misc]
    return records


def read_message(text: str) -> Message:
    """Strip the prefixes off one line. Return the message and its source."""
    stripped = prefix_stripping.strip_prefixes(decode_line(text.encode("utf-8", "replace")))
    return Message(stripped.text, prefix_stripping.build_source(stripped.labels, Source()))
