from __future__ import annotations

import io

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor import diagnose

RECORDS = records("progress")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (" 12%|███       | 36/300 [00:41<05:01,  1.14s/it]", {"unit": "step", "value": 36, "total": 300}),
        (" 77%|#######7  | 924M/1.20G [10:16<03:04, 1.50MB/s]", {"value": 924 * 10**6, "total": 12 * 10**8}),
        (
            "Epoch 4:  50%|#####     | 50/100 [00:10<00:10,  5.01it/s, v_num=3, loss=2.125]",
            {"value": 50, "epoch": "4", "loss": "2.125"},
        ),
        ("  1%|1  | 1/90 [00:01<?, ?it/s]\r  2%|1  | 2/90 [00:02<01:30,  1.0s/it]", {"value": 2}),
        (
            "{'loss': 1.4142, 'grad_norm': 0.7, 'learning_rate': 2e-05, 'epoch': 0.31}",
            {"unit": "epoch", "loss": "1.4142"},
        ),
        ("{'loss': nan, 'learning_rate': 0.0, 'epoch': 3}", {"loss": "nan", "value": 3}),
        (
            " iteration     1100/    9000 | consumed samples:  70400 | elapsed time per iteration (ms): 900.1 | lm loss: 2.340000E+00 |",
            {"unit": "iteration", "value": 1100, "total": 9000, "loss": "2.340000e+00"},
        ),
        ("steps: 40 loss: 3.1250 iter time (s): 0.51 samples/sec: 62.1", {"value": 40, "loss": "3.1250"}),
        ("iter 700: loss 2.9811, time 301.22ms, mfu 33.10%", {"unit": "iteration", "value": 700, "loss": "2.9811"}),
        ("round 5/40 spread 1.8820", {"value": 5, "total": 40}),
        ("step 30/2000 | train loss 3.3 | 40 ms", {"unit": "step", "value": 30, "total": 2000, "loss": "3.3"}),
        ("step:90/800 train_loss:4.5 train_time:100ms", {"value": 90, "total": 800, "loss": "4.5"}),
        ("step:17 - actor/entropy:11.58 - perf/mfu/actor:0.0 - timing_s/gen:4.1", {"value": 17, "unit": "step"}),
        ("Test: [ 10/124]\tTime  0.31 ( 0.44)\tLoss 1.20 (1.31)", {"value": 10, "total": 124}),
        ("step: 60  loss:  7.1  grad_norm: 1.0  memory: 30GiB", {"value": 60, "loss": "7.1"}),
        (
            "Epoch [2][150/3000]  lr: 1.0e-03, eta: 1:02:03, time: 0.4, loss: 0.9",
            {"unit": "iteration", "value": 150, "total": 3000},
        ),
        (
            "Train: data epoch: [3]  [ 120/1800]  eta: 0:30:01  lr: 0.01  loss: 1.5  time: 1.0",
            {"value": 120, "total": 1800},
        ),
        (
            "Validate  [ 20/240]  eta: 0:13:49    time: 3.3  data: 0.01  max mem: 27000",
            {"unit": "iteration", "value": 20, "total": 240},
        ),
        ("Train Epoch: 1 [ 6400/60000 (11%)] Loss: 0.43", {"value": 6400, "total": 60000, "loss": "0.43"}),
        ("epoch 7: train_loss=0.31 acc=0.9", {"unit": "epoch", "value": 7}),
        ("12/100 [==>...........................] - ETA: 9s - loss: 0.7", {"value": 12, "total": 100}),
        ("finish 450000, taken 31 seconds", {"value": 450000}),
        ("Iteration: 300\tLoss: -1.25\tKL Loss: 0.2", {"unit": "iteration", "value": 300, "loss": "-1.25"}),
        ("iteration index: 40, batch loss: 9.5", {"unit": "iteration", "value": 40, "loss": "9.5"}),
        ("epoch 12, minibatch 90/90, validation error 7.25 %", {"unit": "epoch", "value": 12}),
        ("| step       | 2.36e+04 |", {"unit": "step", "value": 23600}),
        ("|    total_timesteps    | 40960       |", {"unit": "step", "value": 40960}),
        ("[ROUND 12]", {"value": 12}),
        ("Trial 7 finished with value: 0.61 and parameters: {'depth': 4}", {"value": 7}),
        (
            ':::MLLOG {"namespace": "", "time_ms": 1600000000001, "event_type": "INTERVAL_END", "key": "epoch_stop", "value": null, "metadata": {"file": "run.py", "lineno": 7, "epoch_num": 12}}',
            {"unit": "epoch", "value": 12},
        ),
    ],
)
def test_progress_of_many_frameworks(line, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == ("progress.step", "info")
    assert {k: record.fields.get(k) for k in fields} == fields


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("Loading checkpoint shards:  50%|#####     | 2/4 [00:03<00:03,  1.6s/it]", "load"),
        ("Map (num_proc=16):  10%|#   | 100/1000 [00:01<00:09, 99.0 examples/s]", "data"),
        ("Validation DataLoader 0:  10%|#   | 1/10 [00:01<00:09,  1.0it/s]", "eval"),
        ("Generating train split: 10%|#   | 1/10 [00:01<00:09,  1.0 examples/s]", "data"),
        ("Saving model checkpoint to out/checkpoint-400", "save"),
        ("saving checkpoint at iteration    1000 to /scratch/ckpt", "save"),
        ("***** Running Evaluation *****", "eval"),
        ("Resuming training from epoch 3", "resume"),
        ("Tokenizing the training texts on rank 0", "data"),
        ("Grouping texts in chunks of 2048", "data"),
        ("Compiling the model with torch.compile", "compile"),
        ("Capturing CUDA graph shapes (decode)", "compile"),
    ],
)
def test_phases_are_named(line, phase):
    record = read(RECORDS, line)[0]
    assert (record.kind, record.fields["phase"]) == ("progress.phase", phase)


