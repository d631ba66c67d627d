"""Docstrings of modules, classes, functions and values: form of the first word."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("logdoctor", "tools", "benchmarks", "tests", "docs", "corpus/lab")
PROGRAMS = ROOT / "corpus/lab/programs"  # their lines stand in captured tracebacks
FILES = [path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.py")) if PROGRAMS not in path.parents]
QUESTION = re.compile(r"\s*(What|Who|Whose|Whoever|Where|When|How|Which|Whether)\b")


def docstrings(path):
    """Yield each string that stands as a statement, with its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstring_begins_with_no_question_word(folder):
    files = [path for path in FILES if ROOT / folder in path.parents]
    assert files
    texts = [(f"{path.relative_to(ROOT)}:{line}", text) for path in files for line, text in docstrings(path)]
    assert [(place, text[:60]) for place, text in texts if QUESTION.match(text)] == []
