"""Hosts with another NCCL version than most."""

from __future__ import annotations

from pathlib import Path

from logdoctor import diagnose
from logdoctor.model import Cause
from logdoctor.pipeline.knowledge import Knowledge

MISREAD = "misc/socket.cc:641 NCCL WARN ncclSocketInit: connecting to address  with family 14 is neither AF_INET(2) nor AF_INET6(10)"


def first_cause(folder: Path, knowledge: Knowledge, versions: dict[str, str]) -> Cause:
    """Return the first cause of a job with a file for each host."""
    for number, (host, version) in enumerate(versions.items()):
        lines = [
            f"{host}:33{number}0:33{number}0 [0] NCCL INFO Bootstrap : Using eth0:10.8.0.{number + 4}<0>",
            f"NCCL version {version}",
            *([f"{host}:3300:3311 [0] {MISREAD}"] if number == 0 else []),
        ]
        (folder / f"{number}.log").write_text("\n".join(lines) + "\n")
    return diagnose(folder, knowledge=knowledge).causes[0]


def test_host_with_another_version_than_most_is_the_culprit(tmp_path, knowledge):
    versions = {"cq1": "2.21.5+cuda12.4", "cq2": "2.21.5+cuda12.4", "cq3": "2.18.5+cuda12.1", "cq4": "2.21.5+cuda12.4"}
    cause = first_cause(tmp_path, knowledge, versions)
    assert (cause.signature, cause.culprit.hosts, cause.culprit.ranks) == ("nccl.version-mismatch", ("cq3",), ())
    assert "cq3 differs from the others" in cause.summary


def test_two_equally_frequent_versions_have_no_odd_host(tmp_path, knowledge):
    versions = {"cq1": "2.21.5+cuda12.4", "cq2": "2.18.5+cuda12.1", "cq3": "2.18.5+cuda12.1", "cq4": "2.21.5+cuda12.4"}
    cause = first_cause(tmp_path, knowledge, versions)
    assert (cause.signature, cause.culprit.hosts) == ("nccl.version-mismatch", ())
