"""Documents of a job, read into the same records as its logs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import asdict, replace

from logdoctor.artefacts import Damaged, Document, Fact, Passage, is_per_host, read
from logdoctor.logs import lifecycle_signs, origin_of, record_patterns
from logdoctor.logs.about import add_subject
from logdoctor.logs.host_lists import expand_hosts
from logdoctor.logs.line_parser import MAX_LINE_LENGTH, LineParser
from logdoctor.logs.object_states import read_state
from logdoctor.logs.source_from_filename import host_in_name, source_from_filename
from logdoctor.matcher.matcher import Matcher
from logdoctor.matcher.window import ReadInto
from logdoctor.model import InputError, Level, Line, Record, Source, Stream, Value, without_impossible_rank

MAX_FIELD_LENGTH = 4000
HELP = "copy it again, or take another one"
Confirm = Callable[[str, Sequence[int], Level | None], tuple[int, ...]]


class DocumentReader:
    """The records of one document, in its order."""

    def __init__(self, stream: Stream, matcher: Matcher, confirm: Confirm, start: int) -> None:
        """``confirm`` and ``start`` are those of `LineParser`."""
        self._stream, self._matcher, self._confirm = stream, matcher, confirm
        self._buffer = memoryview(bytearray(1 << 16))
        self.order, self.bytes, self.lines = start, 0, 0
        name_source = source_from_filename(stream.name)
        if is_per_host(stream.document) and name_source.host is None:
            name_source = replace(name_source, host=host_in_name(stream.name))
        self._name_source = name_source

    def records(self, readinto: ReadInto) -> Iterator[Record]:
        """Yield the records. A document that is damaged is reported with the reason."""
        document = Document(self._stream.name, self._stream.document, partial(self._read, readinto), self._name_source)
        try:
            for found in read(document):
                yield from [self._record(found)] if isinstance(found, Fact) else self._parse(found)
        except Damaged as error:
            self._stream.fail(InputError("could not be read whole", self._stream.name, str(error), HELP))

    def _read(self, readinto: ReadInto, size: int) -> bytes:
        count = readinto(self._buffer[:size])
        data = bytes(self._buffer[:count])
        self.bytes += count
        self.lines += data.count(b"\n")
        return data

    def _record(self, fact: Fact) -> Record:
        self.order += 1
        text = _clean(fact.text)
        signs = lifecycle_signs().get(fact.kind, ())
        fields = without_impossible_rank({name: _clean_value(value) for name, value in fact.fields.items()})
        if isinstance(hosts := fields.get("hosts"), str):
            fields["hosts"] = expand_hosts(hosts)
        symptoms = [number - len(record_patterns()) for number in self._matcher.match(text.encode())]
        format_ = fact.kind.partition(".")[0]
        return Record(
            self._line(fact.line, text, fact.where),
            format_,
            fact.kind,
            text,
            _filled(fact.source, self._name_source),
            fact.level,
            {**fields, **read_state(signs, fields, text)} if signs else fields,
            self.order,
            patterns=tuple(number for number in symptoms if number >= 0),
            note=fact.note,
            signs=add_subject(signs, text),
            origin=origin_of(format_),
        )

    def _line(self, number: int, text: str, where: str) -> Line:
        shortened = text if len(text) <= MAX_LINE_LENGTH else text[: MAX_LINE_LENGTH - 1] + "…"
        return Line(self._stream.name, number, shortened, _clean(where), self._stream.document)

    def _parse(self, passage: Passage) -> Iterator[Record]:
        """Yield the records in a text of the document, each on its line of the document."""
        parser = LineParser(self._stream.name, self._matcher.match, self.order, self._confirm)
        parser.file_source = _filled(passage.source, self._name_source)
        scan = self._matcher.scan(io.BytesIO(passage.text.encode("utf-8", "replace")).readinto)
        scan.is_taken = parser.is_taken
        for candidate in scan:
            for record in parser.parse(candidate):
                lines = tuple(self._moved(line, passage) for line in record.lines)
                source = _filled(record.source, passage.source)  # a line without a time has that of the field
                yield replace(record, line=self._moved(record.line, passage), lines=lines, source=source)
        self.order = parser.order

    def _moved(self, line: Line, passage: Passage) -> Line:
        """Return a line of a passage as a line of the document. The lines of a field have one number."""
        if passage.places:
            at, where = passage.places[min(line.number, len(passage.places)) - 1]
            return self._line(at, line.text, where)
        number = passage.line if passage.where else passage.line + line.number - 1
        return self._line(number, line.text, passage.where)


def _filled(source: Source, other: Source) -> Source:
    """Return ``source`` with what it does not tell taken from ``other``."""
    return Source(
        **{
            name: other_value if (value := getattr(source, name)) is None else value
            for name, other_value in asdict(other).items()
        }
    )


def _clean(text: str) -> str:
    """Return a text without halves of characters, which JSON can hold and no file can."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _clean_value(value: Value) -> Value:
    if isinstance(value, str):
        return _clean(value[:MAX_FIELD_LENGTH])
    return tuple(_clean(v) if isinstance(v, str) else v for v in value) if isinstance(value, tuple) else value  # type: ignore[return-value]
