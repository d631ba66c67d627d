"""How well diagnoses are on labelled cases: answers, figures as tables, baselines beside them, a page to look at.

Needs pandas; the baselines need scikit-learn.  Nothing here runs in a diagnosis.
"""

from __future__ import annotations

from logdoctor.evaluation.answers import Answer, answer
from logdoctor.evaluation.cases import Case, cases_of
from logdoctor.evaluation.scores import Scores, score

__all__ = ["Answer", "Case", "Scores", "answer", "cases_of", "score"]
