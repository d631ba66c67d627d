from __future__ import annotations

import io

import pytest
from format_probe import PRINTABLE, kinds, read, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor import diagnose
from logdoctor.model import CALM

RECORDS = records("progress")


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.sampled_from(["Epoch ", "step ", "12%|", "3/4 [", "loss", ": ", "00:01<", "it/s]"])
        | st.text(PRINTABLE, max_size=12),
        max_size=14,
    )
)
def test_odd_bars_never_raise(parts):
    for record in read(RECORDS, "".join(parts)):
        assert record.level == "info"


def test_a_save_that_failed_is_no_sign_of_life():
    assert kinds(RECORDS, "Saving checkpoint failed: the bucket does not answer") == []


def test_repeated_bar_at_the_same_value_is_no_step():
    signal = "[rank: 0] Received SIGTERM: 15"
    bars = [
        f"Epoch 1:  26%|##6    | {n}/3800 [15:1{s}<43:26, 1.10it/s, v_num=3]" for n, s in ((901, 5), (901, 6), (901, 7))
    ]
    assert diagnose([io.BytesIO("\n".join([signal, *bars]).encode())]).verdict == "stopped"
    later_bars = [f"Epoch 1:  26%|##6    | {n}/3800 [15:18<43:26, 1.10it/s, v_num=3]" for n in (902, 903, 904)]
    assert diagnose([io.BytesIO("\n".join([signal, *later_bars]).encode())]).verdict in CALM


@pytest.mark.parametrize(
    "line",
    [
        "step   350 auc 0.6120 rows/s 50211",
        "[mix] it   75 | nll 4.250 | 512 tok/s",
        "solver: Iteration 12/90, residual=3.1e-05",
        "train step: 8 - tokens 4096, files 3",
    ],
)
def test_number_with_measured_values_is_a_step(line):
    assert kinds(RECORDS, line) == ["progress.step"]


@pytest.mark.parametrize(
    "line",
    [
        "Namespace(world=2, epochs=5, batch=4, lr=0.1)",
        "Namespace(world=2, epoch=5, lr=0.1)",
        "settings: epochs=5, lr=0.1",
        "fit.py --epoch 5 --lr 0.1",
        "step 3 of 5: rank 2 pid 4711",
        "Step 2: installs torch 2.5.1",
        "it 4 tasks",
        "step 12 failed code 1",
    ],
)
def test_options_and_plans_are_no_steps(line):
    assert kinds(RECORDS, line) == []
