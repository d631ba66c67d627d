"""The rank table: host, first failure and role of each rank, and its lines in a report."""

from __future__ import annotations

import pytest
from handmade_records import make_record
from rule_texts import BOOK, packed_words

from logdoctor.model import Evidence, Line, Moment, RankRow, Rule, Source, Symptom
from logdoctor.reasoning import Reasoner
from logdoctor.reasoning.job_state import JobState
from logdoctor.render.catalogue import catalogue
from logdoctor.render.rank_table import rank_lines

WORDS = packed_words("title", "cause", "do")
ANY = {"any": ["s"]}


def rule(name, kind, role="cause", action="stop", culprit=None, failure_class="program fails", **more):
    return Rule(
        name, name, action, role, "strong", WORDS, (Symptom("s", kind=kind),), ANY, culprit or {}, failure_class, **more
    )


OOM = rule("cuda.oom", "cuda.oom", failure_class="gpu memory out")
TIMEOUT = rule(
    "collective.timeout",
    "c10d.watchdog_timeout",
    role="symptom",
    failure_class="waits in vain",
    side="seen",
    place="group",
)
LATE = rule(
    "collective.straggler",
    "ledger.straggler",
    culprit={"ranks": "late", "hosts": "late_hosts"},
    failure_class="late",
)
NODE = rule("host.node-failure", "slurm.node", action="exclude", culprit={"ranks": "nobody", "hosts": "hosts"})


class Log:
    """The records of a job, in one file unless another is named."""

    def __init__(self, *rules, ranks=None):
        self.reasoner, self.order = Reasoner(rules, (), BOOK.mechanism), 0
        self.reasoner.state.processes.expected = ranks

    def add(self, kind, rank=None, level="info", text="", file="job.log", host=None, pid=None, tag=None, **fields):
        self.order += 1
        source = Source(rank=rank, local_rank=tag, host=host, pid=pid)
        line = Line(file, self.order, text or kind)
        self.reasoner.observe(make_record(line, kind, line.text, source, level, fields, self.order))
        return self

    def waits(self, *ranks, seq=40):
        for rank in ranks:
            self.add("c10d.watchdog_timeout", rank, "error", seq=seq, op="ALLREDUCE")
        return self

    def print_lines(self, *ranks, **more):
        for rank in ranks:
            self.add("nccl.env", rank, **more)
        return self

    @property
    def job_summary(self):
        return self.reasoner.conclude("job", catalogue("en")).job

    @property
    def rows(self):
        return {row.rank: row for row in self.job_summary.rank_table}

    @property
    def roles(self):
        return {rank: row.role for rank, row in self.rows.items()}


def test_blamed_rank_is_the_culprit_and_waiting_ranks_are_victims():
    rows = Log(OOM, TIMEOUT).add("cuda.oom", 2, "fatal").waits(0, 1).rows
    assert {rank: row.role for rank, row in rows.items()} == {0: "victim", 1: "victim", 2: "culprit"}
    assert (rows[2].failure, rows[0].failure, rows[0].waits_for) == ("cuda.oom", "collective.timeout", "ALLREDUCE 40")


def test_ranks_that_only_waited_are_failed():
    assert set(Log(TIMEOUT).waits(0, 1, 2).roles.values()) == {"failed"}


def test_rank_that_never_started_names_the_awaited_collective():
    log = Log(LATE, TIMEOUT).waits(0, 1)
    for rank, work in ((0, 40), (1, 40)):
        log.add("c10d.pg_state", rank, "error", pg="0", work=work, last_enqueued=41)
    log.add("c10d.dump_signal", 2, "error", pg="0", last_enqueued=39)
    assert (log.rows[2].role, log.rows[2].never_started) == ("culprit", "ALLREDUCE 40")


def test_row_holds_moments_of_last_progress_and_last_line():
    row = Log(OOM).add("progress.step", 1, value=7).print_lines(1, 0).add("cuda.oom", 0, "fatal").rows[1]
    assert (row.progressed, row.heard) == (Moment("job.log", 1), Moment("job.log", 2))


def test_standings_hold_the_collectives_of_each_rank():
    log = Log(LATE, TIMEOUT).waits(0)
    log.add("c10d.pg_state", 0, "error", pg="0", work=40, last_enqueued=41, last_completed=39)
    log.add("c10d.dump_signal", 1, "error", pg="0", last_enqueued=39, last_completed=39)
    states = [(s.rank, s.waits, s.op, s.started, s.completed) for s in log.job_summary.standings]
    assert states == [(0, 40, "ALLREDUCE", 41, 39), (1, None, "", 39, 39)]


def test_settings_of_the_environment_are_listed_by_name():
    log = Log(OOM).add("nccl.env", 0, name="NCCL_DEBUG", value="INFO").add("cuda.oom", 0, "fatal")
    assert log.job_summary.environment == (("NCCL_DEBUG", "INFO"),)


def test_rank_that_kept_others_waiting_names_its_work():
    log = Log(LATE, TIMEOUT).add("progress.phase", 0, text="Map: 12%", phase="data", value=12, total=100)
    assert log.waits(1, 2).rows[0].busy_with == "Map: 12%"


def test_rank_without_lines_is_missing():
    assert Log(OOM, ranks=4).print_lines(0).add("cuda.oom", 2, "fatal").roles[3] == "missing"


def test_rank_without_lines_on_a_node_with_lines_is_silent():
    log = Log(OOM, ranks=8).add("nccl.comm_layout", 0, pid=1, group_rank=0, nranks=8, nnodes=2, local_ranks=4)
    roles = log.print_lines(0, 1).add("cuda.oom", 2, "fatal").roles
    assert (roles[3], roles[4]) == ("silent", "missing")