@pytest.mark.parametrize("tag", ["", "[rank1]: ", "[rank12]:"])
def test_exception_about_loading_is_no_phase(tag):
    assert kinds(RECORDS, f"{tag}AssertionError: Loading a checkpoint for MP=4 but world size is 2") == []


@pytest.mark.parametrize(
    "line",
    [
        ':::MLLOG {"namespace": "", "time_ms": 1600000000009, "event_type": "INTERVAL_END", "key": "run_stop", "value": null, "metadata": {"file": "run.py", "lineno": 9, "status": "success"}}',
        "{'train_runtime': 812.1, 'train_samples_per_second': 3.1, 'train_loss': 1.2, 'epoch': 3.0}",
        "Training completed. Do not forget to share your model on huggingface.co/models =)",
        "12 epochs completed in 1.402 hours.",
        "Training finished.",
        "[after training is done] datetime: 2031-02-03 04:05:06",
        "2031-02-03 04:05:06,262 - evalscope - INFO - Finished evaluation for Qwen3-14B on ['data_collection']",
    ],
)
def test_end_of_a_run_is_recognised(line):
    assert kinds(RECORDS, line) == ["progress.done"]


@pytest.mark.parametrize(
    "line",
    [
        "task 1: shard 2/40 done, 8520 tokens",
        "gpu-a:71:90 [1] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f count 4096 datatype 7",
        "timeout=1800",
        "wandb: Run summary:",
        "Epoch 3 training done in 40 s",
        "loss of connection",
        "100% of the disk is used",
        "step into the parser",
    ],
)
def test_other_lines_are_no_progress(line):
    assert kinds(RECORDS, line) == []


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
    assert diagnose([io.BytesIO("\n".join([signal, *bars]).encode())]).verdict == "failure"
    later_bars = [f"Epoch 1:  26%|##6    | {n}/3800 [15:18<43:26, 1.10it/s, v_num=3]" for n in (902, 903, 904)]
    assert diagnose([io.BytesIO("\n".join([signal, *later_bars]).encode())]).verdict == "healthy"
