"""Fits the weights of ``logdoctor/reasoning/confidence.py`` and says how well they tell right answers from wrong ones.

    python benchmarks/calibrate.py [CORPUS ...] [--fit]

Each log is judged whole, cut at either end and wrapped; and once with all rules of its true signature taken away, as if
nobody had written them.  One failure in twenty is taken to be of such a kind.  Without ``--fit`` the weights are
judged as they stand, with it they are fitted anew and printed.
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
from logdoctor.knowledge import gather
from logdoctor.reasoning import confidence
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.loading import load
from logdoctor.sources.paths import may_be_log

UNHEARD_OF = 0.05
"""So many real failures are taken to be of a kind that no rule knows: of the answers to unseen logs (docs/accuracy.md)
as many were wrong."""
HARMS = ("", "cut", "missing")
JOBS = 100


def variants(files):
    """The files of a job, as they are and as they reach us: without their end, without their start, collected."""
    yield files
    if len(files) > 1 or any(len(t.splitlines()) > 3 for t in files.values()):
        yield {n: "\n".join(t.splitlines()[: -max(1, len(t.splitlines()) // 3)]) for n, t in files.items()}
        yield {n: "\n".join(t.splitlines()[len(t.splitlines()) // 3 :]) for n, t in files.items()}
    yield {n: "\n".join(f"2031-04-05 06:07:08,901 {line}" for line in t.splitlines()) for n, t in files.items()}


def labelled(corpora):
    """Name, files and the right answers of every labelled job that failed or might have."""
    book = load([shipped_rules()])
    named = {r.id: r.signature for r in book.rules}
    for rule in book.rules:
        for n, one in enumerate((*rule.examples, *rule.near_misses)):
            truth = one.truth if one in rule.near_misses else rule.signature
            if rule.role != "benign" or one in rule.near_misses:
                yield f"{rule.id} {n}", {"job.log": one.log}, {named.get(truth, truth)}
    for corpus in corpora:
        for case in sorted(corpus.rglob("case.yaml")):
            told = yaml.safe_load(case.read_text("utf-8"))
            logs = [p for p in sorted(case.parent.rglob("*")) if p.is_file() and p.suffix not in (".yaml", ".md")]
            files = {p.name: p.read_text("utf-8", "replace") for p in logs if may_be_log(p.name)}
            yield case.parent.name, files, {told["label"], *told.get("also", ())}
    for n in range(JOBS):
        job = simulate(7000 + n, [*FAULTS][n % len(FAULTS)], (8, 16, 32)[n % 3], harm=HARMS[n % 7 % 3])
        if job.truth.cause_visible:
            yield f"simulated {n}", job.files, set(job.truth.signatures)


def without(known, signatures):
    """The knowledge in which no rule of ``signatures`` ever holds; the numbers of symptoms stay."""

    def silent(rule):
        shown = tuple(replace(s, dialect="nobody's") for s in rule.symptoms)
        return replace(rule, symptoms=shown)

    return replace(known, rules=tuple(silent(r) if r.signature in signatures else r for r in known.rules))


def answer(files, known):
    """The first answer to a job and the facts that its confidence rests on; None where none is given."""
    seen = []
    plain = confidence.chance

    def spy(facts):
        seen.append(facts)
        return plain(facts)

    confidence.chance = spy
    try:
        streams = [io.BytesIO(t.encode("utf-8", "replace")) for t in files.values()]
        for name, stream in zip(files, streams, strict=True):
            stream.name = name
        causes = diagnose(streams, knowledge=known).causes
    finally:
        confidence.chance = plain
    return (causes[0].signature, seen[-len(causes)]) if causes and causes[0].by == "rule" else None


def table(corpora):
    known = gather([shipped_rules()])
    rows = []
    for name, files, truth in labelled(corpora):
        told = [answer(v, known) for v in variants(files)]
        rows += [(name, True, (1 - UNHEARD_OF) / len(told), a[0] in truth, a[1]) for a in told if a]
        unheard = None if truth & {"healthy", "unknown"} else answer(files, without(known, truth))
        if unheard:
            rows.append((name, False, UNHEARD_OF, unheard[0] in truth, unheard[1]))
    frame = pd.DataFrame(rows, columns=["name", "known", "weight", "right", "facts"])
    return frame.drop(columns="facts"), pd.DataFrame(frame["facts"].tolist()).astype(float)


def report(frame, said):
    frame = frame.assign(said=said, bin=(said * 20).astype(int).clip(upper=19) / 20)
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
    asked = parser.parse_args()
    frame, facts = table(asked.corpora)
    if asked.fit:
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
