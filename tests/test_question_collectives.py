"""Collectives that did not end, and the rank that kept them from ending."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from failing_job import diagnose_log
from handmade_records import make_record
from question_probe import Probe

from logdoctor import diagnose
from logdoctor.model import Level, Line, Record, Source, Value
from logdoctor.reasoning.questions.collectives import collective_that_hangs, outlasted, straggler


class Log:
    """Records in reading order, read by the timeline and the state of a job."""

    def __init__(self, *, ranks: int | None = None) -> None:
        self.probe, self.order = Probe(), 0
        self.observe, self.state = self.probe.observe, self.probe.state
        self.state.processes.expected = ranks

    def add(
        self,
        kind: str,
        text: str = "",
        rank: int | None = None,
        level: Level = "error",
        *,
        host: str | None = None,
        time: float | None = None,
        **fields: Value,
    ) -> Log:
        self.order += 1
        source = Source(rank=rank, host=host, time=time)
        line = Line("job.log", self.order, text)
        record = make_record(line, kind, text, source, level, fields, self.order)
        self.observe(record)
        return self

    def waits(self, rank: int, seq: int, op: str = "ALLREDUCE", numel: int = 64) -> Log:
        return self.add("c10d.watchdog_timeout", rank=rank, seq=seq, op=op, numel_in=numel)

    def reports_state(self, rank: int, work: int | None, enqueued: int, pg: str = "0") -> Log:
        if work is None:
            return self.add("c10d.dump_signal", rank=rank, pg=pg, last_enqueued=enqueued)
        return self.add("c10d.pg_state", rank=rank, pg=pg, work=work, last_enqueued=enqueued)

    @property
    def records_by_kind(self) -> dict[str, Record]:
        return {
            e.kind.partition(".")[2]: e for e in reversed(self.probe.ask(collective_that_hangs, straggler, outlasted))
        }


def test_two_operations_under_one_number_are_a_mismatch() -> None:
    log = Log().waits(0, 40).waits(1, 40).waits(2, 40, "BROADCAST")
    found = log.records_by_kind["collective_mismatch"]
    assert (found.fields["op"], found.fields["other_op"], found.fields["odd"]) == ("ALLREDUCE", "BROADCAST", (2,))


def test_other_sizes_of_one_operation_are_a_mismatch() -> None:
    assert "collective_mismatch" in Log().waits(0, 40, numel=8).waits(1, 40, numel=9).records_by_kind


def test_ranks_two_numbers_apart_in_one_group_are_a_mismatch() -> None:
    log = Log().waits(0, 122).reports_state(0, 122, 127).waits(1, 126).reports_state(1, 126, 128)
    assert "collective_mismatch" in log.records_by_kind


def test_a_rank_one_number_ahead_is_no_mismatch() -> None:
    assert not Log().waits(0, 122).reports_state(0, 122, 127).waits(1, 123).reports_state(1, 123, 128).records_by_kind


def test_numbers_of_different_groups_are_not_compared() -> None:
    log = (
        Log()
        .waits(0, 216, "ALLTOALL")
        .reports_state(0, 216, 220, pg="119")
        .waits(1, 57)
        .reports_state(1, 57, 57, pg="112")
    )
    assert not log.records_by_kind


def test_sends_and_receives_are_not_compared() -> None:
    assert not Log().waits(0, 40, "SEND").waits(1, 40, "RECV").records_by_kind


def test_a_living_rank_that_has_not_enqueued_the_collective_is_late() -> None:
    log = Log().waits(0, 40).reports_state(0, 40, 41).waits(1, 40).reports_state(1, 40, 40).reports_state(2, None, 39)
    assert log.records_by_kind["straggler"].fields["late"] == (2,)


def test_many_ranks_behind_one_mean_that_the_one_ran_more() -> None:
    log = Log().waits(0, 41).reports_state(0, 41, 41).reports_state(1, None, 40).reports_state(2, None, 40)
    assert log.records_by_kind["collective_mismatch"].fields["odd"] == (0,)


def test_the_one_rank_that_spoke_and_does_not_wait_is_missing() -> None:
    log = Log(ranks=4).add("nccl.comm_init", rank=2, level="info").waits(0, 40).waits(1, 40).waits(3, 40)
    assert log.records_by_kind["missing_rank"].fields["missing"] == (2,)


def test_a_rank_whose_log_is_not_here_is_not_called_missing() -> None:
    assert not Log(ranks=4).waits(0, 40).waits(1, 40).waits(3, 40).records_by_kind


def test_work_under_way_before_the_time_out_is_a_straggler() -> None:
    log = Log().add("progress.phase", "Map: 12%", phase="data", value=12, total=100).waits(1, 2).waits(2, 2)
    assert (log.records_by_kind["straggler"].fields["phase"], log.records_by_kind["straggler"].fields["late"]) == (
        "data",
        (0,),
    )


def test_work_that_was_over_is_no_straggler() -> None:
    assert not Log().add("progress.phase", "Map: 100%", phase="data", value=100, total=100).waits(1, 2).records_by_kind


def test_work_of_a_rank_that_waits_itself_is_no_straggler() -> None:
    log = Log().add("progress.phase", "Saving model checkpoint", rank=1, phase="save").waits(1, 9).waits(2, 9)
    assert not log.records_by_kind


def test_work_that_ended_in_an_exception_is_no_straggler() -> None:
    log = Log().add("progress.phase", "Saving model checkpoint", phase="save")
    log.add("python.traceback", "OSError: gone", level="fatal").waits(1, 9)
    assert not log.records_by_kind


def test_a_training_step_before_the_time_out_is_no_straggler() -> None:
    assert not Log().add("progress.step", "step 10 loss: 2.3", value=10).waits(1, 900).records_by_kind


def test_skipping_data_before_the_time_out_is_a_resume() -> None:
    log = Log().add("progress.step", "finish 41000, taken 1820.1 seconds", value=41000).waits(1, 11)
    assert log.records_by_kind["straggler"].fields["phase"] == "resume"


def test_a_new_attempt_forgets_the_old_one() -> None:
    log = Log().waits(0, 40).add("c10d.barrier_done").waits(1, 40, "BROADCAST")
    assert not log.records_by_kind


def test_a_launch_after_a_time_out_forgets_what_was_before_it() -> None:
    for launch in ("nccl.version", "elastic.config", "c10d.barrier_done"):
        assert not Log().waits(0, 40).waits(1, 40, "BROADCAST").add(launch, level="info").waits(0, 40).records_by_kind


def test_a_launch_before_any_time_out_forgets_nothing() -> None:
    log = (
        Log()
        .reports_state(0, 40, 41)
        .reports_state(2, None, 39)
        .add("nccl.version", level="info")
        .waits(0, 40)
        .waits(1, 40)
    )
    assert log.records_by_kind["straggler"].fields["late"] == (2,)


def test_the_few_in_the_lowest_call_of_a_group_are_behind() -> None:
    log = Log().waits(3, 39, "_ALLGATHER_BASE").reports_state(3, 39, 39)
    for rank in range(3):
        log.waits(rank, 40).reports_state(rank, 40, 43)
    found = log.records_by_kind["call_behind"].fields
    assert (found["behind"], found["lowest"], found["op"], found["seq"]) == ((3,), 3, "_ALLGATHER_BASE", 39)
    assert (found["others_op"], found["others_seq"]) == ("ALLREDUCE", 40)


def test_two_ranks_behind_five_have_no_single_lowest() -> None:
    log = Log()
    for rank in range(7):
        log.waits(rank, 39 if rank < 2 else 40).reports_state(rank, 40 if rank > 1 else 39, 43)
    found = log.records_by_kind["call_behind"].fields
    assert found["behind"] == (0, 1)
    assert "lowest" not in found


def test_half_of_the_ranks_in_the_lowest_call_are_not_behind() -> None:
    log = Log()
    for rank in range(4):
        log.waits(rank, 39 + rank // 2).reports_state(rank, 39 + rank // 2, 43)
    assert not log.records_by_kind


def test_ranks_that_only_tell_their_state_count_in_the_lowest_call() -> None:
    log = Log().waits(3, 39).reports_state(3, 39, 39).reports_state(4, 39, 39).reports_state(5, 39, 39)
    log.waits(0, 40).reports_state(0, 40, 43).waits(1, 40).reports_state(1, 40, 43)
    assert not log.records_by_kind


def test_of_two_ranks_behind_one_may_tell_only_its_state() -> None:
    log = Log().waits(3, 39).reports_state(3, 39, 39).reports_state(4, 39, 39)
    for rank in (0, 1, 5):
        log.waits(rank, 40).reports_state(rank, 40, 43)
    found = log.records_by_kind["call_behind"].fields
    assert found["behind"] == (3,)
    assert "lowest" not in found


def test_a_rank_whose_group_no_line_tells_is_not_behind() -> None:
    log = Log().waits(3, 39)
    for rank in range(3):
        log.waits(rank, 40).reports_state(rank, 40, 43)
    assert not log.records_by_kind


def test_two_ranks_of_one_number_in_a_group_are_not_one_group() -> None:
    log = Log()
    for rank in range(4):
        seq = 39 if rank == 3 else 40
        log.add("c10d.watchdog_timeout", rank=rank, seq=seq, op="ALLREDUCE", group_rank=rank % 2)
        log.reports_state(rank, seq, 43, pg="5")
    assert not log.records_by_kind


def test_the_only_rank_in_the_lower_of_two_numbers_of_a_mismatch_is_told() -> None:
    log = Log().waits(0, 122).reports_state(0, 122, 127).waits(1, 126).reports_state(1, 126, 128)
    assert log.records_by_kind["collective_mismatch"].fields["lowest"] == 0


def test_a_mismatch_tells_the_ranks_and_hosts_of_both_sides() -> None:
    log = Log()
    for rank, op in enumerate(("ALLREDUCE", "BROADCAST", "ALLREDUCE")):
        log.add("c10d.watchdog_timeout", rank=rank, seq=40, op=op, numel_in=64, host=f"hx{rank}")
    fields = log.records_by_kind["collective_mismatch"].fields
    assert (fields["op_ranks"], fields["op_hosts"]) == ((0, 2), ("hx0", "hx2"))
    assert (fields["other_ranks"], fields["other_hosts"]) == ((1,), ("hx1",))


def test_a_wrapped_line_is_shown_where_it_names_the_operation(knowledge) -> None:
    log = "".join(
        f"[rank{rank}]:[E612 07:31:40.118230411 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: \nWorkNCCL(SeqNum=57, OpType={op}, NumelIn=8, NumelOut=8, Timeout(ms)=300000) ran for "
        f"300031 milliseconds before timing out.\n"
        for rank, op in enumerate(("ALLREDUCE", "BROADCAST", "ALLREDUCE"))
    )
    evidence = diagnose_log(log, knowledge).causes[0].evidence
    assert all("OpType=" in shown.line.text for shown in evidence[:2])


@pytest.mark.parametrize("cut", range(1, 9))
def test_name_that_a_terminal_cut_is_no_other_operation(cut: int) -> None:
    log = Log().waits(0, 40).waits(1, 40).waits(2, 40, "ALLREDUCE"[:cut])
    assert "collective_mismatch" not in log.records_by_kind


@pytest.mark.parametrize(("op", "whole"), [("ALLGATHER", "ALLGATHER_COALESCED"), ("REDUCE", "REDUCE_SCATTER")])
def test_whole_name_that_begins_another_one_is_an_operation_of_its_own(op: str, whole: str) -> None:
    log = Log().waits(0, 40, whole).waits(1, 40, whole).waits(2, 40, op)
    assert log.records_by_kind["collective_mismatch"].fields["odd"] == (2,)


@pytest.mark.parametrize("ranks", [2, 4, 64])
@pytest.mark.parametrize("shard", [1, 7, 4096])
def test_coalesced_operation_is_an_all_gather_if_its_output_is_a_multiple_of_its_input(ranks: int, shard: int) -> None:
    log = Log()
    for rank, op in enumerate(("COALESCED", "COALESCED", "ALLGATHER_COALESCED")):
        size: dict[str, Value] = {"numel_in": shard, "numel_out": ranks * shard}
        log.add("c10d.watchdog_timeout", rank=rank, seq=40, op=op, **size)
    assert "collective_mismatch" not in log.records_by_kind


def test_coalesced_operation_is_a_collective() -> None:
    log = Log().waits(0, 40, "COALESCED").waits(1, 40, "COALESCED").waits(2, 40, "BROADCAST")
    assert log.records_by_kind["collective_mismatch"].fields["odd"] == (2,)


def bar(seconds: int, rest: str = "812.11it/s]") -> str:
    minutes, s = divmod(seconds, 60)
    clock = f"{minutes:02}:{s:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{s:02}"
    return f"31%|###1      | 310/1000 [{clock}<22:17, {rest}"


@pytest.mark.parametrize("limit", [60, 600, 1800, 7200])
@pytest.mark.parametrize("text", [bar, lambda s: "unpacking: " + bar(s)])
def test_a_bar_that_ran_as_long_as_others_waited_is_work_of_one_rank(limit: int, text) -> None:
    def told(seconds: int, rest: str = "812.11it/s]", value: int = 310) -> Log:
        log = Log().add("progress.step", text(seconds).replace("812.11it/s]", rest), value=value, total=1000)
        return log.add("c10d.watchdog_timeout", rank=1, seq=4, op="ALLREDUCE", ran_ms=limit * 1000 + 700)

    assert told(limit).records_by_kind["straggler"].fields["phase"] == "work"
    assert not told(limit + max(10, limit // 20)).records_by_kind
    assert not told(limit // 2).records_by_kind
    assert not told(limit, "1.21it/s, loss=2.31]").records_by_kind
    assert not told(limit, value=0).records_by_kind


@pytest.mark.parametrize(
    ("seconds", "limit"), [(601, 600), (659, 600), (1809, 1800), (1933, 1800), (700, None), (59, None)]
)
def test_data_past_a_default_limit_and_a_cut_traceback_are_told_together(seconds: int, limit: int | None) -> None:
    def told(exception: str, phase: str = "data") -> Mapping[str, Record]:
        log = Log().add("progress.phase", bar(seconds), phase=phase, what="Tokenizing", value=310, total=1000)
        return log.add("python.traceback", "Traceback", exception=exception).records_by_kind

    assert (told("").get("outlasted") is not None) == (limit is not None)
    assert limit is None or told("")["outlasted"].fields["limit_s"] == limit
    assert not told("KeyError")
    assert not told("", phase="resume")


WATCHDOG = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={n}, "
)
WATCHDOG += "NumelOut={n}, Timeout(ms)=600000) ran for 600031 milliseconds before timing out."
PRINTED = {
    "before groups were named": "[E ProcessGroupNCCL.cpp:475] " + WATCHDOG,
    "by a launcher's prefix": "[rank{rank}]:[E ProcessGroupNCCL.cpp:523] " + WATCHDOG,
    "by the exception alone": "terminate called after throwing an instance of 'std::runtime_error'\n  what():  "
    + WATCHDOG,
}


@pytest.mark.parametrize("form", PRINTED.values(), ids=PRINTED)
@pytest.mark.parametrize("seq", [1, 3, 811])
@pytest.mark.parametrize(("op", "size"), [("BROADCAST", 64), ("_ALLGATHER_BASE", 16), ("ALLREDUCE", 1)])
@pytest.mark.parametrize(("world", "odd"), [(4, 0), (4, 2), (8, 7)])
def test_one_rank_against_all_is_odd_whatever_the_group(knowledge, tmp_path, form, seq, op, size, world, odd):
    calls = {rank: (op, size) if rank == odd else ("ALLREDUCE", 64) for rank in range(world)}
    lines = {rank: form.format(rank=rank, seq=seq, op=o, n=n) + "\n" for rank, (o, n) in calls.items()}
    first = diagnose_log("".join(lines.values()), knowledge).causes[0]
    assert (first.signature, first.culprit.ranks) == ("collective.desync", (odd,))
    for rank, text in lines.items():
        (tmp_path / f"rank_{rank}.log").write_text(text)
    apart = diagnose(str(tmp_path)).causes[0]
    assert (apart.signature, apart.culprit.ranks, apart.summary) == (
        first.signature,
        first.culprit.ranks,
        first.summary,
    )


@pytest.mark.parametrize("seq", [1, 3])
def test_two_pairs_in_early_calls_of_groups_without_a_name_are_no_mismatch(seq):
    log = Log().waits(0, seq).waits(1, seq, "BROADCAST").waits(2, seq).waits(3, seq, "BROADCAST")
    assert "collective_mismatch" not in log.records_by_kind


def test_one_rank_against_some_in_an_early_call_is_no_mismatch():
    log = Log(ranks=8).waits(0, 2).waits(1, 2).waits(2, 2, "BROADCAST")
    assert "collective_mismatch" not in log.records_by_kind
