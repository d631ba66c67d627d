"""Two lists of the same keys, of which one value differs."""

from __future__ import annotations

import io
from itertools import permutations

import pytest

from logdoctor import diagnose

PAIRS = {"Ray": "2.6.3", "Python": "3.10.12", "Cloudpickle": "2.2.0"}


def refusal(first, second):
    def say(pairs):
        return "".join(f"    {key}: {value}\n" for key, value in pairs)

    head = "Version mismatch: The cluster was started with:\n"
    log = f"RuntimeError: {head}{say(first)}This process on node 10.2.0.14 was started with:\n{say(second)}"
    return diagnose(io.BytesIO(log.encode())).causes[0]


@pytest.mark.parametrize("keys", [*permutations(PAIRS)])
@pytest.mark.parametrize("odd", PAIRS)
def test_pair_that_differs_is_told_in_any_order(keys, odd):
    first = [(key, PAIRS[key]) for key in keys]
    cause = refusal(first, [(key, "0.1" if key == odd else value) for key, value in first])
    assert cause.title.startswith(f"{odd} is {PAIRS[odd]} in the Ray cluster and 0.1 ")


def test_lists_that_agree_tell_no_difference():
    cause = refusal(PAIRS.items(), PAIRS.items())
    assert cause.title == "Ray: the cluster and a process have different versions"


def test_message_that_a_console_wrapped_is_told_whole():
    log = "FitError: the loader was given a client's optimizer, for which one \nhas to set zero_force \nin the file."
    assert diagnose(io.BytesIO(log.encode())).causes[0].summary.count("zero_force in the file") == 1
