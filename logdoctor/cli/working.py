"""A sign of life on standard error for work that takes long; nothing where standard error is no terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Says what is being done, beside a spinner."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("") as status:

        def told(what: str) -> None:
            status.update(escape(what))

        yield told


@contextlib.contextmanager
def counting() -> Iterator[Callable[[str, int, int], None]]:
    """Shows a bar: what is being done, how many steps are done, how many there are."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    with Progress(
        text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("")

        def told(what: str, done: int, total: int) -> None:
            bar.update(task, description=what[:40].ljust(40), completed=done, total=total)

        yield told
