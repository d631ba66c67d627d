"""A sign of life on standard error for work that takes long."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Says on standard error what is being done: a spinner on a terminal, else nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("") as status:

        def told(what: str) -> None:
            status.update(escape(what))

        yield told
