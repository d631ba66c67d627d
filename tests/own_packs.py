"""Files of rules, settings and models that are hostile, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

LEVELS = 13
DEEP = 90_000


def _write(text: str | bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(text.encode() if isinstance(text, str) else text) and None


def _alias_bomb() -> str:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, LEVELS))
    return f"a0: &a0 [{', '.join('x' * 10)}]\n{levels}"


YAML_FILES: dict[str, str] = {
    "deep list": "title: ok\na: " + "[" * DEEP + "]" * DEEP,
    "deep table": "title: ok\na: " + "{a: " * DEEP + "}" * DEEP,
    "deep dashes": "- " * DEEP,
    "deep keys": "? " * DEEP,
    "unclosed": "[" * DEEP,
    "aliases": _alias_bomb(),
    "alias of itself": "a: &a [*a, *a]",
    "alias as key": "a: &a [*a]\n? *a\n: b",
    "unknown alias": "title: *gone",
    "list as key": "? [a, b]\n: c",
    "many": "- a\n" * 200_000,
    "object": "title: !!python/object/apply:os.system [ls]",
    "name": "title: !!python/name:os.system",
    "set": "title: !!set {a, b}",
    "long number": "title: " + "7" * 5000,
    "long hex": "title: 0x" + "f" * 9000,
    "no day": "title: 2001-99-99",
    "no truth": "title: !!bool perhaps",
    "no time": "title: !!timestamp noon",
    "two documents": "title: a\n---\ntitle: b",
    "control": "title: a\nid: \x01",
}
"""YAML of which each must be refused with a line."""

FILES: dict[str, Callable[[Path], None]] = {
    **{name: _write(text) for name, text in YAML_FILES.items()},
    "binary": _write(b"title: a\nid: \xff\xfe\xfa"),
    "huge": _write("# " + "x" * (1 << 20)),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "gone": lambda path: path.symlink_to("nowhere"),
    "circle": lambda path: path.symlink_to(path.name),
}
"""Function that makes each file."""

NOT_FILES = ("huge", "endless", "pipe", "folder", "gone", "circle")
"""Names of `FILES` whose faults have no line."""
