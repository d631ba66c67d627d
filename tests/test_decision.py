"""The decision to start a job again, after earlier attempts."""

from __future__ import annotations

import pytest
from failing_job import diagnose_log, summary
from test_attempts import BANNER, NO_KEY, OOM, RESTART, steps

from logdoctor.model import Cause, Culprit, Decision, Diagnosis, Evidence, JobSummary, Line, Progress, Run
from logdoctor.reasoning.verdict.decision import decide
from logdoctor.render import render

LOST = "net.peer-closed"


def cause(action: str, *hosts: str, signature: str = LOST, by: str = "rule") -> Cause:
    return Cause(signature, "t", "s", 0.9, by, Culprit((), hosts), action, (), (), (), ())  # type: ignore[arg-type]


def reached(value: int, unit: str = "step", epoch: str = "") -> Progress:
    return Progress(unit, str(value), Evidence(Line("f", 1, "")), epoch)


def run(
    signature: str | None, *hosts: str, at: Progress | None = None, told: bool = False, kind: str = "attempt"
) -> Run:
    verdict = "failure" if signature else "unknown"
    return Run(kind, verdict, signature, "", "f", 1, None, told, (), Culprit((), hosts), at)  # type: ignore[arg-type]


def decided(
    first: Cause | None, *runs: Run, hosts: tuple[str, ...] = ("a", "b", "c", "d"), lang: str = "en"
) -> Decision:
    causes = (first,) if first else ()
    verdict = "failure" if first else "unknown"
    return decide(Diagnosis("j", verdict, causes, runs=runs, job_summary=JobSummary(hosts=hosts)), lang)


@pytest.mark.parametrize("action", ["stop", "retry", "none"])
def test_single_attempt_is_decided_by_the_cause(action):
    assert decided(cause(action, "a")).action == action
    assert decided(cause(action, "a")).hosts == ()


def test_excluded_host_is_named():
    assert decided(cause("exclude", "b")).hosts == ("b",)


def test_healthy_job_needs_no_decision():
    assert decide(Diagnosis("j", "healthy")) == Decision()


def test_same_cause_again_without_progress_stops():
    runs = (run(LOST, at=reached(40)), run(LOST, at=reached(40), told=True))
    assert decided(cause("retry"), *runs) == Decision(
        "stop", (), "2 attempts failed by net.peer-closed without progress in between", 2
    )


def test_same_cause_again_after_progress_is_retried():
    runs = (run(LOST, at=reached(40)), run(LOST, at=reached(900), told=True))
    assert decided(cause("stop"), *runs).action == "retry"
    assert "step 40, now step 900" in decided(cause("stop"), *runs).reason


def test_earlier_attempt_with_another_cause_does_not_count():
    runs = (run("cuda.oom", at=reached(40)), run(LOST, at=reached(40), told=True))
    assert decided(cause("retry"), *runs).action == "retry"


def test_attempt_without_steps_made_no_progress():
    assert decided(cause("retry"), run(LOST, at=reached(40)), run(LOST, told=True)).action == "stop"
    assert decided(cause("retry"), run(LOST), run(LOST, told=True)).action == "stop"


def test_steps_that_start_over_in_each_epoch_are_compared_by_epoch():
    runs = (run(LOST, at=reached(400, epoch="1")), run(LOST, at=reached(30, epoch="3"), told=True))
    assert decided(cause("stop"), *runs).action == "retry"


def test_host_that_two_attempts_name_is_excluded():
    runs = (run(LOST, "b"), run(LOST, "b", "c", at=reached(9), told=True))
    assert decided(cause("retry", "b", "c"), *runs) == Decision("exclude", ("b",), "2 attempts name b", 2)


def test_fault_of_the_program_excludes_no_host():
    assert decided(cause("stop", "b"), run(LOST, "b"), run(LOST, "b", told=True)).action == "stop"


def test_host_named_by_a_scheduler_or_program_fault_is_not_excluded():
    runs = (run("job.preempted", "b", at=reached(4)), run("job.preempted", "b", at=reached(9), told=True))
    assert decided(cause("retry", "b", signature="job.preempted"), *runs).action == "retry"


def test_only_attempts_without_progress_in_between_are_counted():
    runs = [run(LOST, at=reached(n)) for n in (3, 9, 9, 8)]
    decision = decided(cause("retry"), *runs, run(LOST, at=reached(8), told=True))
    assert (decision.action, decision.attempts) == ("stop", 4)


def test_most_of_the_hosts_are_not_excluded():
    runs = (run(LOST, "a", "b", "c"), run(LOST, "a", "b", "c", told=True))
    assert decided(cause("retry", "a", "b", "c"), *runs).action == "stop"


def test_earlier_jobs_of_the_same_file_do_not_count():
    runs = (run(LOST, "b", at=reached(4)), run(LOST, "b", at=reached(4), told=True, kind="job"))
    assert decided(cause("retry", "b"), *runs).action == "retry"


def test_two_unexplained_failures_at_the_same_step_stop():
    runs = (run(None, at=reached(7)), run(None, at=reached(7), told=True))
    assert decided(None, *runs).action == "stop"
    assert decided(None, run(None, at=reached(7)), run(None, at=reached(8))).action == "none"


def test_reason_of_a_classifier_cause_calls_it_a_guess():
    assert decided(cause("retry", by="classifier")).reason.startswith("the cause is only a guess")


def test_restart_that_fails_the_same_way_gives_stop_in_every_report(knowledge):
    log = BANNER + steps(1, 5) + OOM + RESTART.format(left=2) + steps(1, 5) + OOM + summary(3)
    diagnosis = diagnose_log(log, knowledge)
    assert (diagnosis.decision.action, diagnosis.to_dict()["decision"]["action"]) == ("stop", "stop")
    for name in ("terminal", "markdown", "html", "jira"):
        assert "2 attempts failed by cuda.oom without progress" in render(diagnosis, name, width=140)


def test_restart_with_progress_before_the_same_failure_gives_retry(knowledge):
    log = BANNER + steps(1, 5) + NO_KEY + RESTART.format(left=2) + steps(4, 90) + NO_KEY + summary(1)
    assert diagnose_log(log, knowledge).decision.action == "retry"


def test_report_of_one_attempt_gives_the_action_once(knowledge):
    assert "Another attempt?" not in render(diagnose_log(OOM + summary(3), knowledge), "terminal")


def test_reason_is_in_the_language_of_the_report():
    assert "没有进展" in decided(cause("retry"), run(LOST), run(LOST, told=True), lang="zh").reason