def test_rank_with_lines_after_the_failure_is_bystander_else_silent():
    roles = Log(OOM).print_lines(0, 1).add("cuda.oom", 2, "fatal").print_lines(1).roles
    assert (roles[0], roles[1]) == ("silent", "bystander")


def test_rank_in_an_unordered_file_is_bystander():
    assert (
        Log(OOM).print_lines(0, file="rank0.log").add("cuda.oom", 2, "fatal", file="rank2.log").roles[0] == "bystander"
    )


def test_ranks_of_a_failed_host_are_culprits():
    log = Log(NODE).print_lines(0, host="n1").print_lines(1, host="n2").add("slurm.node", level="error", hosts=("n2",))
    assert log.roles == {0: "bystander", 1: "culprit"}


def test_failure_of_an_earlier_attempt_is_left_out_if_the_last_failed():
    log = Log(OOM, TIMEOUT).waits(0, 1).add("elastic.restart").print_lines(0, 1).add("cuda.oom", 1, "fatal")
    assert log.rows[0].first_failure is None
    assert log.rows[1].failure == "cuda.oom"


def test_equal_failure_of_two_attempts_keeps_the_first_line():
    log = Log(OOM).add("progress.step", 0).add("cuda.oom", 1, "fatal").add("x.odd", 2, "error", "first")
    log = log.add("elastic.restart").add("x.odd", 2, "error", "second")
    assert log.rows[2].first_failure.line.text == "first"


def test_healthy_job_has_no_table():
    assert not Log(OOM).print_lines(0, 1, 2).rows


def test_single_rank_gives_no_table():
    assert not Log(OOM).add("cuda.oom", 2, "fatal").rows


def test_row_holds_the_last_progress_of_its_rank():
    log = (
        Log(OOM)
        .add("progress.step", 0, unit="step", value=40, total=100)
        .add("progress.step", 1, unit="step", value=41)
    )
    rows = log.add("cuda.oom", 1, "fatal").rows
    assert (rows[0].last_progress, rows[1].last_progress) == ("step 40/100", "step 41")


# ── where each rank sits ────────────────────────────────────────────────────────────────────────────────────────────


def test_differing_versions_are_reported():
    told = ((0, "2.21.5"), (1, "2.21.5"), (2, "2.18.6"))
    line = Line("job.log", 1, "")
    records = [make_record(line, "nccl.version", "", Source(rank=rank), fields={"version": v}) for rank, v in told]
    versions = JobState().versions
    for count, version in enumerate(records, 1):
        versions.observe(version)
        apart = (("nccl", "2.18.6", (2,)), ("nccl", "2.21.5", (0, 1)))
        assert versions.differing() == (apart if count == 3 else ())


# ── for people ──────────────────────────────────────────────────────────────────────────────────────────────────────


def lines(*rows, file=""):
    return rank_lines(rows, catalogue("en"), file)


def victim(rank, **more):
    evidence = Evidence(Line("job.log", rank + 1, "timed out"), rank)
    fields = {"failure": "collective.timeout", "first_failure": evidence, "waits_for": "ALLREDUCE 4211", **more}
    return RankRow(rank, "victim", f"n{rank // 8}", **fields)


def test_thousand_ranks_give_two_lines():
    late = RankRow(512, "culprit", "n64", never_started="ALLREDUCE 4211")
    table = lines(*(victim(r) for r in range(512)), late, *(victim(r) for r in range(513, 1024)))
    assert [(row.ranks, row.role) for row in table] == [
        ("rank 512", "culprit"),
        ("ranks 0-511,513-1023", "victim"),
    ]
    assert table[0].failure == "never started ALLREDUCE 4211"
    assert table[1].failure == "collective.timeout in ALLREDUCE 4211"


def test_ranks_with_the_same_fate_give_no_table():
    assert lines(victim(0), victim(1)) == lines() == ()


def test_progress_of_a_single_rank_does_not_split_its_group():
    table = lines(RankRow(2, "culprit"), victim(0, last_progress="step 7"), victim(1))
    assert [(row.ranks, row.progress) for row in table] == [("rank 2", ""), ("ranks 0-1", "step 7")]


def test_ranks_in_different_collectives_get_separate_lines():
    assert len(lines(victim(0), victim(1, waits_for="BROADCAST 4211"), victim(2))) == 2


def test_many_kinds_of_rows_are_grouped_until_a_dozen_is_left():
    table = lines(RankRow(99, "culprit"), *(victim(r, last_progress=f"step {r}") for r in range(60)))
    assert [(row.ranks, row.progress) for row in table] == [("rank 99", ""), ("ranks 0-59", "step 0 … step 59")]


def test_unknown_lines_that_differ_in_numbers_share_a_line():
    rows = [victim(r, failure="", waits_for="") for r in range(3)]
    assert len(lines(RankRow(9, "culprit"), *rows)) == 2


@pytest.mark.parametrize(("file", "place"), [("", "job.log:1 …"), ("job.log", ":1 …")])
def test_file_of_the_answer_is_left_out_of_places(file, place):
    assert lines(RankRow(9, "culprit"), victim(0), victim(1), file=file)[1].location == place


def test_progress_under_a_launcher_tag_belongs_to_its_rank():
    log = Log(OOM, TIMEOUT)
    for rank, step in ((0, 7), (1, 6)):
        log.add("nccl.env", rank, tag=rank).add("progress.step", tag=rank, unit="step", value=step)
    rows = log.add("cuda.oom", 1, "fatal").waits(0).rows
    assert {rank: row.last_progress for rank, row in rows.items()} == {0: "step 7", 1: "step 6"}
