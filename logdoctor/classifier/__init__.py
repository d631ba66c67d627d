"""A classifier that guesses the signature of a failure.

The classifier is used if no rule explains a failure.  So it never overrules a rule and never calls a healthy job
failed.  It may also order causes that the logs do not order.  The model is linear, over words and kinds of records.

A model is a JSON file of numbers and needs the standard library only.  `training` makes it with scikit-learn and
pandas, and is not imported during a diagnosis.  See docs/classifier.md.
"""

from __future__ import annotations

from pathlib import Path

from logdoctor.classifier.counting import FeatureCounter

__all__ = ["SHIPPED_MODEL", "FeatureCounter"]

SHIPPED_MODEL = Path(__file__).parent / "model.json.gz"
