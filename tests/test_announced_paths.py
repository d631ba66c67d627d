"""Paths that a process announces before it fails: what it loads or saves."""

from __future__ import annotations

import pytest

from logdoctor import diagnose

CUT = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory\n"
FULL = "OSError: [Errno 28] No space left on device\n"


def cause_of(tmp_path, *logs):
    paths = []
    for number, log in enumerate(logs):
        paths.append(tmp_path / f"{number}.log")
        paths[-1].write_text(log)
    return diagnose(list(map(str, paths))).causes[0]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("Loading model from runs/newt/checkpoint-70.", "runs/newt/checkpoint-70"),
        ("resuming from /vol/newt/step_70.pt (iter 70)", "/vol/newt/step_70.pt"),
        ("Resuming training from checkpoint '/vol/newt/last.ckpt'", "/vol/newt/last.ckpt"),
        ("Restoring states from the checkpoint path at /vol/newt/last.ckpt", "/vol/newt/last.ckpt"),
    ],
)
def test_the_path_of_the_load_line_is_told_and_its_line_is_shown(tmp_path, line, path):
    cause = cause_of(tmp_path, f"{line}\n{CUT}")
    assert f"names {path}." in cause.summary
    assert f"older than {path}:" in cause.steps[0].text
    assert line in [evidence.line.text for evidence in cause.evidence]


def test_the_last_of_several_load_lines_counts(tmp_path):
    cause = cause_of(tmp_path, f"Loading model from /vol/base/a.pt\nresuming from /vol/newt/b.pt\n{CUT}")
    assert "/vol/newt/b.pt" in cause.summary
    assert "/vol/base/a.pt" not in cause.summary


def test_a_path_that_was_loaded_before_the_steps_is_not_told(tmp_path):
    steps = "".join(f"step {n}/900 loss 2.0\n" for n in range(70, 74))
    assert "/vol/newt" not in cause_of(tmp_path, f"resuming from /vol/newt/step_70.pt\n{steps}{CUT}").summary


def test_a_path_that_another_rank_loads_is_not_told(tmp_path):
    log = f"[rank0]: resuming from /vol/newt/step_70.pt\n[rank1]: {CUT}"
    assert "/vol/newt" not in cause_of(tmp_path, log).summary


def test_a_path_in_another_file_is_not_told_if_nothing_joins_the_files(tmp_path):
    assert "/vol/newt" not in cause_of(tmp_path, "resuming from /vol/newt/step_70.pt\n", CUT).summary


def test_the_path_of_the_save_line_is_told_where_the_disk_is_full(tmp_path):
    cause = cause_of(tmp_path, f"Saving model checkpoint to /vol/newt/checkpoint-70\n{FULL}")
    assert "names /vol/newt/checkpoint-70." in cause.summary
    assert "df -h /vol/newt/checkpoint-70" in [command for step in cause.steps for command in step.commands]


def test_a_share_of_a_bar_is_no_path(tmp_path):
    assert "names" not in cause_of(tmp_path, f"Loading checkpoint shards: 1/2 [00:01<00:01, 1.1s/it]\n{CUT}").summary
