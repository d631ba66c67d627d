from __future__ import annotations

import pytest
from dialect_probe import kinds, one, read
from failing_job import diagnosed

from logdoctor.parsers.dialects.weights import RECORDS

LIST = """\
The model and loaded state dict do not match exactly

size mismatch for head.fc.weight: copying a param with shape torch.Size([81, 64]) from checkpoint, the shape in \
current model is torch.Size([4, 64]).
unexpected key in source state_dict: neck.extra.weight, neck.extra.bias

missing keys in source state_dict: neck.gate.weight

"""


def test_a_list_of_what_did_not_fit_is_one_warning():
    (seen,) = read(RECORDS, LIST + "Epoch [1][50/9870] lr: 0.01")
    assert (seen.kind, seen.level) == ("weights.partial", "warning")


def test_an_exception_with_the_same_words_is_none():
    assert kinds(RECORDS, "RuntimeError: The model and loaded state dict do not match exactly") == []


@pytest.mark.parametrize("logger", ["", "2024-05-02 11:20:41,112 - mmdet - WARNING - "])
def test_a_partial_load_explains_no_failure_behind_it(knowledge, logger):
    found = diagnosed(logger + LIST + "Traceback (most recent call last):\nKeyboardInterrupt\n", knowledge)
    assert [cause.signature for cause in found.causes] == ["job.preempted"]


def test_the_list_ends_where_something_else_is_said():
    assert one(RECORDS, LIST).kind == "weights.partial"
    found = read(RECORDS, LIST + "step 1\n" + LIST)
    assert len(found) == 2


def test_the_line_below_says_why_megatron_could_not_load():
    seen = one(RECORDS, "could not load the checkpoint\n[Errno 13] Permission denied: '/ckpt/model.pt'\n")
    assert (seen.kind, seen.fields["message"]) == (
        "weights.not_loaded",
        "[Errno 13] Permission denied: '/ckpt/model.pt'",
    )
