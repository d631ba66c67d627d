"""Measure the confidence of answers and fit its weights (``logdoctor/reasoning/causality/confidence.py``).

    python tools/calibrate.py [CASES ...]

Two sorts of answers are judged. Strict readers marked those of ``marks.tsv``: an answer is wholly right if its cause,
its sentence, its decision, its remedy and its first step are. Labelled cases (the corpus, if none is named) are
diagnosed with all rules and once more without those of the right signature. Both sorts share the weights of the
doubts, and each has its own odds of an answer without a doubt. The weights are fitted on one half of the cases and
judged on the other, again and again; those that are fitted on all cases are printed.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from msgspec.structs import replace
from scipy.optimize import minimize

from logdoctor import diagnose
from logdoctor.pipeline.knowledge import Knowledge, gather, rule_folders
from logdoctor.reasoning.causality import confidence

HERE = Path(__file__).resolve().parent
LOGS = {".log", ".txt", ".out", ".err"}
DOUBTS = [*confidence.WEIGHTS]
RIGHT = {
    "cause": ("right",),
    "sentence": ("true",),
    "decision": ("right",),
    "remedy": ("fixes", "none-needed"),
    "step1": ("yes", "n/a"),
}
"""Marks of an answer that is wholly right."""
UNKNOWN = 0.25
"""Weight of an answer without its right rule. One answer in five does not name the real cause (docs/accuracy.md)."""
MARKS = 0.2
"""Weight of all marks, as a share of that of all labelled cases."""
PENALTY = 0.5
SURE = 0.9
SEEDS = 100
PACK: list[Knowledge] = []


def without(knowledge: Knowledge, signatures: set[str]) -> Knowledge:
    """Return ``knowledge`` without matches of ``signatures``. Their rules stay, so the numbers of symptoms hold."""

    def silence(rule):
        return replace(rule, symptoms=tuple(replace(s, format="no such dialect") for s in rule.symptoms))

    return replace(knowledge, rules=tuple(silence(r) if r.signature in signatures else r for r in knowledge.rules))


def read_marks() -> pd.DataFrame:
    """Return the doubts of the marked answers, and whether they are wholly right."""
    lines = (HERE / "marks.tsv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))
    frame = pd.DataFrame(row for row in rows if row[DOUBTS[0]])
    frame["right"] = np.logical_and.reduce([frame[mark].isin(good) for mark, good in RIGHT.items()])
    return frame.astype(dict.fromkeys(DOUBTS, float))


def read_cases(folders: Sequence[Path]) -> pd.DataFrame:
    """Return the doubts of the answers about labelled cases, with and without the right rules."""
    labels = sorted(p for root in folders for name in ("case.json", "case.yaml") for p in root.rglob(name))
    with ProcessPoolExecutor(2) as pool:
        return pd.DataFrame(row for rows in pool.map(answers, labels, chunksize=8) for row in rows)


def answers(label: Path) -> list[dict[str, Any]]:
    """Return the answers about a failed case, with and without the right rules, if rules give them."""
    about = json.loads(label.read_text()) if label.suffix == ".json" else yaml.safe_load(label.read_text())
    also = about.get("also") or ()
    truth = {about["label"], *((also,) if isinstance(also, str) else also)}
    logs = sorted(str(path) for path in label.parent.rglob("*") if path.suffix in LOGS)
    if truth & {"healthy", "unknown"} or not logs:
        return []
    if not PACK:
        PACK.append(gather(rule_folders()))
    found = ((True, answer(logs, PACK[0])), (False, answer(logs, without(PACK[0], truth))))
    return [
        {"case": label.parent.name, "known": known, "right": signature in truth, "said": said, **doubts}
        for known, given in found
        if given
        for signature, said, doubts in [given]
    ]


def answer(logs: Sequence[str], knowledge: Knowledge) -> tuple[str, float, dict[str, float]] | None:
    """Return the signature, the confidence and the doubts of the first answer of a rule."""
    collected: list[dict[str, float]] = []
    plain = confidence.chance

    def spy(doubts: dict[str, float]) -> float:
        collected.append(doubts)
        return plain(doubts)

    confidence.chance = spy
    try:
        causes = diagnose(logs, knowledge=knowledge).causes
    finally:
        confidence.chance = plain
    if not causes or causes[0].by != "rule":
        return None
    return causes[0].signature, causes[0].confidence, {n: float(v) for n, v in collected[-len(causes)].items()}


def fit(marks: pd.DataFrame, cases: pd.DataFrame) -> np.ndarray:
    """Return the odds of a marked and of a labelled answer without a doubt, then the weights of the doubts."""
    weights = np.where(cases["known"], 1.0, UNKNOWN)
    parts = (
        (marks[DOUBTS].to_numpy(float), marks["right"].to_numpy(float), MARKS * weights.sum() / len(marks)),
        (cases[DOUBTS].to_numpy(float), cases["right"].to_numpy(float), weights),
    )

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = PENALTY * x[2:] @ x[2:], np.concatenate((np.zeros(2), 2 * PENALTY * x[2:]))
        for n, (doubts, right, weight) in enumerate(parts):
            odds = x[n] - doubts @ x[2:]
            total += np.sum(weight * (np.logaddexp(0, odds) - right * odds))
            error = weight * (1 / (1 + np.exp(-odds)) - right)
            slope[n] += error.sum()
            slope[2:] -= doubts.T @ error
        return total, slope

    bounds = [(None, None)] * 2 + [(0, None)] * len(DOUBTS)
    return minimize(loss, np.zeros(2 + len(DOUBTS)), jac=True, method="L-BFGS-B", bounds=bounds).x


def chances(frame: pd.DataFrame, fitted: np.ndarray | None = None) -> np.ndarray:
    """Return the chances by the fitted weights, else by the present ones."""
    if fitted is not None:
        confidence.WITHOUT_DOUBT, confidence.WEIGHTS = fitted[1], dict(zip(DOUBTS, fitted[2:], strict=True))
    return np.array([confidence.chance(row) for row in frame[DOUBTS].to_dict("records")])


def auc(said: np.ndarray, right: pd.Series) -> float:
    """Return the chance that a right answer carries more confidence than a wrong one."""
    good, bad = said[right.to_numpy(bool), None], said[~right.to_numpy(bool)]
    return float(np.mean((good > bad) + (good == bad) / 2))


def spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f} (95 % {np.percentile(values, 2.5):.3f} to {np.percentile(values, 97.5):.3f})"


def halves(marks: pd.DataFrame, cases: pd.DataFrame) -> None:
    """Print how well weights judge the half of the cases on which they were not fitted."""
    names = np.array(sorted({*marks["case"], *cases["case"]}))
    strict, labelled = [], []
    for seed in range(SEEDS):
        learnt = {*np.random.default_rng(seed).permutation(names)[: len(names) // 2]}
        known, seen = marks["case"].isin(learnt), cases["case"].isin(learnt)
        fitted = fit(marks[known], cases[seen])
        strict.append(auc(chances(marks[~known], fitted), marks.loc[~known, "right"]))
        labelled.append(auc(chances(cases[~seen], fitted), cases.loc[~seen, "right"]))
    print(f"fitted on one half of the cases, judged on the other, {SEEDS} times")
    print(f"  AUC of wholly right answers {spread(strict)}")
    print(f"  AUC of right signatures     {spread(labelled)}")


def curve(cases: pd.DataFrame) -> None:
    """Print the confidence and the share of right answers, by twentieths of the confidence."""
    weight = pd.Series(np.where(cases["known"], 1.0, UNKNOWN))
    bins = (cases["said"] * 20).astype(int).clip(upper=19) / 20
    rows = [
        (
            start,
            len(part),
            *np.average(part[["said", "right"]], axis=0, weights=weight[part.index]),
            weight[part.index].sum(),
        )
        for start, part in cases.groupby(bins)
    ]
    table = pd.DataFrame(rows, columns=["from", "answers", "said", "right", "weight"])
    print(table.round(3).to_string(index=False))
    error = ((table["said"] - table["right"]).abs() * table["weight"]).sum() / table["weight"].sum()
    wrong = cases[~cases["right"]]
    print(f"expected calibration error {error:.3f}, sure and wrong {(wrong['said'] >= SURE).sum()} of {len(wrong)}")
    right = cases.loc[cases["right"] & cases["known"], "said"]
    print(f"right answers: {len(right)}, on average {right.mean():.3f}, below 0.6 {(right < 0.6).mean():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", type=Path, default=[HERE.parent / "corpus"])
    options = parser.parse_args()
    marks, cases = read_marks(), read_cases(options.cases)
    curve(cases)
    print(f"AUC of right signatures {auc(cases['said'].to_numpy(), cases['right']):.3f}")
    for reader, part in (("all", marks), *marks.groupby(marks["reader"].str[1:])):
        print(f"AUC of wholly right answers, reader {reader}: {auc(chances(part), part['right']):.3f} of {len(part)}")
    halves(marks, cases)
    fitted = fit(marks, cases)
    print(f"WITHOUT_DOUBT = {fitted[1]:.1f}")
    print("\n".join(f'    "{name}": {weight:.2f},' for name, weight in zip(DOUBTS, fitted[2:], strict=True)))


if __name__ == "__main__":
    main()
