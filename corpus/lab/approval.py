"""Approved answers: ``expect:`` in case.yaml, and golden reports.

``label``, ``culprit`` and ``evidence`` in case.yaml are the truth.  ``expect`` is the answer that logdoctor gives today.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from logdoctor.model import Diagnosis

Answer = Mapping[str, Any]
BLOCK = re.compile(r"^expect:.*\n(?:[ \t].*\n)*", re.MULTILINE)
"""The lines of ``expect:`` in a case.yaml."""
MOVING = ("line", "peers")
"""These hold numbers of lines and of ports, which differ from one run of a program to the next."""


def answer(diagnosis: Diagnosis, folder: Path) -> dict[str, Any]:
    """Return what ``expect:`` says of a diagnosis, such as ``{verdict: failure, signature: cuda.oom, …}``.

    ``line`` is the decisive line, ``job.log:33``: the first line that the report shows.  Its file is relative to
    ``folder``.
    """
    cause = diagnosis.causes[0] if diagnosis.causes else None
    evidence = cause.evidence if cause else diagnosis.unexplained
    line = evidence[0].line if evidence else None
    names = ("ranks", "hosts", "gpus", "peers") if cause else ()
    return {
        "verdict": diagnosis.verdict,
        "signature": cause.signature if cause else None,
        "culprit": {name: list(values) for name in names if (values := getattr(cause.culprit, name))},
        "line": f"{Path(line.file).relative_to(folder)}:{line.number}" if line else None,
    }


def read_answer(folder: Path) -> dict[str, Any] | None:
    """Return the ``expect:`` of a case, None if there is none."""
    path = folder / "case.yaml"
    block = BLOCK.search(path.read_text("utf-8")) if path.exists() else None
    return yaml.safe_load(block[0])["expect"] if block else None


def write_answer(folder: Path, expect: Answer) -> None:
    """Replace ``expect:`` in case.yaml, or add it at the end. All other lines stay unchanged."""
    path = folder / "case.yaml"
    flow = yaml.safe_dump(dict(expect), default_flow_style=True, sort_keys=False, allow_unicode=True, width=110)
    block = "expect: " + flow.rstrip("\n").replace("\n", "\n ") + "\n"
    text = path.read_text("utf-8")
    path.write_text(BLOCK.sub(lambda _: block, text) if BLOCK.search(text) else text + block, "utf-8")


def differences(expect: Answer | None, actual: Answer) -> list[str]:
    """Return a line for each field in which two answers differ."""
    if expect is None:
        return ["case.yaml has no expect:"]
    names = [name for name in {**actual, **expect} if expect.get(name) != actual.get(name)]
    return [f"{name}: expected {_flow(expect.get(name))}, actual {_flow(actual.get(name))}" for name in names]


def is_alike(expect: Answer, actual: Answer) -> bool:
    """Tell whether two answers agree in all that is stable from run to run."""
    return _steady(expect) == _steady(actual)


def summary(expect: Answer) -> str:
    """Return an answer in a few words: ``cuda.oom rank 2 on gpu-a01``."""
    culprit = expect["culprit"]
    ranks, hosts = (", ".join(map(str, culprit.get(name, ()))) for name in ("ranks", "hosts"))
    words = (expect["signature"] or expect["verdict"], f"rank {ranks}" if ranks else "", f"on {hosts}" if hosts else "")
    return " ".join(filter(None, words))


def golden_reports(folder: Path) -> dict[str, Path]:
    """Return the golden reports of a case by language.

    ``report.md`` is English, ``report.zh.md`` Chinese.
    """
    return {path.stem.partition(".")[2] or "en": path for path in sorted(folder.glob("report.*md"))}


def _steady(expect: Answer) -> dict[str, Any]:
    culprit = {name: sorted(values) for name, values in expect["culprit"].items()}
    flat = {**expect, **culprit, "culprit": None}
    return {name: value for name, value in flat.items() if name not in MOVING}


def _flow(value: object) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("\n").removesuffix("\n...")
