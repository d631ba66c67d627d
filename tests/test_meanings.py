"""Laws of what records mean: a new dialect says it itself, and no list in the reasoning is to be touched."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from logdoctor import reasoning
from logdoctor.model import Meaning
from logdoctor.parsers import dialect_modules, line_parser, parse_text, records

BAR = "Saving checkpoint:  50%|█████     | 1/2 [00:01<00:01,  1.00s/it]\n"


def asked_for(tree: ast.AST) -> Iterator[str]:
    """The meanings that a module asks events for: ``"…" in event.means``, or one of a set of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("means"):
            yield ast.literal_eval(node.left)
        elif isinstance(node, ast.AnnAssign) and "Meaning" in ast.unparse(node.annotation) and node.value:
            yield from (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))


def told() -> list[tuple[str, tuple[Meaning, ...]]]:
    """Each kind that means anything, with its meanings, as the dialects say it."""
    return [pair for module in dialect_modules() for pair in getattr(module, "MEANS", {}).items()]


def test_what_a_kind_means_is_told_once():
    assert [kind for kind, times in Counter(kind for kind, _ in told()).items() if times > 1] == []


def test_what_means_something_is_the_kind_of_some_record():
    assert {kind for kind, _ in told()} <= {record.kind for record in records()}


def test_a_kind_means_the_same_thing_once():
    assert [kind for kind, means in told() if len(set(means)) < len(means)] == []


def test_every_meaning_is_of_some_kind_and_asked_for_somewhere():
    sources = Path(reasoning.__file__).parent.rglob("*.py")
    asked = {word for source in sources for word in asked_for(ast.parse(source.read_text(encoding="utf-8")))}
    said = {word for _, means in told() for word in means}
    assert asked == said == set(get_args(Meaning))


def test_an_event_means_what_its_kind_means():
    (event,) = parse_text("terminate called after throwing an instance of 'std::bad_alloc'\n")
    assert event.means == ("own end",)


def test_a_block_that_turns_out_to_be_of_another_kind_means_what_that_one_means(monkeypatch):
    monkeypatch.setattr(line_parser, "meanings", lambda: {"progress.step": ("done",), "progress.phase": ("once",)})
    (event,) = parse_text(BAR)
    assert (event.kind, event.means) == ("progress.phase", ("once",))
