"""Claims of answers, checked against the log."""

from __future__ import annotations

import io

import pytest
from rule_texts import packed_words

from logdoctor import diagnose
from logdoctor.model import (
    CLAIMS,
    Claim,
    Culprit,
    FailureClass,
    Finding,
    LifecycleSign,
    Line,
    Mechanism,
    Record,
    Rule,
    Source,
    Symptom,
)
from logdoctor.reasoning.causality.claims import CHECKS, Case, Checked, find_doubt
from logdoctor.reasoning.causality.failure_classes import FailureClasses
from logdoctor.reasoning.findings.values import FindingValues
from logdoctor.reasoning.findings.wording import fill
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.ends import end_of


def record(
    order, rank=None, *, format="k", kind="k.x", time=None, host=None, signs=(), level="fatal", origin="job", **fields
):
    line = Line("job.log", order + 1, "text")
    source = Source(rank, host=host, time=time)
    return Record(line, format, kind, "text", source, level, fields, order, signs=signs, origin=origin)


def finding(*records, failure_class="own", culprit=Culprit()):  # noqa: B008 - frozen
    words = packed_words("t", "c", "r")
    rule = Rule(
        "a.b", "a.b", "stop", "cause", "strong", words, (Symptom("s", kind="k"),), {"any": ["s"]}, {}, failure_class
    )
    ranks = tuple(sorted({e.rank for e in records if e.rank is not None}))
    orders = [e.order for e in records]
    return Finding(rule, records, {}, culprit, ranks, min(orders), max(orders), len(records), records[-1])


def outcome(name, found, *others, wanted="", seen=()):
    classes = {c: FailureClass(c, c, "process", "yes") for c in ("own", "seen")}
    state = JobState()
    for e in sorted(
        {e.order: e for e in (*seen, *(e for f in (found, *others) for e in f.records))}.values(), key=lambda e: e.order
    ):
        state.observe(e)
    case = Case(found, (found, *others), FailureClasses(Mechanism(classes)), state)
    return CHECKS[name](case, wanted)[0]


TOLD = (LifecycleSign("fails", "named", "launcher"),)
WAITED = (LifecycleSign("waits"),)


@pytest.mark.parametrize(
    ("name", "wanted", "found", "seen", "expected"),
    [
        ("ended", "9|137", finding(record(0, 3, signs=TOLD, exit_code=-9)), (), "confirmed"),
        ("ended", "9|137", finding(record(0, 3, signs=TOLD, exit_code=1)), (), "contradicted"),
        ("ended", "9|137", finding(record(0, 3)), (), "not-shown"),
        ("uncaught", "", finding(record(0, 3)), (record(1, 3, signs=TOLD, exit_code=1),), "confirmed"),
        ("uncaught", "", finding(record(0, 3)), (record(1, 3, signs=TOLD, exit_code=0),), "contradicted"),
        ("waited", "", finding(record(0, 2, signs=WAITED)), (), "confirmed"),
        ("waited", "", finding(record(0, 2, signs=WAITED), culprit=Culprit(ranks=(2,))), (), "contradicted"),
        (
            "call",
            "",
            finding(record(0, 0, op="ALLREDUCE", seq=4), record(1, 1, op="ALLREDUCE", seq=4)),
            (),
            "confirmed",
        ),
        ("call", "", finding(record(0, 0, seq=40), record(1, 1, seq=39)), (), "contradicted"),
        ("told", "", finding(record(0, signs=(LifecycleSign("is ended", "job"),))), (), "confirmed"),
        ("told", "", finding(record(0, format="generic")), (), "contradicted"),
        ("time", "1h", finding(record(0, time=2e9)), (record(1, time=2e9 + 60),), "confirmed"),
        ("time", "1h", finding(record(0, time=1e9, origin="machine")), (record(1, time=2e9),), "contradicted"),
    ],
)
def test_claim_is_checked_against_the_lines(name, wanted, found, seen, expected):
    assert outcome(name, found, wanted=wanted, seen=seen) == expected


def test_first_is_contradicted_by_an_earlier_failure_of_another_process():
    assert outcome("first", finding(record(5, 1)), finding(record(2, 0))) == "contradicted"


def test_first_is_confirmed_by_a_later_failure_of_another_process():
    assert outcome("first", finding(record(2, 1)), finding(record(5, 0))) == "confirmed"


def test_first_is_not_contradicted_by_a_process_that_was_ended():
    ended = record(2, 0, signs=TOLD, exit_code=-15)
    assert outcome("first", finding(record(5, 1)), seen=(ended,)) == "not-shown"


def test_others_is_confirmed_by_an_earlier_failure_of_another_process():
    assert outcome("others", finding(record(5, 1)), finding(record(2, 0))) == "confirmed"


def test_only_a_decisive_claim_makes_an_answer_doubtful():
    assert find_doubt([Checked(Claim("first"), "contradicted")])
    assert not find_doubt([Checked(Claim("ended"), "contradicted"), Checked(Claim("first"), "confirmed")])


def test_every_claim_has_a_check():
    assert set(CHECKS) == set(CLAIMS)


def test_exit_code_of_a_shell_stands_for_a_signal():
    assert end_of(record(0, signs=TOLD, exit_code=137)).signal == 9


def test_answer_tells_what_was_checked():
    log = "[rank0]: step 10 loss 2.2\nRank 3 crashed with exit code -9.\n"
    checked = diagnose(io.BytesIO(log.encode())).causes[0].checked
    assert (checked[0].claim, checked[0].holds) == ("ended", "confirmed")
    assert checked[0].evidence[0].line.number == 2


def test_words_say_what_a_confirmed_claim_adds():
    words = FindingValues(finding(record(0)), "en", confirmed=("peer",))
    assert fill("{claim.peer?It ended|It can have ended}.", words) == "It ended."
    assert fill("{claim.ended?It ended|It can have ended}.", words) == "It can have ended."
