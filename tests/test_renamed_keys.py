"""Keys of a checkpoint and of a model that differ in one name."""

from __future__ import annotations

import io
from random import Random

import pytest

from logdoctor import diagnose

LAYERS = ("0.weight", "0.bias", "2.attn.weight", "norm.scale")


def answer(missing, unexpected):
    def say(keys):
        return ", ".join(f'"{key}"' for key in keys)

    lists = f"\tMissing key(s) in state_dict: {say(missing)}. \n\tUnexpected key(s) in state_dict: {say(unexpected)}. "
    log = f"RuntimeError: Error(s) in loading state_dict for Net:\n{lists}\n"
    return diagnose(io.BytesIO(log.encode())).causes[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("place", "model", "file"), [("{}", "head", "top"), ("net.{}", "a.b", "c"), ("{}.mod", "x", "y.z")]
)
def test_renamed_part_is_told_in_any_order(place, model, file, seed):
    shuffle = Random(seed).shuffle
    missing, unexpected = ([f"{place.format(name)}.{layer}" for layer in LAYERS] for name in (model, file))
    unexpected.append("extra.buffer")
    shuffle(missing)
    shuffle(unexpected)
    cause = answer(missing, unexpected)
    assert cause.rule == "checkpoint.incompatible-renamed"
    assert f"`{file}`" in cause.title
    assert f"`{model}`" in cause.title


def test_keys_of_another_model_are_not_told_as_renamed():
    cause = answer([f"head.{layer}" for layer in LAYERS], ["top.0.weight", "top.9.bias", "tail.scale"])
    assert cause.rule == "checkpoint.incompatible"


def test_prefix_of_a_wrapper_is_told_as_such():
    cause = answer([f"head.{layer}" for layer in LAYERS], [f"module.head.{layer}" for layer in LAYERS])
    assert cause.rule == "checkpoint.incompatible-prefix"
