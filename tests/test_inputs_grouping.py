"""Grouping of files into jobs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdoctor.inputs.grouping import group_files


def grouped(*names: str, pattern: str | None = None) -> dict[str, tuple[str, list[str]]]:
    groups = group_files(names, re.compile(pattern) if pattern else None)
    return {g.job: (g.grouped_by, list(g.names)) for g in groups}


def test_each_folder_of_an_archive_is_a_job():
    assert grouped("a/rank0.log", "a/rank1.log", "b/x.log", "b/y.txt") == {
        "a": ("folder", ["a/rank0.log", "a/rank1.log"]),
        "b": ("folder", ["b/x.log", "b/y.txt"]),
    }


def test_jobs_below_date_folders_are_found():
    assert list(grouped("2026/10/j1/x.log", "2026/10/j2/x.log", "2026/11/j3/x.log")) == [
        "2026/10/j1",
        "2026/10/j2",
        "2026/11/j3",
    ]


@pytest.mark.parametrize(
    "part", ["0", "rank_1", "node-3", "logs", "stdout", "stderr", "worker-0", "attempt_0", "hosts", "err"]
)
def test_rank_node_and_output_folders_are_parts_of_a_job(part):
    assert list(grouped("48213/main.log", f"48213/{part}/x.log", "48214/main.log")) == ["48213", "48214"]


def test_folders_numbered_from_zero_are_ranks_and_others_are_jobs():
    assert list(grouped("job/0/a.log", "job/1/a.log", "job/2/a.log", "other/x.log")) == ["job", "other"]
    assert list(grouped("q/17/a.log", "q/18/a.log")) == ["q/17", "q/18"]


def test_output_and_error_files_of_slurm_are_one_job():
    assert grouped("slurm-48213.out", "slurm-48213.err", "slurm-48214.out") == {
        "48213": ("slurm", ["slurm-48213.err", "slurm-48213.out"]),
        "48214": ("slurm", ["slurm-48214.out"]),
    }


def test_each_slurm_array_task_is_a_job():
    names = ("train_555123_1.out", "train_555123_2.out", "train_555123_2.err")
    assert list(grouped(*names)) == ["555123_1", "555123_2"]


def test_files_per_node_of_a_slurm_job_are_one_job():
    assert list(grouped("job.48213-0.out", "job.48213-1.out", "job.48214-0.out")) == ["48213", "48214"]


def test_single_slurm_output_belongs_to_the_job_of_its_folder():
    assert grouped("r1/slurm-48213.out", "r1/prolog.log", "r2/x.log")["r1"][1] == [
        "r1/prolog.log",
        "r1/slurm-48213.out",
    ]


def test_torchrun_folder_is_a_job():
    names = ("j/attempt_0/0/stdout.log", "j/attempt_0/1/stderr.log", "j/attempt_1/0/stdout.log")
    assert grouped(*names) == {"j": ("torchrun", sorted(names))}


def test_torchrun_folders_of_several_nodes_are_one_job():
    names = ("run7_abcdefgh/attempt_0/0/stdout.log", "run7_zzzz9999/attempt_0/0/stdout.log")
    assert grouped(*(f"j/{name}" for name in names), "k/x.log")["j"] == ("torchrun", [f"j/{name}" for name in names])


def test_two_torchrun_runs_are_two_jobs():
    assert list(grouped("a_abcd1234/attempt_0/0/stdout.log", "b_abcd1234/attempt_0/0/stdout.log")) == ["a", "b"]


def test_files_named_after_ranks_are_one_job():
    assert grouped("rank0.log", "rank1.log", "rank10.log") == {"": ("folder", ["rank0.log", "rank1.log", "rank10.log"])}


def test_loose_files_are_a_job_each_with_rotated_and_error_files():
    assert grouped("a.log", "b.log", "b.log.1", "b.log.2.gz", "c.out", "c.err") == {
        "a": ("file", ["a.log"]),
        "b": ("file", ["b.log", "b.log.1", "b.log.2.gz"]),
        "c": ("file", ["c.err", "c.out"]),
    }


def test_loose_archive_is_a_job_and_archive_in_a_job_folder_is_a_part():
    assert grouped("d.tar.zst", "job/logs.tar.gz", "job/slurm-555555.out") == {
        "d.tar.zst": ("archive", ["d.tar.zst"]),
        "job": ("folder", ["job/logs.tar.gz", "job/slurm-555555.out"]),
    }


def test_pattern_names_the_job_and_drops_other_files():
    names = ("x/j17-rank0.log", "y/j17-rank1.log", "y/j18.log", "readme.log")
    assert grouped(*names, pattern=r"(?P<job>j\d+)") == {
        "j17": ("pattern", ["x/j17-rank0.log", "y/j17-rank1.log"]),
        "j18": ("pattern", ["y/j18.log"]),
    }


def test_file_beside_a_folder_of_the_same_name_has_its_complete_name():
    assert list(grouped("a.log", "z.log", "a/x.log")) == ["a", "a.log", "z"]


NAMES = st.lists(
    st.lists(
        st.sampled_from(
            [
                "a",
                "job1",
                "0",
                "1",
                "rank_0",
                "attempt_0",
                "x_abcdefgh",
                "logs",
                "slurm-48213.out",
                "48213",
                "b.log",
                "b",
            ]
        ),
        min_size=1,
        max_size=4,
    ).map("/".join),
    unique=True,
    max_size=12,
)


@given(NAMES)
def test_every_file_is_in_one_job_and_job_names_are_unique(names):
    files = [n for n in names if not any(other.startswith(n + "/") for other in names)]
    groups = group_files(files)
    assert sorted(n for g in groups for n in g.names) == sorted(files)
    assert len({g.job for g in groups}) == len(groups)


def test_deeply_nested_folders_are_a_job():
    assert [g.names for g in group_files(["a/" * 5000 + "x.log"])] == [("a/" * 5000 + "x.log",)]
