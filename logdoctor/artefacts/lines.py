"""Lines of a document, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from logdoctor.artefacts.document import Damaged, Document, Fact, Found, Passage

CHUNK_BYTES = 1 << 16
MAX_LINE = 1 << 20
MAX_PASSAGE = 4096
"""Lines in a row that are read like a log at once."""


def lines(document: Document) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line, without its end."""
    rest, count = b"", 0
    while data := document.read(CHUNK_BYTES):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            count += 1
            yield count, line.decode("utf-8", "replace").rstrip("\r")
        if len(rest) > MAX_LINE:
            raise Damaged(f"its line {count + 1} is longer than {MAX_LINE >> 20} MiB")
    if rest:
        yield count + 1, rest.decode("utf-8", "replace").rstrip("\r")


def rows_and_text(document: Document, read_row: Callable[[str, int], Iterable[Fact] | None]) -> Iterator[Found]:
    """Yield what ``read_row`` finds in each line. It returns None for a line that is no row.

    Lines that are no rows are read like a log, because a program may print rows and an error into one file.
    """
    text, first = list[str](), 0
    for number, line in lines(document):
        found = read_row(line, number) if line.strip() else ()
        if found is None:
            first = first or number
            text.append(line)
        if text and (found is not None or len(text) == MAX_PASSAGE):
            yield Passage("\n".join(text), first)
            text, first = [], 0
        yield from found or ()
    if text:
        yield Passage("\n".join(text), first)
