"""Scores of answers: shares of right answers, confusion, calibration of the confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from logdoctor.classifier.linear_model import HEALTHY, NO_SIGNATURE, UNKNOWN
from logdoctor.evaluation.answers import Answer
from logdoctor.model.extras import needs_extra

with needs_extra("learn", "answers cannot be scored"):
    import pandas as pd

BINS = 10


class Scores(Struct, frozen=True):
    """Scores of one set of answers.

    - ``figures``: shares and counts by name.
    - ``families``: table with one row per family.
    - ``confusion``: table with one row per pair of label and wrong answer.
    - ``reliability``: table with one row per tenth of the confidence.
    - ``risk``: table with one row per confidence threshold.
    - ``wrong``: table with one row per wrong answer.
    """

    name: str
    figures: dict[str, float | None]
    families: pd.DataFrame
    confusion: pd.DataFrame
    reliability: pd.DataFrame
    risk: pd.DataFrame
    wrong: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return all scores as data for JSON."""
        tables = ("families", "confusion", "reliability", "risk", "wrong")
        frames = {name: getattr(self, name).astype(object).where(getattr(self, name).notna(), None) for name in tables}
        return {"name": self.name, "figures": self.figures, **{k: v.to_dict("records") for k, v in frames.items()}}


def score_answers(name: str, answers: Sequence[Answer]) -> Scores:
    """Score ``answers`` against the labels of their cases.

    An answer is right if the case accepts it.  A failure with the answer ``healthy`` or ``unknown`` is wrong.  If the
    logs do not show the cause, the answer counts for calibration only.
    """
    frame = _frame(answers)
    failed = frame[~frame["label"].isin(NO_SIGNATURE)]
    solvable, confident = failed[failed["visible"]], failed[failed["confidence"].notna()]
    reliability, risk = _reliability(confident), _risk(failed)
    return Scores(
        name,
        _figures(frame, solvable, reliability),
        _families(solvable),
        _confusion(solvable),
        reliability,
        risk,
        frame.loc[~frame["right"], ["case", "label", "answer", "confidence"]].reset_index(drop=True),
    )


def _frame(answers: Sequence[Answer]) -> pd.DataFrame:
    rows = [
        {
            "case": answer.case.name,
            "label": answer.case.label,
            "visible": answer.case.visible,
            "answer": answer.signature,
            "confidence": None if answer.signature in NO_SIGNATURE else answer.confidence,
            "right": answer.signature in answer.case.accepted,
            "family right": _family(answer.signature) in set(map(_family, answer.case.accepted)),
            "culprit": answer.culprit_right,
        }
        for answer in answers
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(family=frame["label"].map(_family), confidence=frame["confidence"].astype(float))


def _family(signature: str) -> str:
    return signature.partition(".")[0]


def _figures(frame: pd.DataFrame, solvable: pd.DataFrame, reliability: pd.DataFrame) -> dict[str, float | None]:
    healthy, unknown = frame[frame["label"] == HEALTHY], frame[frame["label"] == UNKNOWN]
    culprits = frame.loc[frame["culprit"].notna(), "culprit"].astype(bool)
    weights = reliability["cases"]
    error = (reliability["confidence"] - reliability["right"]).abs()
    return {
        "cases": len(frame),
        "signature right": _share(solvable["right"]),
        "family right": _share(solvable["family right"]),
        "culprit right": _share(culprits),
        "healthy called failed": _share(~healthy["answer"].isin(NO_SIGNATURE)),
        "unknown left open": _share(unknown["right"]),
        "calibration error": round(float((error * weights).sum() / weights.sum()), 4) if len(reliability) else None,
    }


def _share(right: pd.Series[Any]) -> float | None:
    return round(float(right.mean()), 4) if len(right) else None


def _families(solvable: pd.DataFrame) -> pd.DataFrame:
    grouped = solvable.groupby("family", sort=True)
    table = grouped.agg(
        cases=("right", "size"), signature=("right", "mean"), family=("family right", "mean")
    ).rename_axis("name")
    return table.reset_index().rename(columns={"signature": "signature right", "family": "family right"})


def _confusion(solvable: pd.DataFrame) -> pd.DataFrame:
    """Count the pairs of label and wrong answer, the most frequent first."""
    counts = solvable[~solvable["right"]].groupby(["label", "answer"]).size().reset_index(name="cases")
    return counts.sort_values(["cases", "label", "answer"], ascending=[False, True, True], ignore_index=True)


def _reliability(confident: pd.DataFrame) -> pd.DataFrame:
    """Return confidence and share of right answers, per tenth of confidence."""
    bins = (confident["confidence"] * BINS).astype(int).clip(upper=BINS - 1) / BINS
    table = confident.groupby(bins.rename("from")).agg(
        cases=("right", "size"), confidence=("confidence", "mean"), right=("right", "mean")
    )
    return table.reset_index()


def _risk(failed: pd.DataFrame) -> pd.DataFrame:
    """Return coverage and risk for each confidence threshold.

    Only answers with at least this confidence are given.  Coverage is the share of failed jobs with an answer, risk the
    share of wrong answers.
    """
    confident = failed[failed["confidence"].notna()].sort_values(["confidence", "case"], ascending=[False, True])
    count = range(1, len(confident) + 1)
    table = confident[["confidence"]].assign(coverage=count, risk=(~confident["right"]).cumsum())
    table["risk"] /= table["coverage"]
    table["coverage"] /= max(1, len(failed))
    return table.groupby("confidence", sort=False).last().reset_index()
