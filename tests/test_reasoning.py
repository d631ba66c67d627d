"""Reasoning on hand-made events: conditions, cause before consequence, outlived failures, honest verdicts."""

from __future__ import annotations

from handmade_records import make_record
from msgspec.structs import replace
from rule_texts import BOOK, packed_words

from logdoctor.model import CALM, Line, Rule, Source, Symptom
from logdoctor.reasoning import Reasoner
from logdoctor.reasoning.findings.conditions import version_in
from logdoctor.reasoning.findings.wording import compress, fill
from logdoctor.reasoning.job_state import JobState
from logdoctor.render.catalogue import catalogue


def rule(name, kind, role="", failure_class="", when=None, strength="strong", culprit=None, **more):
    """Return a rule of the failure class and the role that its name has in signatures.tsv, unless others are given."""
    agreed = BOOK.signatures.get(name)
    failure_class = failure_class or (agreed.failure_class if agreed else "program fails")
    role = role or ("symptom" if BOOK.mechanism.classes[failure_class].side == "seen" else "cause")
    symptoms = (
        tuple(Symptom(n, kind=k) for n, k in kind.items()) if isinstance(kind, dict) else (Symptom("s", kind=kind),)
    )
    words = packed_words(f"{name} on rank {{rank}}", "cause", "do")
    condition = when or {"any": [s.name for s in symptoms]}
    of = BOOK.mechanism.classes[failure_class]
    more = {"side": of.side, "place": of.scope, **more}
    return Rule(name, name, "stop", role, strength, words, symptoms, condition, culprit or {}, failure_class, **more)


def records(*rows):
    """Rows of (kind, rank, level) or (kind, rank, level, fields)."""
    for order, row in enumerate(rows):
        kind, rank, level, fields, time = (*row, {}, None)[:5] if len(row) == 3 else (*row, None)[:5]
        source = Source(rank=rank, time=time)
        yield make_record(Line("job.log", order + 1, kind), kind, kind, source, level, fields, order)


def conclude(rules, *rows, hung=False):
    reasoner = Reasoner(rules, (), BOOK.mechanism, hung=hung)
    for record in records(*rows):
        reasoner.observe(record)
    return reasoner.conclude("job", catalogue("en"))


OOM = rule("cuda.oom", "python.oom")
TIMEOUT = rule("collective.timeout", "c10d.timeout")
SEGFAULT = rule("app.segfault", "crash.segv")
EXCEPTION = rule("app.exception", "python.*", role="fallback")
HARMLESS = rule("benign.gid", "nccl.gid", role="benign")
RULES = [OOM, TIMEOUT, SEGFAULT, EXCEPTION, HARMLESS]


def names(diagnosis):
    return [c.signature for c in diagnosis.causes]


def test_log_without_failures_is_healthy():
    assert conclude(RULES, ("progress.step", 0, "info")).verdict in CALM


def test_failure_without_a_rule_is_unknown_with_its_line_as_evidence():
    diagnosis = conclude(RULES, ("mpi.help", 0, "error"))
    assert diagnosis.verdict == "unknown"
    assert [e.line.number for e in diagnosis.unexplained] == [1]


def test_cause_explains_an_earlier_symptom_of_another_rank():
    diagnosis = conclude(RULES, ("c10d.timeout", 1, "error"), ("python.oom", 3, "fatal"))
    assert names(diagnosis) == ["cuda.oom"]
    assert diagnosis.symptoms[0].explained_by == "cuda.oom"
    assert diagnosis.causes[0].culprit.ranks == (3,)


def test_symptom_without_a_cause_is_the_answer():
    assert names(conclude(RULES, ("c10d.timeout", 1, "error"))) == ["collective.timeout"]


def test_abort_after_a_timeout_of_the_same_rank_is_a_consequence():
    abort = rule("app.segfault", "crash.abort", role="fallback")
    rows = [("c10d.timeout", 1, "error"), ("crash.abort", 1, "fatal")]
    assert names(conclude([TIMEOUT, abort], *rows)) == ["collective.timeout"]


def test_crash_after_a_timeout_of_the_same_rank_outweighs_it():
    rows = [("c10d.timeout", 1, "error"), ("crash.segv", 1, "fatal")]
    assert names(conclude(RULES, *rows))[0] == "app.segfault"


def test_crash_before_a_timeout_of_another_rank_is_the_cause():
    assert names(conclude(RULES, ("crash.segv", 3, "fatal"), ("c10d.timeout", 1, "error"))) == ["app.segfault"]


