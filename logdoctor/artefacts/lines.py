"""Lines of a document, one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.artefacts.document import Damaged, Document

CHUNK_BYTES = 1 << 16
MAX_LINE = 1 << 20


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
