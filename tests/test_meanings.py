"""Laws of lifecycle signs: each format states its own, and the reasoning keeps no list."""

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


def signs_used_in(tree: ast.AST) -> Iterator[str]:
    """Yield the signs that a module asks for: ``"…" in event.means``, or a set of them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("means"):
            yield ast.literal_eval(node.left)
        elif isinstance(node, ast.AnnAssign) and "Meaning" in ast.unparse(node.annotation) and node.value:
            yield from (part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant))


def kinds_with_signs() -> list[tuple[str, tuple[Meaning, ...]]]:
    """Return each kind that has signs, with its signs."""
    return [pair for module in dialect_modules() for pair in getattr(module, "MEANS", {}).items()]


def test_each_kind_has_its_signs_in_one_format():
    assert [kind for kind, times in Counter(kind for kind, _ in kinds_with_signs()).items() if times > 1] == []


def test_each_kind_with_signs_is_the_kind_of_a_record_pattern():
    assert {kind for kind, _ in kinds_with_signs()} <= {record.kind for record in records()}


def test_each_kind_lists_a_sign_once():
    assert [kind for kind, means in kinds_with_signs() if len(set(means)) < len(means)] == []


def test_each_sign_belongs_to_a_kind_and_is_used():
    sources = Path(reasoning.__file__).parent.rglob("*.py")
    used = {word for source in sources for word in signs_used_in(ast.parse(source.read_text(encoding="utf-8")))}
    stated = {word for _, means in kinds_with_signs() for word in means}
    assert used == stated == set(get_args(Meaning))


def test_record_carries_the_signs_of_its_kind():
    (event,) = parse_text("terminate called after throwing an instance of 'std::bad_alloc'\n")
    assert event.means == ("own end",)


def test_record_whose_reader_changes_the_kind_carries_the_signs_of_that_kind(monkeypatch):
    monkeypatch.setattr(line_parser, "meanings", lambda: {"progress.step": ("done",), "progress.phase": ("once",)})
    (event,) = parse_text(BAR)
    assert (event.kind, event.means) == ("progress.phase", ("once",))
