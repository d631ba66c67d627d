from __future__ import annotations

import pytest
from failing_job import diagnose_log
from format_probe import kinds, read, read_record, records

RECORDS = records("weights")


LIST = """\
The model and loaded state dict do not match exactly

size mismatch for head.fc.weight: copying a param with shape torch.Size([81, 64]) from checkpoint, the shape in \
current model is torch.Size([4, 64]).
unexpected key in source state_dict: neck.extra.weight, neck.extra.bias

missing keys in source state_dict: neck.gate.weight

"""


def test_list_of_unfitting_weights_is_one_warning():
    (record,) = read(RECORDS, LIST + "Epoch [1][50/9870] lr: 0.01")
    assert (record.kind, record.level) == ("weights.partial", "warning")


def test_exception_with_the_same_words_is_no_warning():
    assert kinds(RECORDS, "RuntimeError: The model and loaded state dict do not match exactly") == []


@pytest.mark.parametrize("logger", ["", "2024-05-02 11:20:41,112 - mmdet - WARNING - "])
def test_a_partial_load_explains_no_failure_behind_it(knowledge, logger):
    diagnosis = diagnose_log(logger + LIST + "Traceback (most recent call last):\nKeyboardInterrupt\n", knowledge)
    assert [cause.signature for cause in diagnosis.causes] == ["job.preempted"]


def test_list_of_weights_ends_at_another_line():
    assert read_record(RECORDS, LIST).kind == "weights.partial"
    records = read(RECORDS, LIST + "step 1\n" + LIST)
    assert len(records) == 2


def test_line_below_a_failed_load_of_megatron_is_the_message():
    record = read_record(RECORDS, "could not load the checkpoint\n[Errno 13] Permission denied: '/ckpt/model.pt'\n")
    assert (record.kind, record.fields["message"]) == (
        "weights.not_loaded",
        "[Errno 13] Permission denied: '/ckpt/model.pt'",
    )
