"""Compiled regular expressions come from the store, and what is wrong with the store is no matter."""

from __future__ import annotations

import msgspec
import pytest

from logdoctor import regexes


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CACHE", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """As a new process begins."""
    regexes.compiled.cache_clear()
    regexes._stored.cache_clear()
    regexes._new.clear()
    regexes._bad.clear()


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
    kept = msgspec.msgpack.decode(file.read_bytes())
    file.write_bytes(msgspec.msgpack.encode({key: ["no", "expression"] for key in kept}))
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
    monkeypatch.setattr(regexes, "MOST", 3)
    regexes.compiled("new")
    regexes.keep()
    (file,) = store.glob("expressions-*")
    assert list(msgspec.msgpack.decode(file.read_bytes())) == ["0 new"]


@pytest.mark.parametrize("damaged", [b"", b"\xff", b"\xc1\x00", msgspec.msgpack.encode([1, 2])])
def test_a_damaged_store_is_as_good_as_none(store, damaged):
    regexes.compiled("lost (?P<what>link)")
    regexes.keep()
    (file,) = store.glob("expressions-*")
    file.write_bytes(damaged)
    forget()
    assert regexes.compiled("lost (?P<what>link)").search("lost link")["what"] == "link"


def test_a_stored_expression_is_rebuilt_with_what_the_package_gave(store):
    pattern = r"[\w.-]+:\d+ NCCL WARN (?P<text>.*)"
    regexes.compiled(pattern)
    regexes.keep()
    forget()
    _, arguments = regexes._rebuild()
    assert arguments(regexes.compiled(pattern))[1] == arguments(regexes.regex.compile(pattern))[1]
