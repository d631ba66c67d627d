"""Questions: conclusions from many records, across ranks.

A question is a function of a module of this package that `asks` marks, so there is no list to extend. It reads the
timeline and the state of the job, keeps nothing, and yields its conclusions as records of the format ``ledger``. Each
stands on a log line that shows it, and rules match it by its kind.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from msgspec import Struct

from logdoctor.model import Record, Value
from logdoctor.pack.module_names import module_names
from logdoctor.pack.regexes import later
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.timeline import Timeline

K = TypeVar("K", int, str)
Key = TypeVar("Key", bound=Hashable)
Ask = Callable[[Timeline, JobState], Iterable[Record]]
MAX_RANKS = 4096
SEARCHED = 4000
"""Characters of a text that a question searches."""
_DONE = later(
    r"(?i)\b(?:saved|successfully|finished|completed?(?! (?:epoch|step|iteration)s?\b)|done|took)\b|: +100 ?%$"
)


class Question(Struct, frozen=True):
    """A question, and the sorts of records that the timeline keeps for it, see `dispatch.Reader`."""

    ask: Ask
    sorts: tuple[str, ...]

    def __call__(self, timeline: Timeline, state: JobState) -> list[Record]:
        return [*self.ask(timeline, state)]


def asks(*sorts: str) -> Callable[[Ask], Question]:
    """Make a question of a function, and tell the sorts of records that it asks for."""
    return lambda ask: Question(ask, sorts)


@cache
def questions() -> tuple[Question, ...]:
    """Return all questions in the order of their files, and of one file as they stand there."""
    modules = (importlib.import_module(f"{__name__}.{name}") for name in module_names(__path__))
    return tuple(q for module in modules for q in vars(module).values() if isinstance(q, Question))


def new_timeline() -> Timeline:
    """Return an empty timeline that keeps what the questions ask for."""
    return Timeline(sorted({sort for question in questions() for sort in question.sorts}))


def ask_all(timeline: Timeline, state: JobState) -> Iterator[Record]:
    """Return the conclusions of all questions."""
    for question in questions():
        yield from question(timeline, state)


def first_of_each(records: Iterable[Record], key: Callable[[Record], Key | None]) -> dict[Key, Record]:
    """Return the first record of each key. Records without a key are left out."""
    found: dict[Key, Record] = {}
    for record in records:
        if (name := key(record)) is not None:
            found.setdefault(name, record)
    return found


def split_odd(values: Mapping[K, Hashable]) -> tuple[list[K], list[K]]:
    """Return the keys with the commonest value, and the others, those with the commoner values first."""
    if not values:
        return [], []
    sides: dict[Hashable, list[K]] = {}
    for key, value in sorted(values.items()):
        sides.setdefault(value, []).append(key)
    ordered = sorted(sides.values(), key=lambda side: (-len(side), side))
    return ordered[0], [key for side in ordered[1:] for key in side]


def ranks_and_hosts(name: str, records: Iterable[Record], state: JobState) -> dict[str, Value]:
    """Return the known ranks and hosts of ``records`` as fields. ``late`` gives ``late`` and ``late_hosts``."""
    records = [*records]
    ranks = {rank for e in records if (rank := state.processes.rank_of(e)) is not None}
    hosts = {host for e in records if (host := state.processes.host_of(e))}
    return {name: tuple(sorted(ranks)), f"{name}_hosts": tuple(sorted(hosts))}


def says_done(record: Record) -> bool:
    """Return whether the line of a phase says that it is over, such as ``Saved checkpoint 40``."""
    return _DONE.search(record.text) is not None
