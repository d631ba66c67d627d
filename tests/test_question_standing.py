"""The place at which a late rank stands, and ranks that counts show behind."""

from __future__ import annotations

import json

import pytest
from question_probe import Probe

from logdoctor import diagnose
from logdoctor.logs.line_parser import parse_text
from logdoctor.model import Diagnosis, Record
from logdoctor.reasoning.questions.flight_recorders import hang_in_dumps

WORLD = 4


def recorder(rank: int, waits_in: int, *, done: bool = False) -> tuple[str, str]:
    """Return the dump of a rank whose last call is ``waits_in``."""
    call = {
        "collective_seq_id": waits_in,
        "process_group": ["0", "default_pg"],
        "pg_id": 0,
        "profiling_name": "nccl:all_reduce",
        "state": "completed" if done else "scheduled",
        "input_sizes": [[64]],
    }
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str([*range(WORLD)])}}
    status = {"0": {"last_enqueued_collective": waits_in, "last_completed_collective": waits_in - (not done)}}
    dump = {"version": "2.10", "pg_config": config, "pg_status": status, "entries": [call]}
    return f"nccl_trace_rank_{rank}", json.dumps(dump)


def stack(rank: int, *frames: str, state: str = "idle", pid: int = 9000) -> tuple[str, str]:
    lines = "".join(f"    {frame}\n" for frame in (*frames, "<module> (fit.py:70)"))
    head = f"Process {pid + rank}: python -u fit.py\nPython v3.11.8 (/opt/py/bin/python3.11)\n\n"
    return f"rank{rank}.txt", f'{head}Thread {pid + rank} ({state}): "MainThread"\n{lines}'


def poll(counts: list[int], stamp: str, name: str = "") -> tuple[str, str]:
    ranks = [
        {"rank": r, "host": f"gx0{r // 2}", "pid": 9000 + r, "collective_counts": {"AllReduce": count}}
        for r, count in enumerate(counts)
    ]
    group = {"hash": "0x7a", "size": len(counts), "ranks_count": len(counts), "ranks": ranks, "missing_ranks": []}
    report = {"nccl_version": "2.29.2", "timestamp": stamp, "communicators_count": 1, "communicators": [group]}
    return name or f"ras-{stamp[-8:].replace(':', '')}.json", json.dumps(report)


HANG = tuple(recorder(rank, 28 if rank == 2 else 29, done=rank == 2) for rank in range(WORLD))
CAUGHT = "Watchdog caught collective operation timeout"
ELSEWHERE = ("add (fit.py:31)",)


@pytest.fixture
def ask(tmp_path, knowledge):
    def diagnose_files(*files: tuple[str, str]) -> Diagnosis:
        for name, text in files:
            (tmp_path / name).write_text(text)
        return diagnose(tmp_path, knowledge=knowledge)

    return diagnose_files


def told(diagnosis: Diagnosis) -> tuple[str, tuple[int, ...], object]:
    cause = diagnosis.causes[0]
    return cause.rule, cause.culprit.ranks, dict(cause.values).get("stands")


def test_the_stack_of_the_late_rank_is_told_and_shown_and_asked_for_no_more(ask):
    diagnosis = ask(*HANG, stack(2, "read_shard (fit.py:31)"))
    cause = diagnosis.causes[0]
    assert told(diagnosis) == ("collective.straggler-dump", (2,), "read_shard (fit.py:31)")
    assert "It stands in read_shard (fit.py:31), asleep in the kernel." in cause.summary
    assert any("read_shard (fit.py:31)" in evidence.line.text for evidence in cause.evidence)
    assert "read_shard (fit.py:31)" in cause.steps[0].text
    asked = "\n".join([*(step.text for step in cause.steps), *diagnosis.decision.collect])
    assert "py-spy dump" not in asked


def test_the_stack_of_another_rank_tells_nothing_of_the_late_one(ask):
    assert told(ask(*HANG, stack(1, "read_shard (fit.py:31)"))) == ("collective.straggler-dump", (2,), None)


def test_two_stacks_of_the_late_rank_at_different_places_tell_neither(ask):
    again = stack(2, "save (fit.py:55)", pid=9100)[1]
    diagnosis = ask(*HANG, stack(2, "read_shard (fit.py:31)"), ("later-rank2.txt", again))
    assert told(diagnosis)[2] is None


def test_a_thread_that_holds_the_gil_inside_a_library_is_told(ask):
    frames = ("sub (re/__init__.py:186)", "clean (fit.py:52)")
    summary = ask(*HANG, stack(2, *frames, state="active+gil")).causes[0].summary
    assert "in clean (fit.py:52), inside re/__init__.py:sub, and holds the GIL" in summary


def test_a_rank_without_a_dump_stands_where_its_stack_says(ask):
    waiting = [recorder(rank, 29) for rank in (0, 1, 3)]
    assert told(ask(*waiting, stack(2, *ELSEWHERE))) == ("collective.straggler-no-dump", (2,), "add (fit.py:31)")


