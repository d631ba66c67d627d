"""Laws of lifecycle signs: each format states its own, and the reasoning keeps no list."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from format_probe import formats

from logdoctor import reasoning
from logdoctor.logs import line_parser, parse_text, record_patterns
from logdoctor.logs.about import add_subject
from logdoctor.model import LifecycleSign

BAR = "Saving checkpoint:  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]\n"


def signs_used_in(tree: ast.AST) -> Iterator[str]:
    """Yield the signs that a module asks for: ``"…" in record.signs``, or a set of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("signs"):
            yield ast.literal_eval(node.left)
        elif isinstance(node, ast.AnnAssign) and "LifecycleSign" in ast.unparse(node.annotation) and node.value:
            yield from (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))


def kinds_with_signs() -> list[tuple[str, tuple[LifecycleSign, ...]]]:
    """Return each kind that has signs, with its signs."""
    return [pair for file in formats().values() for pair in file.lifecycle_signs.items()]


def test_each_kind_has_its_signs_in_one_format():
    assert [kind for kind, times in Counter(kind for kind, _ in kinds_with_signs()).items() if times > 1] == []


def test_each_kind_with_signs_is_the_kind_of_a_record_pattern():
    assert {kind for kind, _ in kinds_with_signs()} <= {pattern.kind for pattern in record_patterns()}


def test_each_kind_lists_a_sign_once():
    assert [kind for kind, signs in kinds_with_signs() if len(set(signs)) < len(signs)] == []


def test_each_sign_belongs_to_a_kind_and_is_used():
    sources = Path(reasoning.__file__).parent.rglob("*.py")
    used = {sign for source in sources for sign in signs_used_in(ast.parse(source.read_text(encoding="utf-8")))}
    by_words = add_subject(("own end",), "cancelled, the connection was closed by peer")
    stated = {sign for _, signs in kinds_with_signs() for sign in signs} | set(by_words)
    assert used == stated == set(get_args(LifecycleSign))


def test_record_carries_the_signs_of_its_kind():
    (record,) = parse_text("terminate called after throwing an instance of 'std::bad_alloc'\n")
    assert record.signs == ("own end",)


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("RuntimeError: Connection reset by peer", "about peers"),
        ("RuntimeError: stopped by SIGUSR1 before the deadline", "about order"),
    ],
)
def test_last_words_of_a_process_tell_what_they_are_about(line, sign):
    (record,) = parse_text(line + "\n")
    assert sign in record.signs


def test_record_whose_reader_changes_the_kind_carries_the_signs_of_that_kind(monkeypatch):
    monkeypatch.setattr(
        line_parser, "lifecycle_signs", lambda: {"progress.step": ("done",), "progress.phase": ("once",)}
    )
    (record,) = parse_text(BAR)
    assert (record.kind, record.signs) == ("progress.phase", ("once",))
