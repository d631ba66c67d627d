"""The Python API: `logdoctor.diagnose`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from failing_job import ANSWER, OOM, VALIDATOR, answer

import logdoctor


@pytest.mark.parametrize(
    "make_input", [str, Path, lambda p: [p], lambda p: [str(p)], lambda p: io.BytesIO(p.read_bytes())]
)
def test_the_api_takes_paths_lists_and_open_files(make_input, log, knowledge):
    assert answer(logdoctor.diagnose(make_input(log), knowledge=knowledge)) == ANSWER


def test_api_shows_its_functions_and_has_type_hints():
    assert set(logdoctor.__all__) <= set(dir(logdoctor))
    assert (Path(logdoctor.__file__).parent / "py.typed").exists()


def test_api_returns_the_contract(log, knowledge):
    plain = logdoctor.diagnose(log, knowledge=knowledge).to_dict()
    VALIDATOR.validate(plain)
    assert plain["causes"][0]["evidence"][0]["text"] == OOM
