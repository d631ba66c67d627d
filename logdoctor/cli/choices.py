"""Names that options take, and with which shells complete them. Imports of other rooms would slow every help."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from logdoctor.pack.module_names import module_names

_PACKAGE = Path(__file__).resolve().parent.parent
LANGUAGES = tuple(sorted(name.partition(".")[0] for name in os.listdir(_PACKAGE / "render" / "words")))  # noqa: PTH208


def format_names(*folder: str) -> list[str]:
    """Return the names of the formats in a folder of the package."""
    return module_names([os.fspath(_PACKAGE.joinpath(*folder))])


def one_of(names: Iterable[str], default: str = "") -> str:
    """Return ``text (default), html or json``."""
    *others, last = (name for name in names if name != default)
    first = [f"{default} (default)"] if default else []
    return f"{', '.join([*first, *others])} or {last}"


def among(names: Iterable[str]) -> Callable[[], list[str]]:
    """Return the ``autocompletion`` of an option that takes one of ``names``."""
    known = [*names]
    return lambda: known


def among_keys(module: str, table: str) -> Callable[[], list[str]]:
    """Return the ``autocompletion`` of an option that takes a key of a table, which is imported when a shell asks."""

    def complete() -> list[str]:
        from importlib import import_module

        return [*getattr(import_module(module), table)]

    return complete


def complete_rule(ctx: Any) -> list[str]:
    """Return the ids of the rules, with those of ``--rules``. File names tell them, so no rule is read."""
    return sorted({file.id for file in _rule_files(ctx)})


def complete_cause(ctx: Any, incomplete: str) -> list[str]:
    """Return the signatures and their families, each behind those that are typed already (``net,cuda.oom``)."""
    before = incomplete[: incomplete.rfind(",") + 1]
    signatures = {file.signature or file.id for file in _rule_files(ctx)}
    return [before + name for name in sorted(signatures | {name.partition(".")[0] for name in signatures})]


def complete_word(ctx: Any, incomplete: str) -> list[str]:
    """Return what ``logdoctor explain`` knows: rules, catalogues and codes. Behind a catalogue: its codes."""
    from logdoctor.codes.search import code_names, find_catalogues
    from logdoctor.codes.table import names

    before = ctx.params.get("words")
    if before:
        return [entry.code for found in find_catalogues(" ".join(before)) for entry in found.entries]
    return [*complete_rule(ctx), *names(), *(sorted(code_names()) if incomplete else ())]


def _rule_files(ctx: Any) -> list[Any]:
    from logdoctor.ruleset import rule_files, shipped_rules

    own = ctx.params.get("rules") or ()
    return [file for folder in (shipped_rules(), *own) for file in rule_files(Path(folder))]
