"""Compiled regular expressions come from the store, and what is wrong with the store is no matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdoctor import regexes

KEYS = st.binary(min_size=1, max_size=8).filter(lambda key: not {*b"\t\n"} & {*key})
VALUES = st.binary(max_size=8).filter(lambda value: b"\n" not in value)


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
    file.write_bytes(file.read_bytes().replace(b'{"t":', b'{"x":'))
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
    assert [line.partition(b"\t")[0] for line in file.read_bytes().splitlines()] == [b'["new", 0]']


@given(kept=st.dictionaries(KEYS, VALUES, max_size=30), asked=KEYS)
def test_looking_up_by_halves_finds_what_a_dictionary_finds(kept, asked):
    data = b"".join(key + b"\t" + made + b"\n" for key, made in sorted(kept.items()))
    assert {key: regexes._found(data, key) for key in (*kept, asked)} == {key: kept.get(key) for key in (*kept, asked)}