def test_a_stack_is_joined_by_its_pid_if_another_line_tells_the_rank(ask):
    _, text = stack(2, *ELSEWHERE)
    joined = "gx01:9002:9050 [2] NCCL INFO ncclCommInitRank comm 0x5 rank 2 nranks 4 cudaDev 2 nvmlDev 2 busId 9c000"
    diagnosis = ask(*HANG, ("job.log", f"{joined} commId 0x7a - Init COMPLETE\n"), ("pyspy-gx01.txt", text))
    assert told(diagnosis)[2] == "add (fit.py:31)"


def test_a_stack_of_which_no_line_tells_the_rank_is_no_stack_of_the_late_one(ask):
    assert told(ask(*HANG, ("pyspy.txt", stack(2, *ELSEWHERE)[1])))[2] is None


@pytest.mark.parametrize(
    ("first", "second", "late"),
    [
        ([812, 812, 811, 812], [812, 812, 811, 812], (2,)),
        ([812, 812, 811, 812], [813, 813, 812, 813], None),
        ([812, 812, 811, 812], [812, 812, 812, 812], None),
        ([812, 811, 811, 811], [812, 811, 811, 811], None),
    ],
    ids=["still", "counts rise", "caught up", "most are behind"],
)
def test_polls_name_the_few_ranks_behind_if_the_counts_stand_still(ask, first, second, late):
    diagnosis = ask(poll(first, "2026-02-03 10:00:00"), poll(second, "2026-02-03 10:01:00"))
    ranks = diagnosis.causes[0].culprit.ranks if diagnosis.causes else None
    assert ranks == late


@pytest.mark.parametrize("second", ["00", "20"], ids=["two copies", "soon after"])
def test_polls_of_one_moment_say_nothing(ask, second):
    polls = [
        poll([812, 812, 811, 812], f"2026-02-03 10:00:{at}", f"{name}.json")
        for name, at in (("b", "00"), ("a", second))
    ]
    assert not ask(*polls).causes


def test_polls_are_read_as_they_were_taken(ask):
    still = [poll([812, 812, 811, 812], stamp) for stamp in ("2026-02-03 10:05:00", "2026-02-03 10:06:00")]
    name, early = poll([700, 700, 700, 700], "2026-02-03 10:00:00")
    assert told(ask(*still, (f"z-{name}", early)))[:2] == ("collective.straggler-counts", (2,))


def test_polls_may_stand_in_one_document(ask):
    stamps = ("2026-02-03 10:00:00", "2026-02-03 10:01:00")
    reports = "\n".join(poll([812, 812, 811, 812], stamp)[1] for stamp in stamps)
    diagnosis = ask(("ras.json", reports))
    assert (diagnosis.causes[0].rule, diagnosis.causes[0].culprit.ranks) == ("collective.straggler-counts", (2,))


def test_the_rank_behind_by_polls_is_told_with_its_stack(ask):
    counts = [812, 812, 811, 812]
    polls = [poll(counts, stamp) for stamp in ("2026-02-03 10:00:00", "2026-02-03 10:01:00")]
    assert told(ask(*polls, stack(2, *ELSEWHERE))) == ("collective.straggler-counts", (2,), "add (fit.py:31)")


def test_one_poll_of_a_job_that_is_known_to_hang_names_the_rank_behind(ask):
    call = "WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000)"
    waits = [
        (
            f"rank{rank}.log",
            f"[rank{rank}]:[E507 08:14:00.11 ProcessGroupNCCL.cpp:629] [Rank {rank}] {CAUGHT}: {call}\n",
        )
        for rank in (0, 1)
    ]
    assert told(ask(*waits, poll([41, 41, 40, 41], "2026-02-03 10:00:00")))[:2] == ("collective.straggler-counts", (2,))


def test_dumps_and_polls_that_name_different_ranks_name_nobody(ask):
    counts = [29, 28, 29, 29]
    polls = [poll(counts, stamp) for stamp in ("2026-02-03 10:00:00", "2026-02-03 10:01:00")]
    assert told(ask(*HANG, *polls))[:2] == ("collective.straggler-disputed", ())


def test_a_single_poll_does_not_dispute_the_dumps(ask):
    assert told(ask(*HANG, poll([29, 28, 29, 29], "2026-02-03 10:00:00")))[:2] == ("collective.straggler-dump", (2,))


def test_the_inspector_names_a_rank_whose_calls_ended_far_before(ask):
    files = [recorder(rank, 29) for rank in (0, 1, 3)]
    for rank in range(WORLD):
        call = {"coll": "AllReduce", "coll_sn": 12 if rank == 1 else 29}
        header = {"id": "0x7a", "rank": rank, "n_ranks": WORLD}
        about = {"inspector_output_format_version": "v4.0", "hostname": "gx01", "pid": 9000 + rank}
        document = json.dumps({"header": header, "metadata": about, "coll_perf": call})
        files.append((f"inspector-rank{rank}.log", document))
    diagnosis = ask(*files)
    assert (diagnosis.causes[0].rule, diagnosis.causes[0].culprit.ranks) == ("collective.straggler-counts", (1,))


def test_no_stack_no_dump_gives_nothing():
    probe = Probe()
    records: list[Record] = list(parse_text("step 1 loss 2.0\n"))
    for record in records:
        probe.observe(record)
    assert probe.ask(hang_in_dumps) == []
