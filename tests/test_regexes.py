"""Compiled expressions come from the store, and a bad store is ignored."""

from __future__ import annotations

import msgspec
import pytest

from logdoctor.pack import cached_files, regexes


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """Clear all state, as in a new process."""
    regexes.compiled.cache_clear()
    regexes._store.cache_clear()
    regexes._unsaved.clear()
    regexes._damaged_keys.clear()


def count_compiled(monkeypatch) -> list[str]:
    patterns: list[str] = []
    compile_it = regexes.regex.compile
    monkeypatch.setattr(regexes.regex, "compile", lambda p, f=0: patterns.append(p) or compile_it(p, f))
    regexes._rebuild()
    patterns.clear()
    return patterns


def test_stored_expression_is_not_compiled_again(store, monkeypatch):
    pattern = r"rank (?P<rank>\d+) (?:left|died)"
    regexes.compiled(pattern)
    regexes.keep()
    forget()
    patterns = count_compiled(monkeypatch)
    assert regexes.compiled(pattern).search("rank 7 died")["rank"] == "7"
    assert patterns == []


def test_a_damaged_expression_is_compiled_and_stored_again(store, monkeypatch):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("*.expressions")
    damaged = msgspec.msgpack.encode(["no", "expression"])
    cached_files.write(file, msgspec.msgpack.encode(dict.fromkeys(regexes._read(file), damaged)))
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"
    regexes.keep()
    forget()
    patterns = count_compiled(monkeypatch)
    regexes.compiled("lost (?P<what>link)")
    assert patterns == []


def test_full_store_of_other_expressions_is_started_anew(store, monkeypatch):
    for number in range(3):
        regexes.compiled(f"old {number}")
    regexes.keep()
    forget()
    monkeypatch.setattr(regexes, "MAX_EXPRESSIONS", 3)
    regexes.compiled("new")
    regexes.keep()
    (file,) = store.glob("*.expressions")
    assert list(regexes._read(file)) == [b"0 new"]


@pytest.mark.parametrize("size", [0, 3, 8, 20, -1])
def test_cut_store_is_ignored(store, size):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("*.expressions")
    file.write_bytes(file.read_bytes()[:size])
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"


@pytest.mark.parametrize("size", [b"\xff" * 8, b"\x7f" * 5 + b"\0\0\0", b"\0" * 8])
def test_store_with_a_wrong_head_is_ignored(store, size):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("*.expressions")
    file.write_bytes(size + file.read_bytes()[8:])
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"


def test_stored_expression_is_rebuilt_with_the_original_arguments(store):
    pattern = r"[\w.-]+:\d+ NCCL WARN (?P<text>.*)"
    regexes.compiled(pattern)
    regexes.keep()
    forget()
    _, arguments = regexes._rebuild()
    assert arguments(regexes.compiled(pattern))[1] == arguments(regexes.regex.compile(pattern))[1]
