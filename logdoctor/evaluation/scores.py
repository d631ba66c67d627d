"""Answers as figures: how many are right, by family; what is mixed up; whether the confidence can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from logdoctor.classifier.linear_model import HEALTHY, NAMELESS, UNKNOWN
from logdoctor.evaluation.answers import Answer

if TYPE_CHECKING:
    import pandas as pd

BINS = 10


class Scores(Struct, frozen=True):
    """``figures``: name -> share or count.  The tables are pandas frames, one row a family, a mix-up, a bin, a step."""

    name: str
    figures: dict[str, float | None]
    families: pd.DataFrame
    confusion: pd.DataFrame
    reliability: pd.DataFrame
    risk: pd.DataFrame
    wrong: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data."""
        tables = ("families", "confusion", "reliability", "risk", "wrong")
        rows = {name: getattr(self, name).astype(object).where(getattr(self, name).notna(), None) for name in tables}
        return {"name": self.name, "figures": self.figures, **{k: v.to_dict("records") for k, v in rows.items()}}


def score(name: str, answers: Sequence[Answer]) -> Scores:
    """The figures of ``answers``.

    Right is an answer that the case accepts; failures whose cause cannot be seen in their logs count for calibration
    alone; a failure that is called healthy or unknown is wrong.
    """
    frame = _frame(answers)
    failed = frame[~frame["label"].isin(NAMELESS)]
    visible, spoken = failed[failed["visible"]], failed[failed["confidence"].notna()]
    reliability, risk = _reliability(spoken), _risk(failed)
    return Scores(
        name,
        _figures(frame, visible, reliability),
        _families(visible),
        _confusion(visible),
        reliability,
        risk,
        frame.loc[~frame["right"], ["case", "label", "answer", "confidence"]].reset_index(drop=True),
    )


def _frame(answers: Sequence[Answer]) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {
            "case": one.case.name,
            "label": one.case.label,
            "visible": one.case.visible,
            "answer": one.signature,
            "confidence": None if one.signature in NAMELESS else one.confidence,
            "right": one.signature in one.case.accepted,
            "family right": _family(one.signature) in set(map(_family, one.case.accepted)),
            "culprit": one.culprit,
        }
        for one in answers
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(family=frame["label"].map(_family), confidence=frame["confidence"].astype(float))


def _family(signature: str) -> str:
    return signature.partition(".")[0]


def _figures(frame: pd.DataFrame, visible: pd.DataFrame, reliability: pd.DataFrame) -> dict[str, float | None]:
    healthy, unknown = frame[frame["label"] == HEALTHY], frame[frame["label"] == UNKNOWN]
    asked = frame.loc[frame["culprit"].notna(), "culprit"].astype(bool)
    weights = reliability["cases"]
    error = (reliability["confidence"] - reliability["right"]).abs()
    return {
        "cases": len(frame),
        "signature right": _share(visible["right"]),
        "family right": _share(visible["family right"]),
        "culprit right": _share(asked),
        "healthy called failed": _share(~healthy["answer"].isin(NAMELESS)),
        "unknown left open": _share(unknown["right"]),
        "calibration error": round(float((error * weights).sum() / weights.sum()), 4) if len(reliability) else None,
    }


def _share(right: pd.Series[Any]) -> float | None:
    return round(float(right.mean()), 4) if len(right) else None


def _families(visible: pd.DataFrame) -> pd.DataFrame:
    grouped = visible.groupby("family", sort=True)
    table = grouped.agg(
        cases=("right", "size"), signature=("right", "mean"), family=("family right", "mean")
    ).rename_axis("name")
    return table.reset_index().rename(columns={"signature": "signature right", "family": "family right"})


def _confusion(visible: pd.DataFrame) -> pd.DataFrame:
    """Labels and answers that were taken for each other, the most frequent first."""
    counts = visible[~visible["right"]].groupby(["label", "answer"]).size().reset_index(name="cases")
    return counts.sort_values(["cases", "label", "answer"], ascending=[False, True, True], ignore_index=True)


def _reliability(spoken: pd.DataFrame) -> pd.DataFrame:
    """Of the answers with a confidence in each tenth: how sure they were, how many were right."""
    bins = (spoken["confidence"] * BINS).astype(int).clip(upper=BINS - 1) / BINS
    table = spoken.groupby(bins.rename("from")).agg(
        cases=("right", "size"), confidence=("confidence", "mean"), right=("right", "mean")
    )
    return table.reset_index()


def _risk(failed: pd.DataFrame) -> pd.DataFrame:
    """If only the surest answers were given: to which share of the failed jobs, and which share of them is wrong."""
    spoken = failed[failed["confidence"].notna()].sort_values(["confidence", "case"], ascending=[False, True])
    place = range(1, len(spoken) + 1)
    table = spoken[["confidence"]].assign(coverage=place, risk=(~spoken["right"]).cumsum())
    table["risk"] /= table["coverage"]
    table["coverage"] /= max(1, len(failed))
    return table.groupby("confidence", sort=False).last().reset_index()
