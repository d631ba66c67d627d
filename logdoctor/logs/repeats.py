"""The short way of a line, or a block of lines, that repeats itself.

A job repeats itself: 1,024 rank files hold some forty forms of lines. The *shape* of a line is the line with ``0`` for
each digit, and for each hexadecimal digit after ``0x``. Lines of one shape have one length, so a slice tells each
value. (Below the first line of a block an address may have any length, because the frames of a stack differ so.)

    [rank3]:[E1105 12:34:10 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught ...
    [rank0]:[E0000 00:00:00 ProcessGroupNCCL.cpp:000] [Rank 0] Watchdog caught ...

The first lines of a shape are parsed the long way. Some are kept as examples, and a `Recipe` is learned from them: of
each value of the record, the place from which it comes. Two numbers may be equal in all examples, such as the rank and
the local rank on the first node. So the runs of digits of several examples are mixed, and the mixtures are parsed too.

Meaning may sit in the digits (``0 failed``, ``exit code 1``). So the short way is left, and the line goes the long way,

- if the scan finds other patterns in the line, such as the text ``Xid 48``
- if digits differ that are equal in all examples
- if a number is zero that is zero in no example, or the other way round
- if the shape of any line that the long way looked at is another
- if a value of the record comes from no single place, or the parser's state changes

The record is the same as that of the long way, and the reasoning sees each record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from logdoctor.logs.times import parse_time
from logdoctor.model import Candidate, Line, Record, Source
from logdoctor.model.digests import blake2b
from logdoctor.model.numbers import ZERO_DIGITS, number

if TYPE_CHECKING:
    from logdoctor.logs.line_parser import LineParser

LONG_WAY = 24
"""Lines of a shape that go the long way before a recipe is learned."""
EXAMPLES = frozenset((2, 4, 7, 10, 13, 16, 20, LONG_WAY))
"""Numbers of the lines that are kept as examples."""
MIXTURES = 8
MAX_LEARNED = 4
"""A shape whose recipe fails often is learned again, at most so many times in all."""
MAX_SHAPES = 4096
MAX_FORMS = 64
"""Blocks of different shapes with the same first line."""
MAX_BELOW = 120
MAX_EXAMPLE_BYTES = 1 << 22
"""Bytes of all examples that are kept. Beyond that nothing new is learned."""
_HEX = re.compile(rb"0x[0-9a-f]+")
_RUN = re.compile(rb"(?<=0x)[0-9a-f]+|\d+")
_NUMBERS = re.compile(r"(\d+)")
_SOURCE = Source.__struct_fields__
END = b"\n"
"""Shape of the end of the lines. No line has it."""

Lines = tuple[bytes, ...]
Shapes = tuple[bytes, ...]
Make = Callable[[Sequence[str], "LineParser"], object]
"""Function from the texts of the lines to a value of the record."""


def shape_of(raw: bytes) -> bytes:
    """Return the line with zeros for its digits."""
    shape = raw.translate(ZERO_DIGITS)
    return _HEX.sub(_blank, shape) if b"0x" in shape else shape


def shape_below(raw: bytes) -> bytes:
    """Return the shape of a line below the first, in which an address may have any length."""
    return _short(raw.translate(ZERO_DIGITS))


def _short(raw: bytes) -> bytes:
    return _HEX.sub(b"0x0", raw) if b"0x" in raw else raw


def _blank(number: re.Match[bytes]) -> bytes:
    return b"0x".ljust(number.end() - number.start(), b"0")


class Example(Struct, frozen=True):
    """A line or block that was parsed the long way.

    ``lines`` are the first line and all lines below that were looked at. ``taken`` are the numbers of the lines that
    belong to the record, counted from the first.
    """

    lines: Lines
    record: Record
    number: int
    file_source: Source
    year: int
    stamp: str
    taken: tuple[int, ...]
    symptoms: tuple[int, ...]
    """Symptoms that the scan found in the first line."""
    searched: bool
    """The symptoms of the record were searched in the text of all its lines."""
    ended: bool
    """The long way looked for further lines, and there were none."""

    @property
    def shapes(self) -> Shapes:
        """Shapes of the lines below the first."""
        return (*map(shape_below, self.lines[1:]), *((END,) if self.ended else ()))


Key = tuple[bytes, tuple[int, ...], bool]
"""Shape of the first line, patterns that the scan found in it, and whether tasks are ranks."""


class Form(Struct):
    """Blocks whose lines have the same shapes."""

    count: int = 0
    examples: list[Example] = field(default_factory=list)
    recipe: Recipe | None = None
    learned: int = 0


class Forms(Struct):
    """Blocks with the same first line."""

    by_shapes: dict[Shapes, Form] = field(default_factory=dict)
    """Forms by the shapes of the lines below the first."""
    lengths: list[int] = field(default_factory=list)
    """Numbers of these lines."""


class Repeats:
    """Forms of lines, by the shapes of their lines. The jobs of a scan share them."""

    def __init__(self) -> None:
        self._forms: dict[Key, Forms] = {}
        self._bytes = 0

    def begin_job(self) -> None:
        """Make room in a table that earlier jobs filled."""
        if len(self._forms) >= MAX_SHAPES // 2 or self._bytes >= MAX_EXAMPLE_BYTES // 2:
            self._forms.clear()
            self._bytes = 0

    def repeat(self, parser: LineParser, candidate: Candidate) -> Record | None:
        """Return the record of a candidate whose form has a recipe that holds."""
        forms = self._forms.get((shape_of(candidate.raw), candidate.patterns, parser.tasks_are_ranks))
        if forms is None:
            return None
        lines, shapes = [candidate.raw], list[bytes]()
        below: Iterator[bytes] = iter(())
        for length in forms.lengths:
            if length > len(shapes):
                below = below if shapes else candidate.following()
                further = [*islice(below, length - len(shapes))]
                lines += further
                shapes += map(shape_below, further)
                shapes += [END] * (length - len(shapes))
            form = forms.by_shapes.get(tuple(shapes[:length]))
            if form is not None and form.recipe is not None:
                return form.recipe.apply(lines[: len(form.recipe.fixed)], candidate.number, parser)
        return None

    def learn(self, parser: LineParser, candidate: Candidate, example: Example) -> None:
        """Count a line that went the long way, and learn its recipe if there are enough."""
        if not all(map(bytes.isascii, example.lines)) or len(example.lines) > MAX_BELOW:
            return
        key: Key = shape_of(candidate.raw), candidate.patterns, parser.tasks_are_ranks
        forms = self._forms.get(key)
        if forms is None:
            if len(self._forms) >= MAX_SHAPES:
                return
            forms = self._forms[key] = Forms()
        shapes = example.shapes
        form = forms.by_shapes.get(shapes)
        if form is None:
            if len(forms.by_shapes) >= MAX_FORMS:
                return
            form = forms.by_shapes[shapes] = Form()
            forms.lengths = sorted({*forms.lengths, len(shapes)})
        form.count += 1
        if form.count not in EXAMPLES or form.learned >= MAX_LEARNED:
            return
        size = sum(map(len, example.lines))
        if self._bytes + size <= MAX_EXAMPLE_BYTES:
            self._bytes += size
            form.examples.append(example)
        if form.count == LONG_WAY and form.examples:
            form.count, form.learned = 0, form.learned + 1
            form.recipe = learn_recipe(form.examples, key, parser)
            if form.recipe is None:
                form.learned = MAX_LEARNED


# ── a recipe ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Recipe(Struct, frozen=True):
    """Places from which the values of a record come."""

    fixed: tuple[tuple[slice, ...], ...]
    """Parts of each line that are equal in all examples."""
    wanted: tuple[bytes, ...]
    """The text of these parts."""
    varying: tuple[tuple[slice, bool | None], ...]
    """Runs of digits that differ, the lines joined, and whether they are zero in no or in all examples."""
    addresses: tuple[tuple[int, int, bytes], ...]
    """Addresses below the first line that are equal in all examples: line, place among its addresses, text."""
    offset: int
    line: Make
    kind: str
    text: Make
    source: tuple[Make, ...]
    fields: tuple[tuple[str, Make], ...]
    lines: tuple[tuple[int, Make], ...]
    like: Record
    """An example, for all that is the same."""
    taken: tuple[int, ...]
    searched: bool
    files: tuple[Callable[[Source], object], object] | None
    """Values that the names of the files tell, and those that are the same for all examples."""
    symptoms: tuple[int, ...] | None
    """Symptoms to confirm in the text, if it is a record of no format."""

    def apply(self, lines: Sequence[bytes], number: int, parser: LineParser) -> Record | None:
        """Return the record of these lines. Return None if the recipe does not hold for them."""
        if self.files is not None and self.files[0](parser.file_source) != self.files[1]:
            return None
        compared = _compared(lines)
        for raw, fixed, wanted in zip(compared, self.fixed, self.wanted, strict=True):
            if b"".join([raw[part] for part in fixed]) != wanted:
                return None
        for i, place, address in self.addresses:
            if _HEX.findall(lines[i])[place] != address:
                return None
        whole = b"".join(compared)
        for run, is_zero in self.varying:
            if is_zero is not None and (not whole[run].strip(b"0")) is not is_zero:
                return None
        texts = [raw.decode("ascii") for raw in lines]
        like = self.like
        text, fields = str(self.text(texts, parser)), {name: make(texts, parser) for name, make in self.fields}
        source = Source(*[make(texts, parser) for make in self.source])  # type: ignore[arg-type]
        patterns = like.patterns
        if self.symptoms is not None:
            patterns = parser.confirm(text, self.symptoms, like.source.level)
            if not patterns:
                return None
        elif self.searched:
            patterns = parser.find_symptoms(text)
        parser.note_year(source.time)
        parser.take_lines(number + below for below in self.taken)
        parser.order += 1
        file = parser.file
        return Record(
            Line(file, number + self.offset, str(self.line(texts, parser))),
            like.format,
            self.kind,
            text,
            source,
            like.level,
            fields,  # type: ignore[arg-type]
            parser.order,
            like.span,
            patterns,
            tuple([Line(file, number + below, str(make(texts, parser))) for below, make in self.lines]),
            like.note,
            like.signs,
            like.origin,
        )


def learn_recipe(examples: Sequence[Example], key: Key, parser: LineParser) -> Recipe | None:
    """Return the recipe that makes the records of all examples and of mixtures of them.

    Return None if there is none.
    """
    known = [*examples]
    for lines, like in _mix(examples):
        if parser.search is not None and parser.search(lines[0]) == key[1]:
            mixture = parser.parse_example(lines, like, key[1])
            if mixture is None:
                return None
            known.append(mixture)
    first, rows = examples[0], [_values(e) for e in known]
    if len({_sort(e) for e in known}) > 1:
        return None
    makes = {name: _find_place(name, [row[name] for row in rows], known) for name in rows[0]}
    if None in makes.values():
        return None
    made: Mapping[str, Make] = makes  # type: ignore[assignment]
    compared = [_compared(e.lines) for e in examples]
    fixed, varying, start = [], [], 0
    for lines_of_examples in zip(*compared, strict=True):
        of_line = [_RUN.finditer(raw) for raw in lines_of_examples]
        parts, at = [], 0
        for of_examples in zip(*of_line, strict=True):
            texts = {run[0] for run in of_examples}
            if len(texts) > 1:
                run = of_examples[0]
                zeros = {not text.strip(b"0") for text in texts}
                varying.append(
                    (slice(start + run.start(), start + run.end()), zeros.pop() if len(zeros) == 1 else None)
                )
                parts.append(slice(at, run.start()))
                at = run.end()
        fixed.append((*parts, slice(at, None)))
        start += len(lines_of_examples[0])
    record = first.record
    return Recipe(
        fixed=tuple(fixed),
        wanted=tuple(b"".join(raw[part] for part in parts) for raw, parts in zip(compared[0], fixed, strict=True)),
        varying=tuple(varying),
        addresses=tuple(_same_addresses(examples)),
        offset=record.line.number - first.number,
        line=made["line"],
        kind=record.kind,
        text=made["text"],
        source=tuple(made[f"source.{name}"] for name in _SOURCE),
        fields=tuple((name, made[f"fields.{name}"]) for name in record.fields),
        lines=tuple((line.number - first.number, made[f"lines.{i}"]) for i, line in enumerate(record.lines)),
        like=record,
        taken=first.taken,
        searched=first.searched,
        files=_same_of_files([e.file_source for e in examples]),
        symptoms=first.symptoms if record.kind == "text.line" else None,
    )


def _same_of_files(sources: Sequence[Source]) -> tuple[Callable[[Source], object], object] | None:
    """Return the values that the names of all files tell alike, because a value of the record may come from there."""
    names = [name for name in _SOURCE if len({getattr(source, name) for source in sources}) == 1]
    of = attrgetter(*names) if names else None
    return (of, of(sources[0])) if of else None


def _same_addresses(examples: Sequence[Example]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the addresses below the first line that all examples share."""
    for i in range(1, len(examples[0].lines)):
        of_examples = zip(*(_HEX.findall(e.lines[i]) for e in examples), strict=True)
        yield from ((i, place, texts[0]) for place, texts in enumerate(of_examples) if len({*texts}) == 1)


