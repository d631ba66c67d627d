"""Baselines: the most frequent failure, and TF-IDF with logistic regression.

Both learn from the same logs as the classifier, but use their text only, without formats and rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from logdoctor.classifier.linear_model import NO_SIGNATURE
from logdoctor.evaluation.answers import Answer
from logdoctor.evaluation.cases import Case
from logdoctor.evaluation.training_data import MAX_CHARACTERS, LabelledLog
from logdoctor.model.extras import needs_extra

with needs_extra("learn", "there are no baselines"):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from threadpoolctl import threadpool_limits

WORDS = 20_000
STRENGTH = 10.0


def majority(logs: Sequence[LabelledLog], cases: Sequence[Case]) -> list[Answer]:
    """Answer every case with the most frequent signature."""
    counts = Counter(log.label for log in logs if log.label not in NO_SIGNATURE)
    most = min(counts, key=lambda label: (-counts[label], label))
    return [Answer(case, most, counts[most] / sum(counts.values()), "majority") for case in cases]


def bag_of_words(logs: Sequence[LabelledLog], cases: Sequence[Case]) -> list[Answer]:
    """Answer with TF-IDF of words and word pairs, and logistic regression."""
    with threadpool_limits(1):
        model = make_pipeline(
            TfidfVectorizer(max_features=WORDS, sublinear_tf=True, ngram_range=(1, 2)),
            LogisticRegression(C=STRENGTH, max_iter=60),
        ).fit([log.text for log in logs], [log.label for log in logs])
        probabilities = model.predict_proba([_text(case) for case in cases])
    best = probabilities.argmax(axis=1)
    return [
        Answer(case, str(model.classes_[top]), float(row[top]), "TF-IDF")
        for case, row, top in zip(cases, probabilities, best, strict=True)
    ]


def _text(case: Case) -> str:
    return "".join(Path(log).read_text("utf-8", "replace")[:MAX_CHARACTERS] for log in case.logs)[:MAX_CHARACTERS]
