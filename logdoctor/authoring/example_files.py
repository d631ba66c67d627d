"""The files that the text of an example holds."""

from __future__ import annotations

import io
import re
from typing import IO, Any

_HEADING = re.compile(r"^==> (\S+) <==\n", re.MULTILINE)


def example_files(log: str) -> list[IO[bytes]]:
    """Return the text as an open file, or as those that it names as ``tail -n +1 FILE FILE`` does: ``==> NAME <==``."""
    if not log.startswith("==> "):
        return [io.BytesIO(log.encode("utf-8", "replace"))]
    _, *parts = _HEADING.split(log)
    return [_named(name, text) for name, text in zip(parts[::2], parts[1::2], strict=True)]


def _named(name: str, text: str) -> IO[bytes]:
    file: Any = io.BytesIO(text.encode("utf-8", "replace"))
    file.name = name
    return file  # type: ignore[no-any-return]
