"""The extractors: what each sample of each of them tells, and laws over any text."""

from __future__ import annotations

import importlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdoctor.examination import extractors as package
from logdoctor.examination.extractors import LONGEST, MOST_FACTS, Extractor, Found, extractors, facts_of, words_of
from logdoctor.model import Line, Said, Source, Value
from logdoctor.pack.module_names import module_names

MODULES = {name: importlib.import_module(f"{package.__name__}.{name}") for name in module_names(package.__path__)}
SAMPLES = [(name, text, facts) for name, module in MODULES.items() for text, facts in module.SAMPLES.items()]
PLAIN = [
    "step 118/2000 loss 3.412 lr 1.2e-04 grad norm 0.91",
    "Epoch 3: 100%|##########| 500/500 [01:20<00:00, 6.2it/s, loss=2.1]",
    " Assembling block           1",
    "============================================================",
    "Reading the mesh on the first run",
    "wrote final state",
    "    results = self.pool.collect()",
    "the quick brown fox jumps over the lazy dog",
    "",
]
"""Lines of jobs that work. None tells a fact that an extractor may take."""
PIECES = sorted({piece for _, text, _ in SAMPLES for piece in text.split()})


def _said(text: str) -> Said:
    return Said(Line("job.log", 1, text), text, Source(), "proof", "same")


def _of_module(name: str, text: str) -> list[str]:
    """Return the facts that the extractors of a module find, behind their cheap test."""
    found = [
        _show(extractor, fact)
        for extractor in vars(MODULES[name]).values()
        if isinstance(extractor, Extractor) and (not extractor.words or extractor.words & words_of(text))
        for fact in extractor.extract(text)
    ]
    return list(dict.fromkeys(found))


def _show(extractor: Extractor, fact: Found) -> str:
    role = f".{fact.role}" if fact.role else ""
    unit = f" {fact.unit}" if fact.unit else ""
    of = f" ({fact.of})" if fact.of else ""
    return f"{fact.type or extractor.type}{role}={_text(fact.value)}{unit}{of}"


def _text(value: Value) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(("name", "text", "facts"), SAMPLES, ids=[f"{name}-{text[:40]}" for name, text, _ in SAMPLES])
def test_sample_tells_its_facts(name: str, text: str, facts: tuple[str, ...]) -> None:
    assert _of_module(name, text) == list(facts)


@pytest.mark.parametrize("name", MODULES)
def test_extractor_has_samples_that_tell_something_and_some_that_do_not(name: str) -> None:
    assert {bool(facts) for facts in MODULES[name].SAMPLES.values()} == {True, False}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_line_tells_nothing(text: str) -> None:
    assert facts_of(_said(text)) == ()


@given(
    st.one_of(
        st.text(max_size=300),
        st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
        st.builds(lambda piece, times: piece * times, st.sampled_from(PIECES), st.integers(1, 60)),
    )
)
def test_any_text_is_read_without_an_error_and_only_what_it_holds_is_told(text: str) -> None:
    facts = facts_of(_said(text))

    assert len(facts) <= MOST_FACTS
    for fact in facts:
        assert fact.said
        assert fact.said in text
        texts = fact.value if isinstance(fact.value, tuple) else (fact.value,)
        if fact.type == "address":  # the port is told as host:port, however it is printed
            texts = tuple(str(value).removeprefix("[").split("]:")[0] for value in texts)
            texts = tuple(value if value.count(":") > 1 else value.split(":")[0] for value in texts)
        assert all(value in text for value in texts if isinstance(value, str))


@pytest.mark.parametrize(
    "piece", [*PIECES, *(text for _, text, _ in SAMPLES), "0", " ", "a.", "1 ", "/a", "(", "=", "-"]
)
def test_longest_text_is_read_quickly(piece: str) -> None:
    text = (piece * LONGEST)[: LONGEST * 2]
    began = time.process_time()

    for extractor in extractors():
        list(extractor(_said(text)))

    assert time.process_time() - began < 0.5
