"""Reasons for which one finding explains another, asked of single pairs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from handmade_records import make_record
from msgspec.structs import replace
from rule_texts import BOOK, packed_words

from logdoctor.model import Culprit, Finding, LifecycleSign, Line, Mechanism, Role, Rule, Source, Symptom
from logdoctor.reasoning.causality import arrows, lives
from logdoctor.reasoning.causality.arrows import explain, may_cause, sort_key
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.job_state import JobState

CLASSES = FailureClasses(BOOK.mechanism)
OWN = {name for name, c in BOOK.mechanism.classes.items() if c.side == "own"}
INSIDE = [a for a in BOOK.mechanism.arrows if a.where == "process" and a.target in OWN and a.target != "ordered"]
AT_A_HOST = [a for a in BOOK.mechanism.arrows if a.where == "host" and {a.source, a.target} <= OWN]
OF_OTHERS = [a for a in BOOK.mechanism.arrows if a.where in ("launcher", "peers") and a.source in OWN]


def finding(
    name: str,
    failure_class: str,
    order: int,
    rank: int | None = None,
    *,
    signature: str = "",
    role: Role = "cause",
    length: int = 0,
    kind: str = "",
    **fields,
) -> Finding:
    words = packed_words(name, "cause", "do")
    symptoms = (Symptom("s", kind=f"k.{name}"),)
    rule = Rule(name, signature or name, "stop", role, "strong", words, symptoms, {"any": ["s"]}, {}, failure_class)
    line = Line("job.log", order + 1, name)
    record = make_record(line, kind or f"k.{name}", name, Source(rank=rank), "error", fields, order)
    ranks = () if rank is None else (rank,)
    return Finding(rule, (record,), {}, Culprit(), ranks, order, order, 1, record, ((0, length),))


def state_of(*findings: Finding) -> JobState:
    state = JobState()
    for each in sorted(findings, key=lambda f: f.first):
        state.observe(each.records[0])
    return state


def law(a: Finding, b: Finding) -> str | None:
    why = may_cause(a, b, CLASSES, state_of(a, b))
    return why.law if why else None


def explains(a: Finding, b: Finding) -> str | None:
    """Return the law by which ``a`` explains ``b``, which then explains nothing of ``a``."""
    why, back = (explain(*pair, CLASSES, state_of(a, b)) for pair in ((a, b), (b, a)))
    assert not (why and back)
    return why.law if why else None


def pairs(rank: int | None) -> Iterator[tuple[Finding, Finding]]:
    """Yield findings of which the second was over when the first began."""
    for arrow in (*INSIDE, *AT_A_HOST):
        yield finding("a", arrow.source, 5, rank), finding("b", arrow.target, 2, rank)


# ── what may bring about what ───────────────────────────────────────────────────────────────────────────────────────


def test_nothing_explains_what_was_over_in_its_process():
    assert {law(*pair) for pair in pairs(3)} == {None}


def test_what_was_over_before_is_of_another_process_if_none_is_named():
    assert "same process" not in {law(*pair) for pair in pairs(None)}


@pytest.mark.parametrize("arrow", AT_A_HOST, ids=lambda a: f"{a.source} to {a.target}")
def test_failure_of_a_host_explains_what_an_unnamed_process_told_before(arrow):
    assert law(finding("a", arrow.source, 5), finding("b", arrow.target, 2)) == "shared place"


@pytest.mark.parametrize("arrow", OF_OTHERS, ids=lambda a: f"{a.source} to {a.target} ({a.where})")
def test_only_a_launcher_tells_of_a_process_in_its_own_lines(arrow):
    same = law(finding("a", arrow.source, 2, 3), finding("b", arrow.target, 5, 3))
    assert (same == "other process") is (arrow.where == "launcher" and same != "same process")
    assert law(finding("a", arrow.source, 2, 3), finding("b", arrow.target, 5, 1)) == "other process"


def test_order_to_end_explains_connections_that_were_lost_before_it():
    assert law(finding("a", "told to end", 5, 1), finding("b", "peer lost", 2, 2)) == "shared place"


def test_nothing_explains_itself():
    one = finding("a", "late", 2)
    assert explain(one, one, CLASSES, state_of(one)) is None


# ── two tellings of one thing ───────────────────────────────────────────────────────────────────────────────────────


def test_variant_goes_before_the_rule_of_its_signature():
    variant, own = (finding(name, "late", 3, signature="a.b") for name in ("a.variant", "a.b"))
    assert sorted([own, variant], key=sort_key) == [variant, own]


@pytest.mark.parametrize(
    ("classes", "signature", "expected"),
    [
        (("program fails", "program fails"), "s", "same signature"),
        (("program fails", "program fails"), "", None),
        (("ordered", "ordered"), "", "same signature"),
        (("late", "ordered"), "", None),
    ],
)
def test_earlier_one_of_a_signature_or_of_two_orders_is_the_better_telling(classes, signature, expected):
    first, second = classes
    pair = finding("a", first, 2, 1, signature=signature), finding("b", second, 5, 2, signature=signature)
    assert explains(*pair) == expected


@pytest.mark.parametrize(
    ("xids", "buses", "expected"),
    [((79, 154), (1, 1), True), ((79, 154), (1, 2), False), ((154, 79), (1, 1), False)],
)
def test_code_that_follows_another_on_one_device_is_explained_by_it(xids, buses, expected):
    a, b = (
        finding(name, "program fails", order, kind="kernel.xid", xid=xid, bus_id=f"0000:0{bus}:00")
        for name, order, xid, bus in zip("ab", (2, 5), xids, buses, strict=True)
    )
    assert (explains(a, b) == "next code") is expected
    assert explains(b, a) != "next code"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"role": "cause"}, {"role": "fallback"}, "same line"),
        ({"length": 9}, {"length": 5}, "same line"),
        ({"length": 5}, {"length": 9}, None),
        ({"role": "fallback", "length": 9}, {"role": "cause", "length": 5}, None),
    ],
)
def test_better_reading_of_one_line_has_the_better_role_or_the_longer_match(first, second, expected):
    assert explains(finding("a", "late", 2, **first), finding("b", "late", 2, **second)) == expected


def test_readings_of_two_lines_are_two_failures():
    assert explains(finding("a", "program fails", 2, 1, length=9), finding("b", "program fails", 5, 2)) is None


# ── order of two failures that can bring about each other ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("first", "second", "ranks", "expected"),
    [
        ("peer lost", "gives up", (1, 1), True),
        ("peer lost", "library reports", (None, 1), True),
        ("peer lost", "gives up", (1, 2), False),
        ("peer lost", "waits in vain", (1, 1), False),
        ("gives up", "library reports", (1, 1), False),
    ],
)
def test_giving_up_is_never_first_in_a_process_that_shows_what_leads_to_it(first, second, ranks, expected):
    a, b = finding("a", first, 5, ranks[0]), finding("b", second, 2, ranks[1])
    assert arrows._leads_to_giving_up(a, b, CLASSES, state_of(a, b)) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("end noticed", "cause"), ("peer lost", "symptom"), True),
        (("end noticed", "cause"), ("program fails", "cause"), False),
        (("end noticed", "fallback"), ("peer lost", "symptom"), False),
        (("end noticed", "cause"), ("end noticed", "cause"), False),
        (("end noticed", "fallback"), ("end noticed", "fallback"), False),
        (("peer lost", "symptom"), ("end noticed", "fallback"), True),
        (("peer lost", "symptom"), ("end noticed", "cause"), False),
        (("program fails", "cause"), ("end noticed", "fallback"), False),
        (("peer lost", "symptom"), ("peer lost", "symptom"), False),
        (("peer lost", "symptom"), ("peer lost", "fallback"), False),
    ],
)
def test_word_of_an_end_outranks_its_witnesses_only_if_the_process_was_struck(first, second, expected):
    a, b = finding("a", first[0], 2, 1, role=first[1]), finding("b", second[0], 5, 2, role=second[1])
    assert arrows._has_better_witness(a, b, CLASSES, state_of(a, b)) is expected


@pytest.mark.parametrize(("second", "expected"), [("ordered", True), ("program fails", False)])
def test_order_that_ends_a_job_is_never_first(second, expected):
    assert arrows._stalled_the_job(finding("a", "late", 5), finding("b", second, 2), CLASSES, JobState()) is expected


@pytest.mark.parametrize(
    ("first", "second", "failure_class", "expected"),
    [
        ("cause", "fallback", "program fails", True),
        ("fallback", "fallback", "program fails", False),
        ("cause", "cause", "program fails", False),
        ("cause", "fallback", "ordered", False),
    ],
)
def test_only_a_catch_all_of_one_process_is_outranked_by_a_rule(first, second, failure_class, expected):
    a, b = finding("a", "late", 5, role=first), finding("b", failure_class, 2, role=second)
    assert arrows._is_no_catch_all(a, b, CLASSES, state_of(a, b)) is expected


def test_catch_all_that_sees_one_process_end_outranks_no_rule():
    known, open_end = finding("a", "peer lost", 5, 1), finding("b", "peer lost", 2, 2, role="fallback")
    assert explains(known, open_end) == "other process"


# ── the tables ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", ["cause", "fallback"])
@pytest.mark.parametrize("about_peers", [False, True])
def test_catch_all_whose_last_words_are_about_others_gave_up(role, about_peers):
    signs = (LifecycleSign("fails", tells=("about peers",)),) if about_peers else ()
    classes = {}
    for name in ("program fails", "process crashes"):
        one = finding("a", name, 2, role=role)
        one = replace(one, records=(replace(one.records[0], signs=signs),))
        classes[name] = CLASSES.of(one).id == "gives up"
    assert classes == {
        "program fails": role == "fallback" and about_peers,
        "process crashes": role == "fallback" or about_peers,
    }


def test_narrower_signature_is_so_over_several_steps_and_only_one_way():
    classes = FailureClasses(Mechanism(BOOK.mechanism.classes, (), {"a": "b", "b": "c"}))
    a, b, c = (finding(name, "late", 2) for name in "abc")
    assert [classes.is_narrower(*pair) for pair in ((a, b), (a, c), (c, a), (a, a))] == [True, True, False, False]


# ── what a catch-all brings about, and what a wrapper wraps ─────────────────────────────────────────────────────────

SEEN = sorted(
    {a.target for a in BOOK.mechanism.arrows if BOOK.mechanism.classes[a.target].side == "seen"} - {"ordered"}
)


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("own", ["program fails", "process crashes"])
def test_catch_all_whose_end_is_not_shown_explains_nothing_that_others_saw(own, seen):
    other = finding("b", seen, 5, 2)
    assert law(finding("a", own, 2, 1, role="fallback"), other) != "other process"


@pytest.mark.parametrize("seen", ["peer lost", "waits in vain"])
def test_catch_all_whose_end_is_shown_explains_what_others_saw(seen):
    shown = finding("a", "program fails", 2, 1, role="fallback")
    fails = replace(shown.records[0], signs=(LifecycleSign("fails"),))
    assert law(replace(shown, records=(fails,), latest=fails), finding("b", seen, 5, 2)) == "other process"


WRAPPERS = ("RuntimeError: NCCL error", "ray::Worker.step() failed", "store error 17", "E0611 manager gave up")
REASONS = ("No space left on device", "too many open files", "name not known")


@pytest.mark.parametrize("outer", WRAPPERS)
@pytest.mark.parametrize("inner", REASONS)
@pytest.mark.parametrize("whole", [False, True])
def test_reason_inside_a_wrapper_is_the_better_reading_for_all_pairs(outer, inner, whole):
    """``whole``: the wrapper's expression takes the reason into its message, so that its match is the longer one."""
    text = f"{outer}: in shard 4 of 7: {inner}"
    spans = {"a": (text.index(inner), len(text)), "b": (0, len(text) if whole else len(outer))}
    reason, wrapper = (
        replace(
            found := finding(name, "room out", 3, 1),
            records=(replace(found.records[0], text=text),),
            spans=(spans[name],),
        )
        for name in "ab"
    )
    assert explains(reason, wrapper) == "same line"


