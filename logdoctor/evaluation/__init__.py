"""Evaluation on labelled cases, and training data of the classifier.

Needs the extra learn: pandas, and scikit-learn for the baselines.  A diagnosis imports nothing of this package.
"""

from __future__ import annotations

from logdoctor.evaluation.answers import Answer, answer_case
from logdoctor.evaluation.cases import Case, load_cases
from logdoctor.evaluation.scores import Scores, score_answers

__all__ = ["Answer", "Case", "Scores", "answer_case", "load_cases", "score_answers"]