def test_later_cause_does_not_explain_an_earlier_symptom_of_its_process():
    diagnosis = conclude(RULES, ("c10d.timeout", 2, "error"), ("python.oom", 2, "fatal"))
    assert "collective.timeout" in names(diagnosis)
    assert diagnosis.symptoms == () or diagnosis.symptoms[0].explained_by is None


def test_fallback_matches_only_records_without_another_rule():
    assert names(conclude(RULES, ("python.oom", 0, "fatal"))) == ["cuda.oom"]
    assert names(conclude(RULES, ("python.other", 0, "fatal"))) == ["app.exception"]


def test_lines_of_a_benign_rule_are_no_failures():
    assert conclude(RULES, ("nccl.gid", 0, "error")).verdict in CALM


def test_failure_with_later_steps_is_outlived():
    rows = [("python.oom", 0, "error"), *[("progress.step", 0, "info")] * 4]
    assert conclude(RULES, *rows).verdict in CALM


def test_failure_with_later_steps_of_another_rank_is_the_cause():
    rows = [("python.oom", 0, "error"), *[("progress.step", 1, "info")] * 4]
    assert names(conclude(RULES, *rows)) == ["cuda.oom"]


def test_two_independent_faults_are_two_causes_in_log_order():
    disk = rule("host.disk-full", "os.enospc")
    diagnosis = conclude([OOM, disk], ("os.enospc", 0, "error"), ("python.oom", 1, "error"))
    assert names(diagnosis) == ["host.disk-full", "cuda.oom"]


def test_hint_before_a_proof_is_ranked_below_it():
    hint = rule("net.dns", "os.other", strength="hint")
    assert names(conclude([OOM, hint], ("os.other", 0, "error"), ("python.oom", 1, "error")))[0] == "cuda.oom"


def test_abort_reported_for_a_rank_that_lost_its_peers_is_a_consequence():
    closed = rule("net.peer-closed", "nccl.closed", culprit={"ranks": "ranks"})
    abort = rule("app.segfault", "elastic.exit", role="fallback")
    rows = [("nccl.closed", 8, "error"), ("elastic.exit", 8, "error")]
    assert names(conclude([closed, abort], *rows)) == ["net.peer-closed"]


def test_late_report_explains_an_earlier_line():
    kill = rule("host.oom-kill", "slurm.oom")
    rows = [("crash.segv", 1, "fatal"), ("slurm.oom", None, "error")]
    assert names(conclude([*RULES, kill], *rows)) == ["host.oom-kill"]


def test_hang_without_a_failure_line_is_unknown():
    assert conclude(RULES, ("progress.step", 0, "info"), hung=True).verdict == "unknown"


def test_sequence_holds_only_in_its_order():
    ordered = rule("x.seq", {"a": "d.a", "b": "d.b"}, when={"sequence": ["a", "b"]})
    assert names(conclude([ordered], ("d.a", 0, "info"), ("d.b", 0, "info"))) == ["x.seq"]
    assert names(conclude([ordered], ("d.b", 0, "info"), ("d.a", 0, "info"))) == []


def test_match_of_a_symptom_in_none_rejects_the_rule():
    cond = rule("x.none", {"a": "d.a", "b": "d.b"}, when={"any": ["a"], "none": ["b"]})
    assert names(conclude([cond], ("d.a", 0, "info"))) == ["x.none"]
    assert names(conclude([cond], ("d.a", 0, "info"), ("d.b", 0, "info"))) == []


def test_count_rejects_a_single_record():
    cond = rule("x.count", {"a": "d.a"}, when={"any": ["a"], "count": {"a": ">=2"}})
    assert names(conclude([cond], ("d.a", 0, "info"), ("d.a", 1, "info"))) == ["x.count"]
    assert names(conclude([cond], ("d.a", 0, "info"))) == []


def test_apart_holds_only_for_different_ranks():
    cond = rule("x.apart", {"a": "d.a", "b": "d.b"}, when={"all": ["a", "b"], "apart": ["a", "b"]})
    assert names(conclude([cond], ("d.a", 0, "info"), ("d.b", 1, "info"))) == ["x.apart"]
    assert names(conclude([cond], ("d.a", 0, "info"), ("d.b", 0, "info"))) == []


def test_differ_compares_a_field():
    cond = rule("x.other", {"a": "d.a"}, when={"any": ["a"], "differ": {"a": "seq"}})
    assert names(conclude([cond], ("d.a", 0, "info", {"seq": 1}), ("d.a", 1, "info", {"seq": 1}))) == []
    assert names(conclude([cond], ("d.a", 0, "info", {"seq": 1}), ("d.a", 1, "info", {"seq": 2}))) == ["x.other"]