def _compared(lines: Sequence[bytes]) -> list[bytes]:
    """Return the lines as they are compared: those below the first with short addresses."""
    return [lines[0], *map(_short, lines[1:])]


def _mix(examples: Sequence[Example]) -> Iterator[tuple[Lines, Example]]:
    """Yield lines whose runs of digits come from several examples, with the example of which the rest is.

    A prefix stands on all lines of a block, so equal runs of several lines stay equal.
    """
    for mixture in range(MIXTURES if len(examples) > 1 else 0):
        chosen: dict[tuple[object, int], int] = {}
        lines = []
        for i in range(len(examples[0].lines)):
            pieces, at, raw, seen = list[bytes](), 0, examples[0].lines[i], dict[object, int]()
            for of_examples in zip(*(_RUN.finditer(e.lines[i]) for e in examples), strict=True):
                texts = tuple(run[0] for run in of_examples)
                seen[texts] = seen.get(texts, -1) + 1
                name = texts, seen[texts]
                which = chosen.setdefault(name, _draw(mixture, len(chosen), len(examples)))
                pieces += raw[at : of_examples[0].start()], texts[which]
                at = of_examples[0].end()
            lines.append(b"".join([*pieces, raw[at:]]))
        yield tuple(lines), examples[mixture % len(examples)]


