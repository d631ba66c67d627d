"""A sign of life on standard error for work that takes long; nothing where standard error is no terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logdoctor.cli.errors import print_problems

if TYPE_CHECKING:
    from logdoctor.knowledge import Knowledge

SLOW = 1.0
"""Seconds after which a progress bar appears."""


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


class ProgressBar:
    """A bar on standard error for what takes long; it costs nothing before that.

    It comes by a clock and not by what is read: a first run compiles the rules for seconds before it reads anything.
    """

    def __init__(self) -> None:
        """Nothing is shown yet."""
        self._bar: Any = None
        self._task: Any = None
        self._columns: tuple[Any, ...] = ()
        self._counts: tuple[Any, ...] = ()
        """The columns that count what was read: nothing is, while rules are compiled."""
        self._bytes = 0
        self._doing = "getting ready: the first run after an installation compiles the rules"
        self._clock = threading.Timer(SLOW, self._open)
        self._clock.daemon = True

    def __enter__(self) -> ProgressBar:  # noqa: PYI034 - typing.Self is of 3.11
        """Start the clock."""
        if sys.stderr.isatty():
            self._clock.start()
        return self

    def watch(self, name: str, count: int) -> None:
        """Count bytes that were read."""
        self._bytes += count
        self._doing = name[-40:]
        if self._bar is not None:
            self._bar.columns = (*self._columns, *self._counts)
            self._bar.update(self._task, completed=self._bytes, description=self._doing)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TransferSpeedColumn

        self._columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
        self._counts = (DownloadColumn(), TransferSpeedColumn())
        counts = self._counts if self._bytes else ()
        bar = Progress(*self._columns, *counts, console=Console(stderr=True), transient=True)
        self._task = bar.add_task(self._doing, total=None)
        bar.start()
        self._bar = bar

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._clock.cancel()
        if self._clock.ident is not None:
            self._clock.join()  # it may be opening the bar just now
        if self._bar is not None:
            self._bar.stop()


def gathered(folders: Sequence[Path]) -> Knowledge:
    """What is known with the rules in ``folders``; a first run shows that it compiles them; faulty ones are told."""
    from logdoctor.knowledge import gather

    with ProgressBar():
        known = gather(folders)
    print_problems(known.faults)
    return known
