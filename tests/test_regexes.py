"""Compiled regular expressions come from the store, and what is wrong with the store is no matter."""

from __future__ import annotations

import msgspec
import pytest

from logdoctor import cached_entries, regexes
from logdoctor.cached_entries import CachedEntries, digest


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """As a new process begins."""
    regexes.compiled.cache_clear()
    regexes._store.cache_clear()
    regexes._unsaved.clear()
    regexes._damaged_keys.clear()


def count_compiled(monkeypatch) -> list[str]:
    seen: list[str] = []
    compile_it = regexes.regex.compile
    monkeypatch.setattr(regexes.regex, "compile", lambda p, f=0: seen.append(p) or compile_it(p, f))
    regexes._rebuild()
    seen.clear()
    return seen


def test_what_was_compiled_once_is_not_compiled_again(store, monkeypatch):
    pattern = r"rank (?P<rank>\d+) (?:left|died)"
    regexes.compiled(pattern)
    regexes.keep()
    forget()
    seen = count_compiled(monkeypatch)
    assert regexes.compiled(pattern).search("rank 7 died")["rank"] == "7"
    assert seen == []


def test_a_damaged_expression_is_compiled_and_stored_again(store, monkeypatch):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("expressions-*")
    damaged = msgspec.msgpack.encode(["no", "expression"])
    cached_entries.write(file, dict.fromkeys(CachedEntries(file).all(), damaged))
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"
    regexes.keep()
    forget()
    seen = count_compiled(monkeypatch)
    regexes.compiled("lost (?P<what>link)")
    assert seen == []


def test_a_store_that_is_full_of_others_is_begun_anew(store, monkeypatch):
    for number in range(3):
        regexes.compiled(f"old {number}")
    regexes.keep()
    forget()
    monkeypatch.setattr(regexes, "MAX_EXPRESSIONS", 3)
    regexes.compiled("new")
    regexes.keep()
    (file,) = store.glob("expressions-*")
    assert list(CachedEntries(file).all()) == [digest("0 new")]


@pytest.mark.parametrize("size", [0, 3, 8, 20, -1])
def test_a_store_that_was_cut_is_as_good_as_none(store, size):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("expressions-*")
    file.write_bytes(file.read_bytes()[:size])
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"


@pytest.mark.parametrize("size", [b"\xff" * 8, b"\x7f" * 5 + b"\0\0\0", b"\0" * 8])
def test_a_store_with_a_wrong_index_is_as_good_as_none(store, size):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("expressions-*")
    file.write_bytes(size + file.read_bytes()[8:])
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"


def test_a_stored_expression_is_rebuilt_with_what_the_package_gave(store):
    pattern = r"[\w.-]+:\d+ NCCL WARN (?P<text>.*)"
    regexes.compiled(pattern)
    regexes.keep()
    forget()
    _, arguments = regexes._rebuild()
    assert arguments(regexes.compiled(pattern))[1] == arguments(regexes.regex.compile(pattern))[1]
