"""The short way of a repeated line gives the records of the long way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from logdoctor.logs import line_parser, repeats
from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.repeats import Repeats, shape_of
from logdoctor.model import Candidate, Line, Record
from logdoctor.pipeline.diagnosis import JobReader, make_job
from logdoctor.pipeline.knowledge import gather, rule_folders

CORPUS = Path(__file__).parents[1] / "corpus"
LOGS = sorted(case for case in CORPUS.iterdir() if (case / "case.yaml").exists())


@pytest.fixture(scope="module")
def knowledge():
    return gather(rule_folders())


@pytest.fixture
def learn_at_once(monkeypatch):
    """Learn from the second line of a shape on."""
    monkeypatch.setattr(repeats, "LONG_WAY", 2)
    monkeypatch.setattr(repeats, "EXAMPLES", frozenset((1, 2)))


def long_and_short(paths, knowledge, known=None):
    """Return the records of both ways. ``known`` are forms that other jobs showed."""
    ways = (None, known or Repeats())
    long, short = ([*JobReader(make_job(paths), replace(knowledge, repeats=way))] for way in ways)
    return long, short


@pytest.mark.parametrize("part", range(8))
def test_both_ways_give_the_same_records_of_each_case(part, knowledge, monkeypatch, learn_at_once):
    """The cases are jobs of one scan, which share what was learned."""
    hits, known = [], Repeats()
    repeat = Repeats.repeat
    monkeypatch.setattr(Repeats, "repeat", lambda *a: (record := repeat(*a), hits.append(record is not None))[0])
    for case in LOGS[part::8]:
        logs = sorted(str(log) for log in case.rglob("*") if log.suffix in {".log", ".txt", ".out", ".err"})
        long, short = long_and_short(logs, knowledge, known)
        assert short == long, case.name
    assert sum(hits) > 100


RANK, LOCAL = st.integers(0, 70), st.integers(0, 7)
MEANS = (
    "[rank{a}]: gpu-{b}:{c}:{c} [{b}] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.{b}.{a}<{c}> failed",
    "[ 8123.067265] NVRM: Xid (PCI:0000:c{b}:00): {x}, pid={c}, name=python, Ch 00000008",
    "[rank{a}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {b}.{a} GiB. GPU {b} has a total capacity of 79",
    "srun: error: gpu-{b}: task {a}: Exited with exit code {e}",
    "worker {b}: finished, {c} tokens, {b} errors",
    "step {c}/{total} | loss {b}.{a} | grad_norm 0.4",
    "E1105 12:{a:02}:01.000123 4021 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {e}) local_rank: {b} (pid: {c}) of binary: /bin/python",
    "{a}: [rank{b}]: ValueError: {b} of {c}",
)
"""Lines whose meaning sits in their digits."""


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_both_ways_agree_where_the_digits_tell_the_meaning(tmp_path_factory, knowledge, data):
    line = data.draw(st.sampled_from(MEANS))
    numbers = st.fixed_dictionaries(
        {
            "a": RANK,
            "b": LOCAL,
            "c": st.integers(4000, 4999),
            "e": st.sampled_from((0, 1, 2, 9, 137, 139)),
            "x": st.sampled_from((13, 31, 43, 48, 79, 94)),
            "total": st.sampled_from((4100, 5000)),
        }
    )
    lines = [line.format(**data.draw(numbers)) for _ in range(data.draw(st.integers(30, 60)))]
    log = tmp_path_factory.mktemp("job") / "job.log"
    log.write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "LONG_WAY", 3)
        patch.setattr(repeats, "EXAMPLES", frozenset((1, 2, 3)))
        long, short = long_and_short([str(log)], knowledge)
    assert short == long


def test_rank_and_local_rank_that_are_equal_in_all_examples_are_told_apart(tmp_path, knowledge, learn_at_once):
    line = "[rank{r}]: gpu-{n}:4{r:03}:4{r:03} [{l}] NCCL INFO comm 0x55d0d82c07cd rank {r} nranks 8 cudaDev {l} busId 1b000 - Abort COMPLETE\n"
    log = tmp_path / "job.log"
    first = "".join(line.format(r=n, n=1, l=n) for n in range(1, 6))
    log.write_text(first + line.format(r=7, n=2, l=3))
    long, short = long_and_short([str(log)], knowledge)
    assert short == long
    assert (short[-1].source.rank, short[-1].fields["cuda_dev"]) == (7, 3)


def test_rank_of_a_file_name_is_that_of_its_own_file(tmp_path, knowledge, learn_at_once):
    for rank in range(3):
        (tmp_path / f"rank{rank}.log").write_text("RuntimeError: CUDA error: out of memory\n" * 5)
    long, short = long_and_short([str(tmp_path)], knowledge)
    assert short == long
    assert {record.source.rank for record in short} == {0, 1, 2}


def test_host_of_a_file_name_is_that_of_its_own_file(tmp_path, knowledge, learn_at_once):
    for host, pid in (("gpu1", 4100), ("gpu1", 4200), ("gpu2", 4300)):
        (tmp_path / f"nccl.{host}.{pid}.log").write_text("RuntimeError: CUDA error: out of memory\n")
    long, short = long_and_short([str(tmp_path)], knowledge)
    assert short == long
    assert {record.source.host for record in short} == {"gpu1", "gpu2"}


def test_jobs_of_a_scan_share_what_was_learned_until_it_is_too_much(tmp_path, knowledge, monkeypatch, learn_at_once):
    log, known = tmp_path / "job.log", Repeats()
    log.write_text("RuntimeError: CUDA error: out of memory\n" * 3)
    long_and_short([str(log)], knowledge, known)
    repeat = Repeats.repeat
    hits = []
    monkeypatch.setattr(Repeats, "repeat", lambda *a: (record := repeat(*a), hits.append(record is not None))[0])
    for most in (repeats.MAX_SHAPES, 0):
        monkeypatch.setattr(repeats, "MAX_SHAPES", most)
        long_and_short([str(log)], knowledge, known)
    assert hits == [True, True, True, False, False, False]


def test_block_is_repeated_as_a_whole(tmp_path, knowledge, monkeypatch, learn_at_once):
    block = (
        "Traceback (most recent call last):\n"
        '  File "/home/kim/train.py", line {n}, in <module>\n'
        "    main()\n"
        "ValueError: sample {n} has {m} values\n"
        "step {n} loss: 2.{m}\n"
    )
    log = tmp_path / "job.log"
    log.write_text("".join(block.format(n=n, m=n % 7 + 1) for n in range(10, 40)))
    hits = []
    repeat = Repeats.repeat
    monkeypatch.setattr(Repeats, "repeat", lambda *a: (record := repeat(*a), hits.append(record))[0])
    long, short = long_and_short([str(log)], knowledge)
    assert short == long
    blocks = [record for record in hits if record is not None and record.lines]
    assert len(blocks) > 20
    assert re.fullmatch(r"ValueError: sample 39 has \d values", blocks[-1].text)


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        (b"[rank12] 3 of 4", b"[rank00] 0 of 0"),
        (b"comm 0x55d0ff rank 7", b"comm 0x000000 rank 0"),
        (b"no digits", b"no digits"),
    ],
)
def test_shape_has_zeros_for_digits(raw, shape):
    assert shape_of(raw) == shape


def test_full_table_learns_nothing_more(tmp_path, knowledge, monkeypatch, learn_at_once):
    monkeypatch.setattr(repeats, "MAX_SHAPES", 0)
    log = tmp_path / "job.log"
    log.write_text("RuntimeError: CUDA error: out of memory\n" * 9)
    long, short = long_and_short([str(log)], knowledge)
    assert short == long


def test_lines_that_were_taken_are_forgotten_on_the_short_way_too(monkeypatch):
    monkeypatch.setattr(line_parser, "_MAX_CACHED_LINES", 16)
    known = Record(Line("job.log", 1, "gone"), "text", "text.line", "gone")
    monkeypatch.setattr(Repeats, "repeat", lambda _, parser, line: (parser.take_lines([line.number + 1]), known)[1])
    parser = LineParser("job.log", repeats=Repeats())
    for number in range(1, 1000, 2):
        assert parser.parse(Candidate(b"gone", number, (), lambda: iter(()))) == [known]
    assert len(parser._taken) < 32


def test_time_is_read_where_the_examples_had_none(tmp_path, knowledge, learn_at_once):
    line = "E1105 12:{a:02}:01.000123 4021 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 4000) of binary: /bin/python\n"
    log = tmp_path / "job.log"
    log.write_text("".join(line.format(a=a) for a in (60, 61, 62, 63, 64, 1)))
    long, short = long_and_short([str(log)], knowledge)
    assert short == long
    assert short[-1].source.time is not None
