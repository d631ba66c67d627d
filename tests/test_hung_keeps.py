"""With ``--hung`` an answer loses nothing that the plain call knows."""

from __future__ import annotations

from pathlib import Path

import logdoctor

CORPUS = Path(__file__).parents[1] / "corpus"
CASES = sorted(path.parent for path in CORPUS.glob("*/case.yaml"))[::24]


def test_hung_keeps_cause_facts_and_culprit():
    for case in CASES:
        logs = [str(path) for path in sorted(case.rglob("*")) if path.suffix in {".log", ".txt", ".out", ".err"}]
        plain, hung = (logdoctor.diagnose(logs, lang="en", hung=hung) for hung in (False, True))
        if logs and plain.answer:
            kept = next((cause for cause in hung.causes if cause.rule == plain.answer.rule), None)
            assert kept is not None, case.name
            assert (kept.culprit, kept.summary) == (plain.answer.culprit, plain.answer.summary), case.name