@pytest.mark.parametrize("texts", ["zz: a reason", "a reason"])
def test_longer_match_wins_where_nothing_wraps(texts):
    long, short = (
        replace(f := finding(n, "room out", 3, 1), records=(replace(f.records[0], text=texts),), spans=(span,))
        for n, span in (("a", (0, 8)), ("b", (2, 6)))
    )
    assert explains(long, short) == "same line"


@pytest.mark.parametrize("first", [0, 1])
def test_order_of_reading_two_files_without_a_clock_decides_nothing(first):
    pair = [finding("a", "peer lost", first, 1), finding("b", "peer lost", 1 - first, 2)]
    moved = [replace(f, records=(replace(f.records[0], line=Line(f"{f.rule.id}.log", 1, f.rule.id)),)) for f in pair]
    state = state_of(*moved)
    assert not lives.before(*moved, state)
    assert not lives.before(*reversed(moved), state)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("file", ["agent.log", "zz.log"])
def test_signal_that_an_agent_got_beats_what_peers_saw_of_it(first, file):
    told, seen = finding("a", "told to end", first, role="fallback"), finding("b", "peer lost", 1 - first, 2)
    sign = LifecycleSign("is ended", of="job", reporter="launcher", by="signal")
    order = replace(told.records[0], signs=(sign,), line=Line(file, 1, "a"))
    assert explains(replace(told, records=(order,), latest=order), seen)
