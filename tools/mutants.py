"""List the functions of the reasoning that change no answer, or the mutants of a module that no test notices.

    python tools/mutants.py effect [CASES...]             write tools/without_effect.txt (`make mutants`)
    python tools/mutants.py prune                         drop functions from that list that are gone
    python tools/mutants.py tests MODULE... -- TESTS...   run the tests against each mutant of the modules

A function is without effect if its neutral twin (it returns None, False, 0, "" or nothing, by its annotation) changes
no answer to a case, in English and Chinese. Silence is no proof that it may go: read it first. The list may only
shrink; a test reads its first line. A mutant of a module differs by one operator, condition or constant, or has one
neutral twin. Each one that the tests do not notice is printed: a test is missing, or a part is needless.
"""

from __future__ import annotations

import ast
import copy
import importlib
import os
import pickle
import pkgutil
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
import replay

import logdoctor.reasoning
from logdoctor.model.own_errors import DEBUG

LIST = Path(__file__).with_name("without_effect.txt")
HEAD = re.compile(r"# at most (\d+) functions\n")
TIMEOUT, LONGEST = 20, 600
"""Seconds for an answer, and for all tests with one mutant."""
NEUTRAL: Mapping[str, Any] = {
    **dict.fromkeys(("Iterator", "Generator", "tuple", "Sequence", "Collection", "Iterable"), ()),
    "bool": False,
    "int": 0,
    "float": 0.0,
    "str": "",
    "list": [],
    "dict": {},
    "Mapping": {},
    "set": frozenset(),
    "frozenset": frozenset(),
    "Reach": {},
}
"""Values that tell nothing, by the annotation of a function."""


def main() -> None:
    os.environ[DEBUG] = "1"
    command, *rest = sys.argv[1:]
    if command == "effect":
        keep(list_without_effect(rest or ["corpus"]))
    elif command == "prune":
        keep([name for name in LIST.read_text("utf-8").splitlines()[1:] if name in functions()])
    elif command == "tests":
        at = rest.index("--")
        raise SystemExit(run_tests(rest[:at], rest[at + 1 :]))
    else:
        raise SystemExit(__doc__)


def keep(names: Sequence[str]) -> None:
    """Write the list. Its number may only fall."""
    found = HEAD.match(LIST.read_text("utf-8")) if LIST.is_file() else None
    most = min(len(names), int(found[1])) if found else len(names)
    LIST.write_text(f"# at most {most} functions\n" + "".join(f"{name}\n" for name in sorted(names)), "utf-8")
    print(f"{len(names)} functions without effect, at most {most}")


# ── functions ───────────────────────────────────────────────────────────────────────────────────────────────────────


def functions() -> dict[str, FunctionType]:
    """Return the functions of the reasoning by their names, without special methods."""
    found = {}
    for info in pkgutil.walk_packages(logdoctor.reasoning.__path__, "logdoctor.reasoning."):
        module = importlib.import_module(info.name)
        found.update(_functions_of(module))
    return found | _functions_of(logdoctor.reasoning)


def _functions_of(module: ModuleType) -> dict[str, FunctionType]:
    owners: list[tuple[str, Any]] = [("", module)]
    owners += [(f"{n}.", c) for n, c in vars(module).items() if isinstance(c, type) and c.__module__ == module.__name__]
    found = {}
    for prefix, owner in owners:
        for name, value in vars(owner).items():
            function = _unwrap(value)
            if function and function.__module__ == module.__name__ and not name.startswith("__"):
                found[f"{module.__name__.removeprefix('logdoctor.')}:{prefix}{name}"] = function
    return {name: f for name, f in found.items() if f.__name__ == name.rpartition(":")[2].rpartition(".")[2]}


def _unwrap(value: Any) -> FunctionType | None:
    value = getattr(value, "fget", None) or getattr(value, "__wrapped__", None) or getattr(value, "__func__", value)
    return value if isinstance(value, FunctionType) and not value.__code__.co_freevars else None


def neutral(function: FunctionType) -> CodeType:
    """Return the code of a function that does nothing and tells nothing."""
    told = str(function.__annotations__.get("return", "None"))
    value = None if "None" in told.split(" | ") else NEUTRAL.get(told.partition("[")[0])
    kind = "iter(())" if told.startswith(("Iterator", "Generator")) else repr(value)
    scope: dict[str, Any] = {}
    exec(f"def twin(*_, **__): return {kind}", scope)
    return scope["twin"].__code__


class Changed:
    """Give a function other code, for a while."""

    def __init__(self, function: FunctionType, code: CodeType) -> None:
        self.function, self.code, self.own = function, code, function.__code__

    def __enter__(self) -> None:
        self.function.__code__ = self.code
        forget()

    def __exit__(self, *_: object) -> None:
        self.function.__code__ = self.own
        forget()


def forget() -> None:
    """Empty the caches of the reasoning."""
    for name, module in [*sys.modules.items()]:
        if name.startswith("logdoctor.reasoning"):
            for value in [*vars(module).values()]:
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


# ── functions without effect ────────────────────────────────────────────────────────────────────────────────────────

CASES: list[tuple[replay.ReadCase, dict[str, Any]]] = []
CALLED: dict[str, list[int]] = {}
"""Numbers of the cases that call a function."""


