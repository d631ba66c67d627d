"""Ratchets of the reasoning: functions without effect may only fall, and heuristics name cases that need them."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from logdoctor import reasoning

TOP = Path(__file__).parent.parent
ROOM = Path(reasoning.__file__).parent
LIST = TOP / "tools" / "without_effect.txt"
HEURISTICS = ("causality/arrows.py", "lifecycle/refutation.py")
"""Modules whose heuristics name cases. More may follow."""
CASE = re.compile(r"corpus/([\w.-]*\w)")


def listed() -> tuple[int, list[str]]:
    head, *names = LIST.read_text("utf-8").splitlines()
    return int(re.sub(r"\D", "", head)), names


def test_functions_without_effect_exist():
    sys.path.insert(0, str(TOP / "tools"))
    try:
        from mutants import functions
    finally:
        sys.path.remove(str(TOP / "tools"))
    assert set(listed()[1]) <= functions().keys(), "run: python tools/mutants.py prune"


def test_functions_without_effect_are_not_more_than_before():
    most, names = listed()
    assert len(names) <= most
    assert names == sorted(set(names))


def notes(module: str) -> dict[str, list[str]]:
    """Return the cases that the docstring of each function names."""
    tree = ast.parse((ROOM / module).read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    told = {node.name: (ast.get_docstring(node) or "").partition("Cases: ")[2] for node in functions}
    return {name: CASE.findall(text) for name, text in told.items() if text}


@pytest.mark.parametrize("module", HEURISTICS)
def test_heuristics_name_two_cases_and_one_of_them_is_captured(module):
    named = notes(module)
    assert named
    for name, cases in named.items():
        made = [(TOP / "corpus" / case / "case.yaml").read_text("utf-8") for case in cases]
        assert len(made) > 1, name
        assert any("made: captured" in text for text in made), name
