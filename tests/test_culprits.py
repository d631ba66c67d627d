"""Ranks and hosts that the first cause names (`culprits.tsv`)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from logdoctor import diagnose
from logdoctor.pipeline.knowledge import Knowledge


def cases() -> Iterator[tuple[str, str]]:
    """Yield the expected ranks and hosts, and the log."""
    for line in Path(__file__).with_name("culprits.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            named, _, log = line.partition("\t")
            yield named, log.replace("\\n", "\n")


@pytest.mark.parametrize(("named", "log"), list(cases()))
def test_first_cause_names_this_rank_and_host(named: str, log: str, knowledge: Knowledge) -> None:
    diagnosis = diagnose(io.BytesIO(log.encode() + b"\n"), knowledge=knowledge)
    culprit = diagnosis.causes[0].culprit
    assert culprit is not None
    parts = [",".join(map(str, culprit.ranks)) or "-", ",".join(culprit.hosts) or "-"]
    assert " ".join(parts) == named
