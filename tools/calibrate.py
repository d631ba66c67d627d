"""Measure the confidence of answers, or fit its weights (``logdoctor/reasoning/causality/confidence.py``).

    python tools/calibrate.py [CORPUS ...] [--fit]

Each log is diagnosed whole, cut at either end, and with a prefix on each line. It is diagnosed once more without the
rules of its true signature, because one answer in five does not name the real cause. Without ``--fit`` the
present weights are measured. With ``--fit`` new weights are fitted and printed.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from simulator import FAULTS, simulate

from logdoctor import diagnose
from logdoctor.inputs.paths import may_be_log
from logdoctor.pipeline.knowledge import gather
from logdoctor.reasoning.causality import confidence
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load

WITHOUT_RULE = 0.2
"""The share of answers whose cause is not the real one. Strict readers found one in five (docs/accuracy.md)."""
HARMS = ("", "cut", "missing")
JOBS = 100


def variants(files):
    """Yield the files of a job whole, cut at either end, and with prefixes."""
    yield files
    if len(files) > 1 or any(len(t.splitlines()) > 3 for t in files.values()):
        yield {n: "\n".join(t.splitlines()[: -max(1, len(t.splitlines()) // 3)]) for n, t in files.items()}
        yield {n: "\n".join(t.splitlines()[len(t.splitlines()) // 3 :]) for n, t in files.items()}
    yield {n: "\n".join(f"2031-04-05 06:07:08,901 {line}" for line in t.splitlines()) for n, t in files.items()}


def labelled(corpora):
    """Yield name, files and right answers of every labelled job."""
    book = load([shipped_rules()])
    signatures = {r.id: r.signature for r in book.rules}
    for rule in book.rules:
        for n, example in enumerate((*rule.examples, *rule.near_misses)):
            truth = example.truth if example in rule.near_misses else rule.signature
            if rule.role != "benign" or example in rule.near_misses:
                yield f"{rule.id} {n}", {"job.log": example.log}, {signatures.get(truth, truth)}
    for corpus in corpora:
        for case in sorted(corpus.rglob("case.yaml")):
            about = yaml.safe_load(case.read_text("utf-8"))
            logs = [p for p in sorted(case.parent.rglob("*")) if p.is_file() and p.suffix not in (".yaml", ".md")]
            files = {p.name: p.read_text("utf-8", "replace") for p in logs if may_be_log(p.name)}
            yield case.parent.name, files, {about["label"], *about.get("also", ())}
    for n in range(JOBS):
        job = simulate(7000 + n, [*FAULTS][n % len(FAULTS)], (8, 16, 32)[n % 3], harm=HARMS[n % 7 % 3])
        if job.truth.cause_visible:
            yield f"simulated {n}", job.files, set(job.truth.signatures)


def without(knowledge, signatures):
    """Return ``knowledge`` without matches of ``signatures``. Their rules stay, so the numbers of symptoms hold."""

    def silence(rule):
        return replace(rule, symptoms=tuple(replace(s, format="no such dialect") for s in rule.symptoms))

    return replace(knowledge, rules=tuple(silence(r) if r.signature in signatures else r for r in knowledge.rules))


def answer(files, knowledge):
    """Return the first answer of a rule with the facts of its confidence.

    Return None if no rule answers.
    """
    recorded = []
    plain = confidence.chance

    def spy(facts):
        recorded.append(facts)
        return plain(facts)

    confidence.chance = spy
    try:
        streams = [io.BytesIO(t.encode("utf-8", "replace")) for t in files.values()]
        for name, stream in zip(files, streams, strict=True):
            stream.name = name
        causes = diagnose(streams, knowledge=knowledge).causes
    finally:
        confidence.chance = plain
    return (causes[0].signature, recorded[-len(causes)]) if causes and causes[0].by == "rule" else None


def table(corpora):
    knowledge = gather([shipped_rules()])
    rows = []
    for name, files, truth in labelled(corpora):
        answers = [answer(v, knowledge) for v in variants(files)]
        rows += [(name, True, (1 - WITHOUT_RULE) / len(answers), a[0] in truth, a[1]) for a in answers if a]
        blind = None if truth & {"healthy", "unknown"} else answer(files, without(knowledge, truth))
        if blind:
            rows.append((name, False, WITHOUT_RULE, blind[0] in truth, blind[1]))
    frame = pd.DataFrame(rows, columns=["name", "known", "weight", "right", "facts"])
    return frame.drop(columns="facts"), pd.DataFrame(frame["facts"].tolist()).astype(float)


def report(frame, confidences):
    frame = frame.assign(said=confidences, bin=(confidences * 20).astype(int).clip(upper=19) / 20)
    rows = []
    for start, part in frame.groupby("bin"):
        right = np.average(part["right"], weights=part["weight"])
        rows.append((start, len(part), part["weight"].sum(), np.average(part["said"], weights=part["weight"]), right))
    curve = pd.DataFrame(rows, columns=["from", "answers", "weight", "said", "right"])
    print(curve.round(3).to_string(index=False))
    error = ((curve["said"] - curve["right"]).abs() * curve["weight"]).sum() / curve["weight"].sum()
    print(f"expected calibration error {error:.3f}, right {np.average(frame['right'], weights=frame['weight']):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", type=Path, default=[Path(__file__).parent.parent / "corpus"])
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    frame, facts = table(options.corpora)
    if options.fit:
        from sklearn.linear_model import LogisticRegression

        usual = (facts[[*confidence.ASSUMED]] == 0).all(axis=1)
        rest = facts[usual].drop(columns=["any answer", *confidence.ASSUMED])
        fitted = LogisticRegression(max_iter=1000).fit(
            rest, frame.loc[usual, "right"], sample_weight=frame.loc[usual, "weight"]
        )
        weights = {"any answer": fitted.intercept_[0], **dict(zip(rest, fitted.coef_[0], strict=True))}
        confidence.WEIGHTS |= {name: round(float(w), 1) for name, w in weights.items()}
        print("\n".join(f'    "{name}": {w},' for name, w in confidence.WEIGHTS.items()))
    report(frame, facts.apply(lambda row: confidence.chance(dict(row)), axis=1))


if __name__ == "__main__":
    main()
