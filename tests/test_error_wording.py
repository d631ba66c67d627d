"""Wording that separates error messages from news."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose
from logdoctor.model import CALM


@pytest.mark.parametrize(
    "sentence",
    [
        "The islands of the planner must all have one size",
        "`island_mode` should be one of quiet, loud",
        "Island mesh expected 4 shores but got 6",
        "Expected a mesh of two dimensions, got three",
        "Unknown planner mood: stormy, choose calm or brisk",
        "--island-mode requires --planner calm",
        "Stormy mood is only supported with one island",
        "The planner can only be called before the mesh is laid out",
        "5 is not divisible by 2",
        "You passed both an island and a mesh, please specify one of them",
        "The mesh has not been laid out",
    ],
)
def test_demand_is_not_healthy(sentence, knowledge):
    assert diagnose(io.BytesIO(sentence.encode()), knowledge=knowledge).verdict not in CALM


@pytest.mark.parametrize(
    "sentence",
    [
        "Stormy mood is not supported here, using calm instead of it",
        "The mesh file does not exist and will be made at the first step",
        "Failed to read the old mesh, retrying in 5 seconds",
        "The island mode is deprecated and has to be set by the planner",
        "Laying out a mesh of 4 islands that was not found in the cache",
        "61 islands were laid out, 0 islands failed",
        "You can set PLANNER_MOOD if the mesh does not fit",
        "planner: the old mesh does not exist",
        "plan --island-mode calm --mesh-must-fit no",
    ],
)
def test_demand_with_recovery_is_healthy(sentence, knowledge):
    assert diagnose(io.BytesIO(sentence.encode()), knowledge=knowledge).verdict in CALM
