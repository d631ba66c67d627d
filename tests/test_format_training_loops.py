from __future__ import annotations

import pytest
from format_probe import kinds, read_record, records

RECORDS = records("training_loops")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("[step=760/1000,epoch=0]", {"unit": "step", "value": 760, "total": 1000}),
        ('{"epoch": 3, "update": 2.4, "loss": "5.1", "num_updates": "1200"}', {"unit": "step", "value": 1200}),
        ("[train][1] progress: 1/4 step: 300, time: 3.689, speed: 27.105 steps/s", {"unit": "step", "value": 300}),
        ("Outer Step:   230   LossTrajs: 0.0000571", {"unit": "step", "value": 230}),
        ("Epoch:   720     LossContext: 0.01101981", {"unit": "epoch", "value": 720}),
        ("Epoch 7: Train=313980.8  Val=310099.1", {"unit": "epoch", "value": 7}),
        ("[EPOCH 60]\tTrain Acc: 0.9235\tTrain Loss: 0.0015", {"unit": "epoch", "value": 60}),
        (" NSTEP =  1984500   TIME(PS) =    4969.000  TEMP(K) =   275.17", {"unit": "step", "value": 1984500}),
        (" Simulating batch 18", {"unit": "step", "value": 18}),
        ("Loop time of 4.12 on 32 procs for 1000 steps with 32000 atoms", {"unit": "step", "value": 1000}),
        ('{"train_lr": 0.0005, "train_loss": 4.1, "epoch": 6, "test_acc1": 23.4}', {"unit": "epoch", "value": 6}),
        (
            ':::MLPv0.5.0 resnet 1541670586.04 (eval.py:262) eval_accuracy: {"value": 0.71, "epoch": 32}',
            {"unit": "epoch", "value": 32},
        ),
        (
            'MLPerf: resnet [06/13/19 03:14:01], eval_accuracy: {"value": 48.65000%, "epoch": 43}',
            {"unit": "epoch", "value": 43},
        ),
        ("Epoch is [5/600], mini-batch is [1/41], batch_loss is 14.3", {"unit": "epoch", "value": 5, "total": 600}),
        ("GAN training: time elapsed = 51.26 [s] | epoch=3 | batch= [51/3503]", {"unit": "epoch", "value": 3}),
        ("Node[0] Epoch[30] Batch [0-20]\tSpeed: 22701.33 samples/sec\taccuracy=0.60", {"unit": "epoch", "value": 30}),
        ("Epoch [61]", {"unit": "epoch", "value": 61}),
        ("\titers: 300, epoch: 2 | loss: 0.512", {"unit": "iteration", "value": 300, "epoch": "2"}),
        ("Task: AC, Iter:55/825; Accuracy = 48.13% / 42.96%", {"unit": "iteration", "value": 55, "total": 825}),
        ("wandb: Agent Starting Run: k3x9a1bc with config:", {"unit": "run of a sweep"}),
        ("iter = 21700", {"unit": "step", "value": 21700}),
        ("KMC step count: 6", {"unit": "step", "value": 6}),
        ("4 of 6 steps (67%) done", {"unit": "step", "value": 4, "total": 6}),
        ("   *                GEOMETRY OPTIMIZATION CYCLE   4            *", {"unit": "step", "value": 4}),
    ],
)
def test_other_training_loops_make_progress(line, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == ("progress.step", "info")
    assert {k: record.fields.get(k) for k in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "num_updates: 2000",
        "Epoch 7 starts",
        "steps for Loss of precision",
        "EPOCH 3 FAILED: TestError",
        "Train=3 Val=4",
        "Loop time limit reached",
        "stopped at Iter:55/825; no memory",
    ],
)
def test_talk_about_steps_is_no_progress(line):
    assert kinds(RECORDS, line) == []
