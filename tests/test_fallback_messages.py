"""Logs that hold only a copied error message."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose
from logdoctor.authoring.rule_check import first_signature
from logdoctor.model import CALM


def answer(text, knowledge):
    diagnosis = diagnose(io.BytesIO(text.encode()), knowledge=knowledge)
    return first_signature(diagnosis)


@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        ("The number of experts (6) must be divisible by the expert parallel size (4)", "app.config"),
        ("`gradient_clipping` cannot be used with `--optimizer adafactor`", "app.config"),
        ("> No CUDA GPUs are available", "cuda.driver"),
    ],
)
def test_message_without_exception_type_is_explained_by_a_rule(sentence, cause, knowledge):
    assert answer(sentence, knowledge) == cause
    assert sentence in diagnose(io.BytesIO(sentence.encode()), knowledge=knowledge).causes[0].evidence[0].line.text


def test_message_with_advice_behind_it_is_explained_by_a_rule(knowledge):
    message = "Ray does not allocate any GPUs on the driver node. Consider running the driver elsewhere."
    assert answer(message, knowledge) == "job.resources"


@pytest.mark.parametrize(
    "sentence",
    [
        "The planner could not lay out the mesh for 6 islands",
        "Island 3 of the mesh was not reached",
        "Encountered an error: island 3 of the mesh has no way out",
    ],
)
def test_error_wording_without_a_rule_is_unknown(sentence, knowledge):
    assert answer(sentence, knowledge) == "unknown"


@pytest.mark.parametrize(
    "log",
    [
        "Loading the tokenizer of the model from the cache",
        "Could not read the cache of the planner, falling back to a new plan",
        "INFO planner: the old plan could not be read",
        "2026-03-04 10:00:00 the mesh could not be laid out at once",
        "torchrun --nproc-per-node 4 plan.py --islands 3 --strict",
        "fit/plan.py:31: UserWarning: the plan is not optimal",
        "first line of four\nsecond line of four\nthe third cannot be laid out\nfourth line of four",
    ],
    ids=["nothing is wrong", "recovered", "a level", "a clock", "a command", "a warning", "a longer log"],
)
def test_log_without_error_wording_or_with_a_level_is_healthy(log, knowledge):
    assert answer(log, knowledge) == "healthy"


@pytest.mark.parametrize(
    ("sentence", "exception"),
    [
        ("module 'fit.mesh' has no attribute 'shards'", "AttributeError"),
        ("'NoneType' object is not subscriptable", "TypeError"),
        ("local variable 'total' referenced before assignment", "UnboundLocalError"),
        ("step() got an unexpected keyword argument 'scale'", "TypeError"),
    ],
)
def test_message_of_a_python_exception_gives_its_type(sentence, exception, knowledge):
    diagnosis = diagnose(io.BytesIO(f"{sentence}\n".encode()), knowledge=knowledge)
    assert diagnosis.causes[0].signature == "app.exception"
    assert f"{exception}: {sentence}" in diagnosis.causes[0].summary


def test_missing_module_with_fallback_is_healthy(knowledge):
    log = b"No module named 'flash_fit', falling back to the slow kernel\n"
    assert diagnose(io.BytesIO(log), knowledge=knowledge).verdict in CALM