def test_rule_with_a_version_range_holds_only_for_that_version():
    cond = rule("x.old", {"a": "d.a"}, when={"any": ["a"], "job": {"nccl": ">=2.24,<2.27.3"}})
    rows = [("d.a", 0, "info")]
    assert names(conclude([cond], ("nccl.version", 0, "info", {"version": "2.26.5+cuda12.9"}), *rows)) == ["x.old"]
    assert names(conclude([cond], ("nccl.version", 0, "info", {"version": "2.27.3+cuda12.9"}), *rows)) == []


def test_version_with_a_suffix_is_compared_and_an_unreadable_one_is_not():
    assert version_in("2.21.5+cuda12.4", ">=2.21,<2.22")
    assert not version_in("unknown", ">=1")


def test_braces_in_a_value_are_not_filled():
    assert fill("{message}", {"message": "{rank}"}) == "{rank}"


def test_words_for_a_known_value_are_left_out_without_it():
    template = "A process{pid? (pid {pid}{worker?, worker {worker}})} ended"
    assert fill(template, {"pid": 7, "worker": 2}) == "A process (pid 7, worker 2) ended"
    assert fill(template, {"pid": 7}) == "A process (pid 7) ended"
    assert fill(template, {"worker": 2}) == "A process ended"


def test_rank_at_the_start_of_a_text_is_capitalised():
    assert fill("{who} ended first", {"who": "rank 3 (gx07)"}) == "Rank 3 (gx07) ended first"
    assert fill("{who} ended first", {"who": "gx07"}) == "gx07 ended first"
    assert fill("on {peer}", {"peer": "rank 3"}) == "on rank 3"
    assert fill("{who} 最先结束", {"who": "rank 3"}) == "rank 3 最先结束"


def test_value_with_a_full_stop_at_the_end_gives_one_full_stop():
    assert (
        fill("It said {message}. Then {message} ended.", {"message": "no more."})
        == "It said no more. Then no more. ended."
    )


def test_closing_bracket_without_an_opening_one_is_dropped():
    assert fill("({what})", {"what": "poll failed (ofi.c:7): gone))"}) == "(poll failed (ofi.c:7): gone)"


def test_several_ranks_give_the_plural():
    assert fill("Rank {late} and rank {odd}", {"late": (1, 2), "odd": (4,)}) == "Ranks 1-2 and rank 4"
    assert fill("crank {late}", {"late": (1, 2)}) == "crank 1-2"
    assert fill("在 rank {late} 上", {"late": (1, 2)}) == "在 rank 1-2 上"


def test_consecutive_ranks_are_compressed_to_ranges():
    assert compress((0, 1, 2, 5, 7, 8)) == "0-2,5,7-8"
    assert compress(("b", "a")) == "b, a"


def observe_rows(*lines):
    """Return the state after rows of (kind, source, fields), and the last record."""
    state = JobState()
    for order, (kind, source, fields) in enumerate(lines):
        record = make_record(Line("job.log", order, kind), kind, kind, source, "info", fields, order)
        state.observe(record)
    return state, record


COMM = {"group_rank": 10, "nranks": 16}


def test_tag_of_a_process_that_printed_its_rank_gives_the_rank():
    tagged = Source(local_rank=2, host="n1", pid=7)
    state, last = observe_rows(("nccl.comm_init", tagged, COMM), ("python.traceback", Source(local_rank=2), {}))
    assert state.processes.rank_of(last) == 10


def test_tag_of_two_processes_gives_no_rank():
    first, second = Source(local_rank=2, host="n1", pid=7), Source(local_rank=2, host="n2", pid=7)
    other = {"group_rank": 2, "nranks": 16}
    rows = (
        ("nccl.comm_init", first, COMM),
        ("nccl.comm_init", second, other),
        ("python.traceback", Source(local_rank=2), {}),
    )
    state, last = observe_rows(*rows)
    assert state.processes.rank_of(last) is None


def test_rank_in_a_small_group_is_not_the_global_rank():
    state, last = observe_rows(("c10d.watchdog_timeout", Source(local_rank=7), {"group_rank": 1}))
    assert state.processes.rank_of(last) is None


TERMINATED = rule("job.preempted", "slurm.cancelled", role="fallback", failure_class="told to end")
RAISED = rule("app.exception", "python.*", role="fallback")


