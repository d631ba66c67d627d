"""Progress of long work on standard error: a bar on a terminal, else one line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logdoctor.cli.errors import print_problems

if TYPE_CHECKING:
    from logdoctor.pipeline.knowledge import Knowledge

SLOW, SLOW_IN_PIPE = 1.0, 3.0
"""Seconds after which a progress bar appears, or a line if standard error is no terminal."""


@contextlib.contextmanager
def spinner() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text beside a spinner, once the work has taken `SLOW` seconds."""
    is_due = _start_clock()
    with contextlib.ExitStack() as opened:
        status: Any = None

        def show(text: str) -> None:
            nonlocal status
            if status is None and is_due():
                from rich.console import Console

                status = opened.enter_context(Console(stderr=True).status(""))
            if status is not None:
                from rich.markup import escape

                status.update(escape(text))

        yield show


@contextlib.contextmanager
def step_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes a text, the number of done steps and the number of all steps.

    It shows a bar once the work has taken `SLOW` seconds.
    """
    is_due = _start_clock()
    with contextlib.ExitStack() as opened:
        bar: Any = None

        def show(text: str, done: int, total: int) -> None:
            nonlocal bar
            if bar is None and is_due():
                bar = opened.enter_context(_open_step_bar())
            if bar is not None:
                bar.update(bar.task_ids[0], description=text[:40].ljust(40), completed=done, total=total)

        yield show


def _start_clock() -> Callable[[], bool]:
    """Return a function that tells whether progress is due: after `SLOW` seconds, on a terminal only."""
    from time import monotonic

    start, on_terminal = monotonic(), sys.stderr.isatty()
    return lambda: on_terminal and monotonic() - start > SLOW


def _open_step_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task("")
    return bar


class ProgressBar:
    """A bar that appears after `SLOW` seconds and counts the bytes read. In a pipe it is one line.

    A clock opens the bar, because a first run compiles rules for seconds before it reads anything.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._columns: tuple[Any, ...] = ()
        self._counts: tuple[Any, ...] = ()
        """Columns for the bytes read. They appear with the first bytes."""
        self._bytes, self._reads = 0, False
        self._text = "compiling the rules, only once (about 15 s)"
        self._clock: Any = None

    def __enter__(self) -> ProgressBar:  # noqa: PYI034 - typing.Self is of 3.11
        from threading import Timer

        on_terminal = sys.stderr.isatty()
        self._clock = Timer(SLOW if on_terminal else SLOW_IN_PIPE, self._open if on_terminal else self._print)
        self._clock.daemon = True
        self._clock.start()
        return self

    def watch(self, name: str, count: int) -> None:
        """Count bytes read from the input ``name``."""
        self._bytes, self._reads = self._bytes + count, True
        self._text = name[-40:]
        if self._bar is not None:
            self._bar.columns = (*self._columns, *self._counts)
            self._bar.update(self._task, completed=self._bytes, description=self._text)

    def _print(self) -> None:
        from logdoctor.model.escape import escape

        sys.stderr.write(f"logdoctor: {f'reading {escape(self._text)}' if self._reads else self._text}\n")

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TransferSpeedColumn

        self._columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
        self._counts = (DownloadColumn(), TransferSpeedColumn())
        counts = self._counts if self._bytes else ()
        bar = Progress(*self._columns, *counts, console=Console(stderr=True), transient=True)
        self._task = bar.add_task(self._text, total=None)
        bar.start()
        self._bar = bar

    def __exit__(self, *_: object) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock.join()  # the clock may be opening the bar now
        if self._bar is not None:
            self._bar.stop()


def load_with_progress(folders: Sequence[Path]) -> Knowledge:
    """Load the rules in ``folders`` and print their faults. Show a bar, because a first run compiles rules."""
    from logdoctor.pipeline.knowledge import gather

    with ProgressBar():
        knowledge = gather(folders)
    print_problems(knowledge.faults)
    return knowledge