def _draw(mixture: int, run: int, count: int) -> int:
    """Return a number below ``count`` that looks like chance and is always the same."""
    return blake2b(b"%d %d" % (mixture, run), digest_size=2).digest()[0] % count


def _sort(example: Example) -> tuple[object, ...]:
    """Return all that is the same for the lines of one form."""
    e, record = example, example.record
    names = tuple(record.fields)
    return e.shapes, e.taken, e.searched, e.symptoms, record.level, record.span, record.note, record.signs, names


def _values(example: Example) -> dict[str, object]:
    """Return the values of the record that may differ between lines of one shape, by their names."""
    record, number = example.record, example.number
    values: dict[str, object] = {"kind": record.kind, "line": record.line.text, "text": record.text}
    values["offsets"] = (record.line.number - number, *(line.number - number for line in record.lines))
    values |= {f"source.{name}": getattr(record.source, name) for name in _SOURCE}
    values |= {f"fields.{name}": value for name, value in record.fields.items()}
    return values | {f"lines.{i}": line.text for i, line in enumerate(record.lines)}


def _find_place(name: str, values: Sequence[object], examples: Sequence[Example]) -> Make | None:
    """Return the function that makes a value from the lines, if it comes from one place in all examples."""
    first = values[0]
    if name == "source.time" and any(e.stamp for e in examples):
        return _time(examples)
    if all(value == first and type(value) is type(first) for value in values):
        return _constant(first)
    if name.startswith("source."):
        field_name = name.removeprefix("source.")
        of_file = all(getattr(e.file_source, field_name) == value for e, value in zip(examples, values, strict=True))
        if of_file:
            return _of_file(field_name)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return _number(values, examples)
    if all(isinstance(value, str) for value in values):
        return _text([str(value) for value in values], examples)
    return None