def told_to_end_after(seconds):
    reasoner = Reasoner([TERMINATED, RAISED], (), BOOK.mechanism)
    rows = (("slurm.cancelled", None, "error", 100.0), ("python.traceback", 3, "fatal", 100.0 - seconds))
    for order, (kind, rank, level, time) in enumerate(rows):
        source = Source(rank=rank, time=time, host=f"n{order}")
        line = Line(f"{order}.log", 1, kind)
        reasoner.observe(make_record(line, kind, kind, source, level, {}, order))
    return names(reasoner.conclude("job", catalogue("en")))


def test_exception_of_a_rank_explains_an_order_to_end_within_the_clock_skew():
    assert told_to_end_after(5.0) == ["app.exception"]
    assert told_to_end_after(-20.0) == ["app.exception"]
    assert told_to_end_after(-300.0) == ["job.preempted"]


REFUSED = rule("net.socket-connect", "nccl.warn", role="symptom", culprit={"peers": "peer"})


def refused(*others, nranks=None):
    """Return the culprit of a log in which only rank 8 of n1 could not connect, with lines of ``others``."""
    reasoner = Reasoner([REFUSED], (), BOOK.mechanism)
    for order, host in enumerate((*others, "n1")):
        kind, level = ("nccl.warn", "error") if host == "n1" else ("nccl.env", "info")
        fields = {"nranks": nranks} if nranks else {}
        source = Source(rank=8 if host == "n1" else order, host=host)
        reasoner.observe(make_record(Line("job.log", order, kind), kind, kind, source, level, fields, order))
    return reasoner.conclude("job", catalogue("en")).causes[0].culprit


def test_rank_that_alone_could_not_connect_is_named_if_other_hosts_have_logs():
    assert refused("n0", "n2").hosts == ("n1",)
    assert refused("n0", "n2").ranks == (8,)


def test_rank_that_could_not_connect_is_not_named_without_logs_of_other_hosts():
    for culprit in (refused(nranks=16), refused()):
        assert (culprit.scope, culprit.ranks, culprit.hosts, culprit.reporters.ranks) == ("not-told", (), (), (8,))


def test_repeated_unknown_failure_weighs_as_much_as_a_single_failure():
    oom = rule("oom", "cuda.oom")
    once, often, many = (
        conclude([oom], ("cuda.oom", 3, "fatal"), *((kind, 1, "error") for kind in kinds))
        for kinds in (["strange"], ["strange"] * 9, [f"strange.{n}" for n in range(9)])
    )
    sure = [diagnosis.causes[0].confidence for diagnosis in (once, often, many)]
    assert sure[0] == sure[1] > sure[2]


def test_launcher_ending_the_rest_of_a_job_keeps_the_confidence():
    oom = rule("oom", "cuda.oom")
    rest = [("frameworks.killed", None, "error"), ("slurm.stopped", None, "error")]
    alone, followed = (conclude([oom], ("cuda.oom", 3, "fatal"), *more) for more in ([], rest))
    assert followed.causes[0].confidence == alone.causes[0].confidence


def test_pid_gives_the_rank_only_on_its_host():
    state = JobState()
    for order, (rank, host) in enumerate([(3, "10.0.0.8"), (5, "10.0.0.9")]):
        state.observe(
            make_record(Line("a", order, ""), "c10d.x", "", Source(rank=rank, host=host, pid=41), "info", {}, order)
        )
    asked = ["10.0.0.7", "10.0.0.9", "gx7", ""]
    assert [state.processes.rank_at(host, 41) for host in asked] == [None, 5, None, None]


def test_line_with_several_symptoms_of_a_rule_is_quoted_once():
    timeout = rule("collective.timeout", {"by_kind": "c10d.timeout", "by_star": "c10d.*"}, role="symptom")
    diagnosis = conclude(
        [OOM, timeout], ("python.oom", 3, "fatal"), *[("c10d.timeout", rank, "error") for rank in range(3)]
    )
    assert [e.line.number for e in diagnosis.symptoms[0].evidence] == [2, 3, 4]


def test_explained_finding_can_name_the_culprit_ranks_of_its_cause():
    words = packed_words("waited{awaited? for {awaited}}", "c", "r")
    late = replace(rule("a.waited", "k.late", failure_class="waits in vain"), packed_words=words)
    died = rule("a.died", "k.died")
    diagnosis = conclude([died, late], ("k.died", 3, "fatal"), ("k.late", 1, "error"))
    assert [s.title for s in diagnosis.symptoms] == ["waited for rank 3"]
    assert conclude([late], ("k.late", 1, "error")).causes[0].title == "waited"
