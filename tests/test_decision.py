"""The decision what to do about the job: the table, and the corrections over it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from failing_job import diagnose_log, summary
from msgspec import structs
from render_diagnoses import OOM as OUT_OF_MEMORY
from test_attempts import BANNER, NO_KEY, OOM, RESTART, steps

from logdoctor.codes import catalogue as codes_of
from logdoctor.model import (
    LOOKS,
    Cause,
    Change,
    Checkpoint,
    CollectiveState,
    Culprit,
    Decision,
    DecisionRow,
    Diagnosis,
    Evidence,
    Fact,
    JobSummary,
    Line,
    Owner,
    Progress,
    Rule,
    RuleError,
    Run,
)
from logdoctor.reasoning.verdict.decision import decide
from logdoctor.reasoning.verdict.lasting_errors import CATALOGUES, LASTING_CODES, UNREACHED_CODES
from logdoctor.render import render
from logdoctor.render.catalogue import catalogue, languages
from logdoctor.ruleset import rule_files, shipped_rules
from logdoctor.ruleset.decisions import THINGS, read_decisions, read_things
from logdoctor.ruleset.loading import load
from logdoctor.ruleset.tables import VERDICTS, read_signatures

LOST = "net.peer-closed"
DO = {"stop": "fix-first", "retry": "requeue", "exclude": "requeue-without-host", "none": "investigate"}


def cause(
    action: str, *hosts: str, signature: str = LOST, confidence: float = 0.9, proof: str = "", **more: object
) -> Cause:
    evidence = (Evidence(Line("f", 7, proof)),) if proof else ()
    return Cause(signature, "t", "s", confidence, "rule", Culprit((), hosts), action, (), (), evidence, (), **more)  # type: ignore[arg-type]


def reached(value: object, unit: str = "step", epoch: str = "") -> Progress:
    return Progress(unit, str(value), Evidence(Line("f", 1, "")), epoch)


def run(
    signature: str | None, *hosts: str, at: Progress | None = None, told: bool = False, kind: str = "attempt"
) -> Run:
    verdict = "failed" if signature else "unknown"
    return Run(kind, verdict, signature, "", "f", 1, None, told, (), Culprit((), hosts), at)  # type: ignore[arg-type]


def decided(
    first: Cause | None,
    *runs: Run,
    hosts: tuple[str, ...] = ("a", "b", "c", "d"),
    lang: str = "en",
    rows: tuple[DecisionRow, ...] = (),
    others: tuple[Cause, ...] = (),
    checkpoint: Checkpoint | None = None,
    hung: bool = False,
    progress: Progress | None = None,
    standings: tuple[CollectiveState, ...] = (),
) -> Decision:
    causes = (first, *others) if first else ()
    job = JobSummary(hosts=hosts, last_checkpoint=checkpoint, last_progress=progress, standings=standings)
    line = Evidence(Line("f", 1, "it broke"))
    diagnosis = Diagnosis("j", "failed" if first else "unknown", causes, unexplained=(line,), runs=runs, job=job)
    return decide(diagnosis, catalogue(lang), lambda _: rows, hung=hung)


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_signature_has_a_decision_without_a_condition():
    errors: list[RuleError] = []
    table = read_decisions(shipped_rules() / "decisions.tsv", errors)
    signatures = {*read_signatures(shipped_rules() / "signatures.tsv", [])} - {*VERDICTS}
    assert errors == []
    assert {name for name in signatures if name not in table or table[name][-1].when} == set()


def test_every_row_is_about_a_signature_or_a_rule():
    rules = {file.id for file in rule_files(shipped_rules())}
    signatures = {*read_signatures(shipped_rules() / "signatures.tsv", [])}
    assert {*read_decisions(shipped_rules() / "decisions.tsv", [])} - signatures - rules == set()


@pytest.mark.parametrize("line", ["net.dns\t-\tdance", "net.dns\tsometimes\trequeue", "net.dns\trequeue"])
def test_faulty_row_is_reported_with_its_line(line, tmp_path):
    (tmp_path / "decisions.tsv").write_text(f"# head\n{line}\n")
    errors: list[RuleError] = []
    assert read_decisions(tmp_path / "decisions.tsv", errors) == {}
    assert [Path(error.where).name for error in errors] == ["decisions.tsv:2"]


def test_first_row_whose_condition_holds_counts():
    rows = (DecisionRow("xid=13,31", "fix-first"), DecisionRow("", "requeue"))
    assert decided(cause("exclude", values=(("xid", 31),)), rows=rows).do == "fix-first"
    assert decided(cause("exclude", values=(("xid", 79),)), rows=rows).do == "requeue"


def test_checkpoint_is_a_condition_and_is_named():
    checkpoint = Checkpoint(14000, "ckpt/14000", Line("f", 9, "saved"))
    rows = (DecisionRow("checkpoint", "requeue"), DecisionRow("", "resubmit-with-changes"))
    decision = decided(cause("retry"), rows=rows, checkpoint=checkpoint)
    assert (decision.do, decision.checkpoint, "14,000" in decision.sentence) == ("requeue", checkpoint, True)
    assert decided(cause("retry"), rows=rows).do == "resubmit-with-changes"


@pytest.mark.parametrize(("blamed", "do"), [(("a",), "requeue-without-host"), ((), "investigate")])
def test_one_host_of_many_is_a_condition(blamed, do):
    rows = (DecisionRow("one-host-of-many", "requeue-without-host"), DecisionRow("", "investigate"))
    assert decided(cause("exclude", *blamed), rows=rows).do == do


STEP_FIRST = (DecisionRow("progress", "requeue"), DecisionRow("", "investigate"))


@pytest.mark.parametrize(("value", "do"), [("12", "requeue"), ("0", "investigate"), ("0/500", "investigate")])
def test_progress_is_a_condition(value, do):
    assert decided(cause("retry"), rows=STEP_FIRST, progress=reached(value)).do == do


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_look_that_would_decide_is_the_reason_and_all_there_is_to_collect(lang):
    decision = decided(cause("retry"), rows=(DecisionRow("", "investigate", "peer"),), lang=lang)
    assert decision.because == catalogue(lang)("look.at.peer")
    assert decision.collect == (decision.because,)


def test_look_names_the_host_if_one_is_at_fault():
    decision = decided(cause("none", "n7"), rows=(DecisionRow("", "investigate", "kernel"),))
    assert "kernel log of n7" in decision.because


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ("exit_code", True),
        ("exit_code=3,4", True),
        ("exit_code=5", False),
        ("signal", False),
        ("NCCL_DEBUG=info", True),
        ("NCCL_DEBUG", True),
        ("TORCH_FR_BUFFER_SIZE", False),
        ("NCCL_IB_HCA", False),
        ("members.missing", True),
        ("size.free", False),
        ("owner=your code", True),
        ("frame", True),
        ("says=gave up,other", True),
        ("says=other", False),
        ("exit_code&says=gave up", True),
        ("exit_code&progress", False),
        ("one-host", True),
    ],
)
def test_condition_of_a_row_asks_values_settings_facts_owner_and_proof(when, holds):
    first = cause(
        "none",
        proof="rank 3 Gave Up",
        values=(("exit_code", 3),),
        owner=Owner("your code", "a.py:3"),
        facts=(Fact("members", "missing", (2,), Line("f", 7, "")),),
    )
    job = JobSummary(hosts=("n1",), environment=(("NCCL_DEBUG", "INFO"), ("TORCH_FR_BUFFER_SIZE", "0")))
    rows = (DecisionRow(when, "fix-first"), DecisionRow("", "do-nothing"))
    decision = decide(Diagnosis("j", "failed", (first,), job=job), catalogue("en"), lambda _: rows)
    assert (decision.do == "fix-first") == holds


RECORDER = (
    DecisionRow("", "resubmit-with-changes", "recorder:TORCH_FR_BUFFER_SIZE=2000,TORCH_NCCL_DUMP_ON_TIMEOUT=1"),
)


def test_bare_time_out_is_started_again_once_with_the_recorder_on():
    first = decided(cause("retry"), rows=RECORDER)
    assert [(change.name, change.to) for change in first.changes] == [
        ("TORCH_FR_BUFFER_SIZE", "2000"),
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", "1"),
    ]
    assert "TORCH_FR_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1" in first.steps[0].text
    again = decided(cause("retry"), run(LOST, at=reached(4)), run(LOST, at=reached(90), told=True), rows=RECORDER)
    assert (again.do, again.changes) == ("investigate", ())
    assert "2 attempts" in again.because


def test_requeued_job_needs_nothing_whatever_its_cause():
    state = Fact("state", "state", "Requeued", Line("f", 9, ""))
    decision = decided(cause("exclude", "b", facts=(state,)))
    assert (decision.do, decision.headline) == ("do-nothing", "NOTHING TO DO")


def test_known_device_on_an_unknown_host_is_mended_first():
    device = Culprit((), (), gpus=("0000:19:00",))
    first = structs.replace(cause("exclude", owner=Owner("gpu-or-driver")), culprit=device)
    assert decided(first).do == "fix-first"


def test_doubtful_cause_with_a_fact_of_its_own_is_fixed_first():
    assert decided(cause("stop", confidence=0.4)).do == "investigate"
    assert decided(cause("stop", confidence=0.4, values=(("exit_code", 3),))).do == "fix-first"
    assert decided(cause("stop", confidence=0.4, owner=Owner("your code", "a.py:3"))).do == "fix-first"
    assert decided(cause("stop", confidence=0.4, values=(("exit_code", 137),))).do == "investigate"


def test_headline_names_a_thing_only_if_it_is_shown():
    rows = (DecisionRow("", "resubmit-with-changes", "memlock", r"mem.?lock|ulimit -l"),)
    assert "MEMLOCK" in decided(cause("stop", proof="ulimit -l is 64"), rows=rows).headline
    assert (
        decided(cause("stop", proof="ibv_reg_dmabuf_mr failed"), rows=rows).headline == "RESUBMIT WITH OTHER SETTINGS"
    )


@pytest.mark.parametrize("line", ["moon\tcheese", "memlock", "memlock\t", "memlock\t("])
def test_faulty_line_of_things_is_told_with_its_place(line, tmp_path):
    (tmp_path / "things.tsv").write_text(f"# head\n{line}\n")
    errors = []
    assert read_things(tmp_path / "things.tsv", errors) == {}
    assert [error.where for error in errors] == [f"{tmp_path / 'things.tsv'}:2"]


@pytest.fixture(scope="module")
def rules() -> Sequence[Rule]:
    return load([shipped_rules()]).rules


PASSING = {"ordered", "peer lost", "host fails", "link fails", "unreachable"}
"""Failure classes of what passes."""
BARE_REQUEUES = {"app.exception-connection", "mpi.rank-died-daemon", "net.stray-connection"}
"""A server that had answered, the host of a daemon, a stranger at a port: gone by the next start."""
TOLD_TO_PASS = ("reason=", "says=", "status=", "errno=")
"""Conditions that ask for a word or code of something that passes."""


def test_only_a_sign_of_something_that_passes_starts_a_job_again(rules):
    classes = {rule.id: rule.failure_class for rule in rules}
    table = read_decisions(shipped_rules() / "decisions.tsv", [])
    again = [(of, row.when) for of, rows in table.items() for row in rows if row.do == "requeue"]
    bare = {of for of, when in again if not when.startswith(TOLD_TO_PASS) and classes.get(of) not in PASSING}
    assert bare == BARE_REQUEUES


def test_time_outs_are_never_requeued_as_they_are():
    table = read_decisions(shipped_rules() / "decisions.tsv", [])
    of_waits = ("collective.timeout", "collective.heartbeat", "rdzv.timeout", "net.peer-closed")
    rows = [(of, row.do) for of, rows in table.items() if of.startswith(of_waits) for row in rows]
    assert rows
    assert not [of for of, do in rows if do in ("requeue", "requeue-without-host")]


def test_every_row_to_investigate_names_the_look_that_would_decide():
    table = read_decisions(shipped_rules() / "decisions.tsv", [])
    assert [of for of, rows in table.items() for row in rows if row.do == "investigate" and not row.what] == []


def test_headline_of_each_rule_is_shown_by_its_own_text(rules):
    """A headline that no word or example of a rule shows belongs to another variant of the signature."""
    found = {}
    for rule in rules:
        words = rule.say("en")
        text = [*words.title, *words.cause, *(form for step in words.remedy for form in step.do)]
        text += [example.log for example in rule.examples]
        for row in rule.decisions:
            if not row.when and row.do != "investigate" and row.shown_by and rule.role != "benign":
                shown = any(re.search(row.shown_by, part, re.IGNORECASE) for part in text)
                found.setdefault(rule.id, set()).add(shown)
    assert sorted(rule for rule, shown in found.items() if True not in shown) == []


@pytest.mark.parametrize("completed", [3, 100, 5000])
def test_collectives_alone_are_no_progress(completed):
    states = (CollectiveState("world", 0, completed + 1, "", None, completed),)
    assert decided(cause("retry"), rows=STEP_FIRST, standings=states).do == "investigate"


# ── errors that a restart does not change ───────────────────────────────────────────────────────────────────────────


LASTING_LINES = [
    "write failed: Read-only file system",
    "open /data/a.bin: Permission denied",
    "OSError: [Errno 2] No such file or directory: '/ckpt/7'",
    "the backend is not supported on this device",
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80",
    "HTTP Error 404: Not Found",
    "CUDA error: too many resources requested for launch",
]


@pytest.mark.parametrize("line", LASTING_LINES)
def test_error_that_stays_is_fixed_first(line):
    decision = decided(cause("retry", proof=line), progress=reached(40))
    assert (decision.do, decision.attempts_left) == ("fix-first", 0)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_lasting_error_is_quoted_as_the_reason(lang):
    decision = decided(cause("retry", proof="open: Permission denied"), lang=lang)
    assert decision.because == catalogue(lang)("because.lasting", said="Permission denied")


@pytest.mark.parametrize("line", ["read: Connection reset by peer", "recv: Connection timed out", "Broken pipe"])
def test_lost_peer_may_come_back(line):
    assert decided(cause("retry", proof=line)).do == "requeue"


@pytest.mark.parametrize("line", ["connect: Connection refused", "connect: No route to host"])
def test_server_that_never_listened_is_fixed_first(line):
    assert decided(cause("retry", proof=line)).do == "fix-first"
    assert decided(cause("retry", proof=line), progress=reached(40)).do == "requeue"


def test_line_of_the_last_progress_is_no_error():
    line = "step 40 permission denied for telemetry"
    progress = Progress("step", "40", Evidence(Line("f", 7, line)))
    assert decided(cause("retry", proof=line), progress=progress).do == "requeue"


def test_ordered_end_stays_ordered_whatever_its_lines_say():
    rows = (DecisionRow("", "do-nothing"),)
    assert decided(cause("retry", proof="Permission denied"), rows=rows).do == "do-nothing"


def test_every_lasting_code_is_in_a_catalogue():
    known = {entry.name for name in CATALOGUES for entry in codes_of(name).entries}
    assert {*LASTING_CODES, *UNREACHED_CODES} - known == set()


# ── corrections ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", ["stop", "retry", "none"])
def test_signature_without_a_row_is_decided_by_its_action(action):
    assert decided(cause(action, "a")).do == DO[action]
    assert decided(cause(action, "a")).hosts == ()


def test_host_to_leave_out_is_named_and_one_attempt_is_left():
    decision = decided(cause("exclude", "b"))
    assert (decision.do, decision.hosts, decision.attempts_left) == ("requeue-without-host", ("b",), 1)


def test_unknown_host_is_to_be_found_first():
    decision = decided(cause("exclude"))
    assert (decision.do, decision.hosts, decision.attempts_left) == ("investigate", (), 0)
    assert "Find the host" in decision.sentence


def test_most_of_the_hosts_are_not_left_out():
    assert decided(cause("exclude", "a", "b", "c")).do == "investigate"
    assert decided(cause("exclude", "a", "b")).do == "requeue-without-host"


def test_cause_that_is_not_certain_is_investigated():
    assert decided(cause("retry", confidence=0.59)).do == "investigate"
    assert decided(cause("retry", confidence=0.6)).do == "requeue"


def test_job_that_still_runs_is_investigated_now():
    decision = decided(cause("retry"), hung=True)
    assert (decision.do, "now" in decision.sentence) == ("investigate", True)


def test_stricter_decision_of_two_faults_counts():
    assert (
        decided(cause("retry"), others=(cause("stop", signature="host.disk-full", confidence=0.8),)).do == "fix-first"
    )
    assert decided(cause("retry"), others=(cause("stop", signature="host.disk-full", confidence=0.1),)).do == "requeue"


def test_finished_job_needs_nothing():
    assert decide(Diagnosis("j", "finished"), catalogue("en")).do == "do-nothing"


@pytest.mark.parametrize("verdict", ["no-end-seen", "nothing-to-judge", "unknown"])
def test_verdict_without_a_cause_is_investigated(verdict):
    assert decide(Diagnosis("j", verdict), catalogue("en")).do == "investigate"


# ── earlier attempts ────────────────────────────────────────────────────────────────────────────────────────────────


def test_same_cause_again_without_progress_is_investigated():
    decision = decided(cause("retry"), run(LOST, at=reached(40)), run(LOST, at=reached(40), told=True))
    assert decision.do == "investigate"
    assert decision.because == "2 attempts failed by net.peer-closed without progress in between."


def test_same_cause_again_after_progress_is_requeued():
    decision = decided(cause("retry"), run(LOST, at=reached(40)), run(LOST, at=reached(900), told=True))
    assert decision.do == "requeue"
    assert "step 40, now step 900" in decision.because


def test_fault_of_the_program_is_fixed_first_whatever_the_progress():
    assert decided(cause("stop"), run(LOST, at=reached(40)), run(LOST, at=reached(900), told=True)).do == "fix-first"


def test_earlier_attempt_with_another_cause_does_not_count():
    runs = (run("cuda.oom", at=reached(40)), run(LOST, at=reached(40), told=True))
    assert decided(cause("retry"), *runs).do == "requeue"


def test_attempt_without_steps_made_no_progress():
    assert decided(cause("retry"), run(LOST, at=reached(40)), run(LOST, told=True)).do == "investigate"
    assert decided(cause("retry"), run(LOST), run(LOST, told=True)).do == "investigate"


def test_steps_that_start_over_in_each_epoch_are_compared_by_epoch():
    runs = (run(LOST, at=reached(400, epoch="1")), run(LOST, at=reached(30, epoch="3"), told=True))
    assert decided(cause("retry"), *runs).do == "requeue"


def test_host_that_two_attempts_name_is_left_out():
    decision = decided(cause("retry", "b", "c"), run(LOST, "b"), run(LOST, "b", "c", at=reached(9), told=True))
    assert (decision.do, decision.hosts, decision.because) == ("requeue-without-host", ("b",), "2 attempts name b.")


def test_fault_of_the_program_excludes_no_host():
    assert decided(cause("stop", "b"), run(LOST, "b"), run(LOST, "b", told=True)).do == "fix-first"


def test_host_named_by_a_scheduler_or_program_fault_is_not_excluded():
    runs = (run("job.preempted", "b", at=reached(4)), run("job.preempted", "b", at=reached(9), told=True))
    assert decided(cause("retry", "b", signature="job.preempted"), *runs).do == "requeue"


def test_only_attempts_without_progress_in_between_are_counted():
    runs = [run(LOST, at=reached(n)) for n in (3, 9, 9, 8)]
    decision = decided(cause("retry"), *runs, run(LOST, at=reached(8), told=True))
    assert (decision.do, decision.because[:10]) == ("investigate", "4 attempts")


def test_earlier_jobs_of_the_same_file_do_not_count():
    runs = (run(LOST, "b", at=reached(4)), run(LOST, "b", at=reached(4), told=True, kind="job"))
    assert decided(cause("retry", "b"), *runs).do == "requeue"


def test_two_unexplained_failures_at_the_same_step_are_told():
    assert "2 attempts" in decided(None, run(None, at=reached(7)), run(None, at=reached(7), told=True)).because
    assert "2 attempts" not in decided(None, run(None, at=reached(7)), run(None, at=reached(8))).because


def test_restart_that_fails_the_same_way_says_so_in_every_report(knowledge):
    lost = "[rank1]: RuntimeError: Connection closed by peer [10.0.0.7]:4411\n"
    log = BANNER + steps(1, 5) + lost + RESTART.format(left=2) + steps(1, 5) + lost + summary(3)
    diagnosis = diagnose_log(log, knowledge)
    assert (diagnosis.decision.do, diagnosis.to_dict()["decision"]["do"]) == ("investigate", "investigate")
    for name in ("text", "markdown", "html", "jira"):
        report = " ".join(render(diagnosis, name, width=140).split())
        assert f"2 attempts failed by {diagnosis.causes[0].signature} without" in report


def test_settings_that_failed_before_are_changed_first(knowledge):
    log = BANNER + steps(1, 5) + OOM + RESTART.format(left=2) + steps(1, 5) + OOM + summary(3)
    assert diagnose_log(log, knowledge).decision.do == "resubmit-with-changes"


def test_exception_of_the_program_is_fixed_first_even_after_progress(knowledge):
    log = BANNER + steps(1, 5) + NO_KEY + RESTART.format(left=2) + steps(4, 90) + NO_KEY + summary(1)
    assert diagnose_log(log, knowledge).decision.do == "fix-first"


def test_reason_is_in_the_language_of_the_report():
    assert "没有进展" in decided(cause("retry"), run(LOST), run(LOST, told=True), lang="zh").because


@pytest.mark.parametrize(("lids", "do"), [((7, 7), "investigate"), ((7, 8), "requeue-without-host")])
def test_host_whose_processes_fail_towards_one_peer_is_not_left_out(lids, do, knowledge):
    lines = [
        f"[gx1:{pid}:0:{pid}] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB (synd 0x15 vend 0x81 hw_synd 0/0)\n"
        f"[gx1:{pid}:0:{pid}] ib_mlx5_log.c:139  DCI QP 0xa9f wqe[0]: SEND s-e [rqpn 0xa66 rlid {lid}] [inl len 18]\n"
        for pid, lid in zip((51, 52), lids, strict=True)
    ]
    assert diagnose_log("".join(lines), knowledge).decision.do == do


def test_setting_in_the_table_of_decisions_is_a_change_that_a_program_may_make():
    rows = (DecisionRow("", "resubmit-with-changes", "NCCL_NVLS_ENABLE=0"),)
    decision = decide(OUT_OF_MEMORY, catalogue("en"), lambda _: rows)
    assert decision.headline == "RESUBMIT WITH NCCL_NVLS_ENABLE=0"
    assert decision.changes == (Change("NCCL_NVLS_ENABLE", "", "0"),)


@pytest.mark.parametrize("lang", languages())
@pytest.mark.parametrize(("do", "key"), [("resubmit-with-changes", "head.change."), ("fix-first", "head.fix.")])
def test_things_of_the_table_are_those_that_have_words(do, key, lang):
    words = {name.removeprefix(key) for name in catalogue(lang).table if name.startswith(key)}
    assert {*THINGS[do]} == words - {"setting"}


@pytest.mark.parametrize("lang", languages())
def test_looks_of_the_table_are_those_that_have_words(lang):
    key = "look.at."
    words = {name.removeprefix(key) for name in catalogue(lang).table if name.startswith(key)}
    assert {*LOOKS} == {word.removesuffix(".host") for word in words}


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ("resubmit-with-changes\tmoon", "address, arguments, "),
        ("fix-first\tmoon", "checkpoint, code, "),
        ("fix-first\tmemory", "checkpoint, code, "),
        ("fix-first\tMOON=1", "name a thing, without settings"),
        ("investigate\tmoon", "counters, dead, "),
        ("requeue\tmemory", "take the fourth column out"),
    ],
)
def test_thing_without_words_is_a_fault_that_names_the_known_ones(row, known, tmp_path):
    (tmp_path / "decisions.tsv").write_text(f"# head\nnet.dns\t-\t{row}\n")
    errors: list[RuleError] = []
    assert read_decisions(tmp_path / "decisions.tsv", errors) == {}
    (error,) = errors
    assert error.where == f"{tmp_path / 'decisions.tsv'}:2"
    assert row.partition("\t")[2] in str(error)
    assert known in error.help


LIMIT = "slurmstepd: error: *** JOB 90412 ON gx11 CANCELLED AT 2031-05-11T08:30:21 DUE TO TIME LIMIT ***"
SAVED = ("step 10/90 loss 2.1", "Saving checkpoint to /flash/run12/step_10", "step 20/90 loss 2.0")


@pytest.mark.parametrize(
    "setting",
    [
        "resume_from: null",
        '    "resume_ckpt_path": null,',
        "settings {'lr': 0.1, 'resume': False}",
        "Namespace(lr=0.1, resume_from_checkpoint=None, steps=90)",
    ],
)
@pytest.mark.parametrize(
    ("then", "do"),
    [([], "resubmit-with-changes"), (["Resuming from step 5"], "requeue")],
    ids=["nothing is resumed", "resumed all the same"],
)
def test_time_limit_of_a_job_that_resumes_nothing_is_no_requeue(knowledge, setting, then, do):
    decision = diagnose_log("\n".join([setting, *then, *SAVED, LIMIT]) + "\n", knowledge).decision
    assert (decision.do, decision.attempts_left) == (do, int(do == "requeue"))


@pytest.mark.parametrize("line", ["resume_from: /flash/run12", "resume_download: False", "auto resume on"])
def test_time_limit_of_a_job_that_may_resume_is_a_requeue(knowledge, line):
    assert diagnose_log("\n".join([line, *SAVED, LIMIT]) + "\n", knowledge).decision.do == "requeue"


@pytest.mark.parametrize(
    ("version", "name", "told"),
    [
        ("2.5.1+cu124", "TORCH_NCCL_TRACE_BUFFER_SIZE", False),
        ("2.8.0", "TORCH_NCCL_TRACE_BUFFER_SIZE", False),
        ("2.9.0", "TORCH_FR_BUFFER_SIZE", False),
        ("2.10.1", "TORCH_FR_BUFFER_SIZE", False),
        ("", "TORCH_FR_BUFFER_SIZE", True),
    ],
)
def test_setting_of_the_recorder_has_the_name_of_this_version(version, name, told):
    diagnosis = Diagnosis("j", "failed", (cause("retry"),))
    decision = decide(diagnosis, catalogue("en"), lambda _: RECORDER, torch=lambda: version)
    assert [change.name for change in decision.changes] == [name, "TORCH_NCCL_DUMP_ON_TIMEOUT"]
    assert f"`{name}=2000" in decision.steps[0].text
    assert ("before PyTorch 2.9: `TORCH_NCCL_TRACE_BUFFER_SIZE`" in decision.steps[0].text) == told