def _constant(value: object) -> Make:
    return lambda _texts, _parser: value


def _of_file(name: str) -> Make:
    return lambda _texts, parser: getattr(parser.file_source, name)


def _time(examples: Sequence[Example]) -> Make | None:
    places = _places([e.stamp for e in examples], examples)
    if not places or any(parse_time(e.stamp, e.year) != e.record.source.time for e in examples):
        return None
    i, part = places[0]
    return lambda texts, parser: parse_time(texts[i][part], parser.year)


def _number(values: Sequence[object], examples: Sequence[Example]) -> Make | None:
    for i, raw in enumerate(examples[0].lines):
        for run in () if i and b"0x" in raw else _RUN.finditer(raw):
            part = slice(*run.span())
            texts = [e.lines[i][part].decode("ascii") for e in examples]
            if all(number(text) == value for text, value in zip(texts, values, strict=True)):
                return lambda texts, _parser, i=i, part=part: number(texts[i][part])  # type: ignore[misc]
    return None


def _text(values: Sequence[str], examples: Sequence[Example]) -> Make | None:
    """Return the function for a text of one or several lines, each of which stands in a line of the block."""
    parts = [value.split("\n") for value in values]
    if len({*map(len, parts)}) > 1:
        return None
    pieces: list[Piece] = []
    for column in zip(*parts, strict=True):
        found = _pieces(column, examples)
        if found is None:
            return None
        pieces += [*(["\n"] if pieces else []), *found]
    if len(pieces) == 1 and not isinstance(pieces[0], str):
        i, part = pieces[0]
        return lambda texts, _parser: texts[i][part]
    return lambda texts, _parser: "".join([p if isinstance(p, str) else texts[p[0]][p[1]] for p in pieces])


