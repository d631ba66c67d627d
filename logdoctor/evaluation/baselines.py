"""What a simple mind would answer: always the most frequent failure; and words counted (TF-IDF, logistic regression).

Both learn from the same logs as the classifier, but read the bare text: what parsers and rules know they do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from logdoctor.classifier.linear_model import NAMELESS
from logdoctor.evaluation.answers import Answer
from logdoctor.evaluation.cases import Case
from logdoctor.evaluation.training_data import LARGEST_LOG, Labelled

WORDS = 20_000
STRENGTH = 10.0


def majority(learnt: Sequence[Labelled], cases: Sequence[Case]) -> list[Answer]:
    """The most frequent signature to every case."""
    counts = Counter(one.label for one in learnt if one.label not in NAMELESS)
    most = min(counts, key=lambda label: (-counts[label], label))
    return [Answer(case, most, counts[most] / sum(counts.values()), "majority") for case in cases]


def bag_of_words(learnt: Sequence[Labelled], cases: Sequence[Case]) -> list[Answer]:
    """TF-IDF of words and pairs of words, and a logistic regression over them."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        model = make_pipeline(
            TfidfVectorizer(max_features=WORDS, sublinear_tf=True, ngram_range=(1, 2)),
            LogisticRegression(C=STRENGTH, max_iter=60),
        ).fit([one.log for one in learnt], [one.label for one in learnt])
        shares = model.predict_proba([_text(case) for case in cases])
    best = shares.argmax(axis=1)
    return [
        Answer(case, str(model.classes_[top]), float(row[top]), "TF-IDF")
        for case, row, top in zip(cases, shares, best, strict=True)
    ]


def _text(case: Case) -> str:
    return "".join(Path(log).read_text("utf-8", "replace")[:LARGEST_LOG] for log in case.logs)[:LARGEST_LOG]
