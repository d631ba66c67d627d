"""Parts of the logs that are kept for a second look, because a pipe cannot be read twice.

Of each log its start, samples of its middle and its end are kept, and the lines around the first failure of each sort
and process. No file is read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

from msgspec import Struct, field

from logdoctor.matcher.scan import Scan
from logdoctor.model import Candidate, Line, Record

START_BYTES = 1 << 16
SAMPLE_BYTES = 1 << 14
END_BYTES = 1 << 17
"""Bytes kept of the start of a log, of each sample in its middle, and of its end."""
MAX_LOGS = 64
"""Logs of which start, samples and end are kept."""
MAX_LINE_BYTES = 500
AROUND = 30
"""Lines above and below a record that are kept."""
HEAD = 30
"""First lines of a log that are read for its settings."""
MAX_AROUND_BYTES = 8 << 10
"""Bytes that are kept on each side of a record."""
MAX_NEIGHBOURHOOD_BYTES = 2 << 20
"""Bytes that are kept around all records of a job."""
MAX_OF_KIND = 48
"""Records of one kind whose neighbourhoods are kept. Of a failure of all ranks the first ones tell enough."""
MAX_CUT_BYTES = 2000
"""Bytes of a line of a neighbourhood. A page shows no more."""


EVERY = range(1, 1 << 62)
"""All numbers of lines."""


class Excerpt(Struct):
    """The parts kept of one log.

    ``lines`` is the number of lines of the whole log. The line numbers of ``end`` are counted back from it.
    """

    name: str
    start: bytes = b""
    samples: list[bytes] = field(default_factory=list)
    end: bytes = b""
    lines: int = 0
    chunks: int = 0

    def add(self, chunk: memoryview) -> None:
        """Keep parts of the next bytes of the log."""
        if len(self.start) < START_BYTES:
            self.start += chunk[: START_BYTES - len(self.start)]
        self.chunks += 1
        if self.chunks > 2 and self.chunks & (self.chunks - 1) == 0:  # fewer and fewer samples of a long log
            self.samples.append(bytes(chunk[:SAMPLE_BYTES]))
        self.end = self.end[len(chunk) - END_BYTES :] + chunk if len(chunk) < END_BYTES else bytes(chunk[-END_BYTES:])

    def first_lines(self, longest: int = MAX_LINE_BYTES, numbers: range = EVERY) -> Iterator[Line]:
        """Yield the lines of the start that have one of these numbers."""
        lines = _complete_lines(self.start, len(self.start) == START_BYTES)
        for number, raw in enumerate(lines[numbers.start - 1 : numbers.stop - 1], numbers.start):
            yield Line(self.name, number, _text(raw, longest))

    def middle_lines(self) -> Iterator[str]:
        """Yield lines of the samples, whose numbers are unknown."""
        for sample in self.samples:
            yield from (_text(raw) for raw in _complete_lines(sample, is_cut=True)[1:])

    def last_lines(self, longest: int = MAX_LINE_BYTES, numbers: range = EVERY) -> Iterator[Line]:
        """Yield the lines of the end that have one of these numbers."""
        unfinished = bool(self.end) and not self.end.endswith(b"\n")
        first = self.lines - self.end.count(b"\n") + (not unfinished)
        begin = max(numbers.start, first + (first > 1))  # the first line may be cut
        for number, raw in enumerate(self.end.split(b"\n")[begin - first : max(numbers.stop - first, 0)], begin):
            yield Line(self.name, number, _text(raw, longest))

    def lines_with(self, numbers: range) -> dict[int, Line]:
        """Return the lines of start and end that have one of these numbers."""
        kept = self.first_lines(MAX_CUT_BYTES, numbers)
        if len(self.start) == START_BYTES:  # a shorter log is kept whole
            kept = chain(self.last_lines(MAX_CUT_BYTES, numbers), kept)
        return {line.number: line for line in kept}

    def texts(self) -> Iterator[str]:
        """Yield all lines that were kept, in the order of the log."""
        yield from (line.text for line in self.first_lines())
        yield from self.middle_lines()
        yield from (line.text for line in self.last_lines())


def _complete_lines(raw: bytes, is_cut: bool) -> list[bytes]:  # noqa: FBT001
    lines = raw.split(b"\n")
    return lines[:-1] if is_cut else lines


def _text(raw: bytes, longest: int = MAX_LINE_BYTES) -> str:
    return raw[:longest].decode("utf-8", "replace").rstrip("\r")


class Neighbourhood(Struct, frozen=True):
    """Lines of one log in a row. ``number`` is that of the first line."""

    number: int
    lines: tuple[bytes, ...]


class Excerpts:
    """The excerpts of all logs of a job."""

    def __init__(self) -> None:
        self.logs: list[Excerpt] = []
        self._around: dict[str, list[Neighbourhood]] = {}
        self._around_bytes = 0
        self._seen: set[tuple[object, ...]] = set()
        self._kinds: Counter[str] = Counter()

    def record(self, name: str, readinto: Callable[[memoryview], int]) -> Callable[[memoryview], int]:
        """Return a ``readinto`` that also keeps an excerpt of the log ``name``.

        Beyond `MAX_LOGS` the original ``readinto`` is returned.
        """
        if len(self.logs) >= MAX_LOGS:
            return readinto
        log = Excerpt(name)
        self.logs.append(log)

        def read(buffer: memoryview) -> int:
            count = readinto(buffer)
            if count:
                log.add(buffer[:count])
            return count

        return read

    def keep_around(self, record: Record, candidate: Candidate, scan: Scan) -> None:
        """Keep the lines around a failing record if it is the first of its sort and process.

        The lines of a short log are kept anyway.
        """
        name = record.line.file
        if self.logs and self.logs[-1].name == name and scan.bytes <= START_BYTES:
            return
        key = name, record.kind, record.rank, record.host, record.pid
        if key in self._seen or self._kinds[record.kind] >= MAX_OF_KIND or self._around_bytes > MAX_NEIGHBOURHOOD_BYTES:
            return
        self._seen.add(key)
        self._kinds[record.kind] += 1
        above, below = scan.around(AROUND, AROUND + record.span, MAX_AROUND_BYTES)
        lines = tuple(raw[:MAX_CUT_BYTES] for raw in (*above, candidate.raw, *below))
        self._around_bytes += sum(map(len, lines))
        self._around.setdefault(name, []).append(Neighbourhood(candidate.number - len(above), lines))

    def around(self, line: Line, before: int, after: int) -> list[Line]:
        """Return the kept lines from ``before`` lines above ``line`` to ``after`` below it, in order, it included."""
        numbers = range(max(1, line.number - before), line.number + after + 1)
        found: dict[int, Line] = {}
        for kept in self._around.get(line.file, ()):
            for number, raw in enumerate(kept.lines, kept.number):
                if number in numbers:
                    found.setdefault(number, Line(line.file, number, _text(raw, MAX_CUT_BYTES)))
        if len(found) < len(numbers) and (log := self._log(line.file)) is not None:
            found = {**log.lines_with(numbers), **found}
        return [found[number] for number in sorted(found)]

    def head(self, name: str) -> list[Line]:
        """Return the first lines of a log."""
        log = self._log(name)
        return list(log.first_lines(MAX_CUT_BYTES, range(1, HEAD + 1))) if log else []

    def _log(self, name: str) -> Excerpt | None:
        return next((log for log in self.logs if log.name == name), None)

    def finish(self, name: str, lines: int) -> None:
        """Set the line count of a log that was read to its end."""
        if self.logs and self.logs[-1].name == name:
            self.logs[-1].lines = lines
