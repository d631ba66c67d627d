"""Laws of lifecycle signs: each format states its own, and the reasoning keeps no list."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from format_probe import formats

from logdoctor import model, reasoning
from logdoctor.examination import SHARED
from logdoctor.logs import kinds, line_parser, parse_text
from logdoctor.logs.about import add_subject
from logdoctor.model import LifecycleSign, Mark, Tell

LIMIT = re.compile(r"(?i)timed out|time-?out after|socket timeout|likely a timeout|failed to pass")
AWAITED = re.compile(r"(?i)store|barrier|UniqueId|keys:|waitForInput|waiting for clients")
CONNECTS = re.compile(r"(?i)connect\b|exit barrier")
"""Words of a connection that was not made, and of torchrun's own barrier at the end."""
BAR = "Saving checkpoint:  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]\n"


def words_used_in(tree: ast.AST) -> Iterator[str]:
    """Yield all texts of a module."""
    yield from (
        node.value.removeprefix("tells ")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def kinds_with_signs() -> list[tuple[str, tuple[LifecycleSign, ...]]]:
    """Return each kind that has signs, with its signs."""
    return [pair for file in formats().values() for pair in file.lifecycle_signs.items()]


def test_each_kind_has_its_signs_in_one_format():
    assert [kind for kind, times in Counter(kind for kind, _ in kinds_with_signs()).items() if times > 1] == []


def test_each_kind_with_signs_is_a_kind_of_records():
    assert {kind for kind, _ in kinds_with_signs()} <= kinds()


def test_each_kind_lists_a_sign_once():
    assert [kind for kind, signs in kinds_with_signs() if len(set(signs)) < len(signs)] == []


def samples_of_limits() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each failing sample of a time limit on a store, an id or a barrier, with the kinds of its records."""
    for file in formats().values():
        for sample in file.samples:
            text = sample.log
            if "\n" not in text and LIMIT.search(text) and AWAITED.search(text) and not CONNECTS.search(text):
                yield text, tuple(sample.records)


def test_whatever_tells_a_time_limit_on_a_store_an_id_or_a_barrier_waits():
    waits = {kind for kind, signs in kinds_with_signs() if any(sign.mark == "waits" for sign in signs)}
    samples = [*samples_of_limits()]
    assert len(samples) >= 6
    assert [text for text, kinds in samples if waits.isdisjoint(kinds)] == []


@pytest.mark.parametrize("words", [Mark, Tell], ids=["mark", "tells"])
def test_each_mark_and_each_thing_told_belongs_to_a_kind_and_is_used(words):
    readers = [Path(model.__file__).parent / "log.py", Path(line_parser.__file__).parent / "object_states.py"]
    sources = [*readers, *Path(reasoning.__file__).parent.rglob("*.py")]
    used = {word for source in sources for word in words_used_in(ast.parse(source.read_text(encoding="utf-8")))}
    by_words = add_subject((LifecycleSign("fails"),), "cancelled, the connection was closed by peer")
    signs = [*(sign for _, signs in kinds_with_signs() for sign in signs), *by_words, SHARED]
    stated = {word for sign in signs for word in (sign.mark, *sign.tells)}
    assert [word for word in get_args(words) if word and (word not in used or word not in stated)] == []


def test_record_carries_the_signs_of_its_kind():
    (record,) = parse_text("terminate called after throwing an instance of 'std::bad_alloc'\n")
    assert record.signs == (LifecycleSign("fails"),)


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("RuntimeError: Connection reset by peer", "about peers"),
        ("RuntimeError: stopped by SIGUSR1 before the deadline", "about order"),
    ],
)
def test_last_words_of_a_process_tell_what_they_are_about(line, subject):
    (record,) = parse_text(line + "\n")
    assert record.tells(subject)


def test_record_whose_reader_changes_the_kind_carries_the_signs_of_that_kind(monkeypatch):
    monkeypatch.setattr(
        line_parser,
        "lifecycle_signs",
        lambda: {"progress.step": (LifecycleSign("works"),), "progress.phase": (LifecycleSign("busy"),)},
    )
    (record,) = parse_text(BAR)
    assert (record.kind, record.signs) == ("progress.phase", (LifecycleSign("busy"),))