def list_without_effect(folders: Sequence[str]) -> list[str]:
    by_code = {function.__code__: name for name, function in functions().items()}
    for number, pickled in enumerate(replay.kept(folders)):
        case = pickle.loads(pickled)
        answers = {lang: case.answer([lang], shown=False) for lang in replay.LANGUAGES}
        CASES.append((case, answers))
        for name in _called(case, by_code):
            CALLED.setdefault(name, []).append(number)
    with get_context("fork").Pool(2) as pool:
        without = pool.imap_unordered(_is_without_effect, sorted(functions()))
        return sorted(name for name, silent in without if silent)


def _called(case: replay.ReadCase, by_code: Mapping[CodeType, str]) -> set[str]:
    called = set()

    def watch(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in by_code:
            called.add(by_code[frame.f_code])

    sys.setprofile(watch)
    case.answer(shown=False)
    sys.setprofile(None)
    return called


def _is_without_effect(name: str) -> tuple[str, bool]:
    function = functions()[name]
    numbers = CALLED.get(name, [])
    with Changed(function, neutral(function)):
        same = all(_is_same(number, lang) for lang in replay.LANGUAGES for number in numbers)
    return name, same


def _is_same(number: int, lang: str) -> bool:
    case, answers = CASES[number]
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(TIMEOUT)
    try:
        return case.answer([lang], shown=False) == answers[lang]
    finally:
        signal.alarm(0)


def _give_up(*_: object) -> None:
    raise TimeoutError


# ── mutants that no test notices ────────────────────────────────────────────────────────────────────────────────────

SWAPPED = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
}
Mutant = tuple[str, FunctionType, CodeType]
Change = Callable[[ast.AST], None]


def mutants(module: ModuleType) -> Iterator[Mutant]:
    """Yield the mutants of the functions of a module."""
    source = Path(str(module.__file__)).read_text("utf-8")
    tree = ast.parse(source)
    for name, function in _functions_of(module).items():
        yield f"{name}: neutral", function, neutral(function)
        path = name.partition(":")[2].split(".")
        for number, node in enumerate(_nodes(tree, path)):
            for told, change in _changes(node):
                other = copy.deepcopy(tree)
                change(_nodes(other, path)[number])
                code = compile(ast.fix_missing_locations(other), str(module.__file__), "exec", dont_inherit=True)
                yield f"{name}, line {getattr(node, 'lineno', '?')}: {told}", function, _code_of(code, path)


def _nodes(tree: ast.AST, path: Sequence[str]) -> list[Any]:
    """Return the nodes of the body of a function."""
    for name in path:
        tree = next(node for node in tree.body if getattr(node, "name", "") == name)  # type: ignore[attr-defined]
    return [node for statement in tree.body for node in ast.walk(statement)]  # type: ignore[attr-defined]


def _code_of(code: CodeType, path: Sequence[str]) -> CodeType:
    for name in path:
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Yield what may be changed at a node, as told and as done."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if swapped := SWAPPED.get(type(op)):
                yield f"{ast.unparse(node)}: {swapped.__name__}", lambda n, i=i, s=swapped: n.ops.__setitem__(i, s())
    elif isinstance(node, ast.BoolOp):
        swapped = SWAPPED[type(node.op)]
        yield f"{ast.unparse(node)}: {swapped.__name__}", lambda n: setattr(n, "op", swapped())
        for i, value in enumerate(node.values):
            yield f"{ast.unparse(node)}: without {ast.unparse(value)}", lambda n, i=i: _leave_out(n, i)
    elif isinstance(node, ast.BinOp) and (swapped := SWAPPED.get(type(node.op))):
        yield f"{ast.unparse(node)}: {swapped.__name__}", lambda n: setattr(n, "op", swapped())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"{ast.unparse(node)}: no not", lambda n: setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))
    elif isinstance(node, ast.If | ast.IfExp):
        yield (
            f"if not {ast.unparse(node.test)}",
            lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test)),
        )
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        other = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} is {other}", lambda n: setattr(n, "value", other)


def _leave_out(node: ast.BoolOp, number: int) -> None:
    node.values[number] = ast.Constant(isinstance(node.op, ast.And))


class AgainstMutants:
    """Run the collected tests, then again in a child process for each mutant."""

    def __init__(self, changed: Sequence[Mutant]) -> None:
        self.changed, self.survivors = changed, list[str]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        failed = self._first_failed(session.items)
        if failed:
            raise session.Failed(f"a test fails without a mutant: {failed}")
        for told, function, code in self.changed:
            if not self._is_noticed(session.items, function, code):
                self.survivors.append(told)
                print(f"\nsurvives: {told}", flush=True)
        return True

    def _is_noticed(self, items: Sequence[Any], function: FunctionType, code: CodeType) -> bool:
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1] != 0
        signal.alarm(LONGEST)
        with Changed(function, code):
            os._exit(bool(self._first_failed(items)))

    def _first_failed(self, items: Sequence[Any]) -> str:
        """Run the tests, but do not end the session, and return the name of the first that fails."""
        from _pytest.runner import runtestprotocol

        for item, following in zip(items, (*items[1:], items[0]), strict=True):
            item._initrequest()  # noqa: SLF001 - as plugins do that run a test again
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return str(item.nodeid)
        return ""


def run_tests(modules: Sequence[str], tests: Sequence[str]) -> int:
    changed = [m for name in modules for m in mutants(importlib.import_module(f"logdoctor.reasoning.{name}"))]
    plugin = AgainstMutants(changed)
    pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[plugin])
    print(f"{len(plugin.survivors)} of {len(changed)} mutants survive")
    return bool(plugin.survivors)


if __name__ == "__main__":
    main()