Place = tuple[int, slice]
"""Number of a line, and a part of it."""
Piece = str | Place
"""A text that is always the same, or its place."""


def _pieces(values: Sequence[str], examples: Sequence[Example]) -> list[Piece] | None:
    """Return the pieces of a text: one slice, else number by number, as of ``10.1.0.4:0`` from ``10.1.0.4<0>``."""
    if len({*values}) == 1:
        return [values[0]]
    if places := _places(values, examples):
        return [places[0]]
    split = [_NUMBERS.split(value) for value in values]
    if len({*map(len, split)}) > 1:
        return None
    pieces: list[Piece] = []
    for column in zip(*split, strict=True):
        if len({*column}) == 1:
            pieces.append(column[0])
        elif column[0].isdigit() and (places := _places(column, examples)):
            pieces.append(places[0])
        else:
            return None
    return pieces


def _places(values: Sequence[str], examples: Sequence[Example]) -> list[Place]:
    """Return the places at which the values stand in all examples."""
    wanted, found = [value.encode("utf-8", "replace") for value in values], list[Place]()
    for i, raw in enumerate(examples[0].lines if wanted[0] else ()):
        start = raw.find(wanted[0])
        while start >= 0:
            part = _part(raw, start, start + len(wanted[0]), loose=i > 0)
            if part and all(e.lines[i][part] == value for e, value in zip(examples, wanted, strict=True)):
                found.append((i, part))
            start = raw.find(wanted[0], start + 1)
    return found


def _part(raw: bytes, start: int, end: int, *, loose: bool) -> slice | None:
    """Return a part of a line, counted from its end behind addresses of any length. Return None between two of them."""
    addresses = [address.span() for address in _HEX.finditer(raw)] if loose else []
    if not addresses:
        return slice(start, end)
    first, last = addresses[0][0], addresses[-1][1]
    if first < start < last or first < end < last:
        return None
    return slice(start if start <= first else start - len(raw), end if end <= first else (end - len(raw)) or None)
