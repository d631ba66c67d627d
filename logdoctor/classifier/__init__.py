"""The classifier: events in, a guess with a calibrated probability out, or silence.

It is asked only where the rules leave a visible failure open, so it can neither outrank proof nor raise an alarm.  A
small linear model over words and kinds of events; plain numbers in JSON, loaded only when asked, standard library only.
`training` (scikit-learn, pandas) makes the model and is imported by nobody at run time.  See docs/classifier.md.
"""

from __future__ import annotations

from pathlib import Path

from logdoctor.classifier.counting import FeatureCounter

__all__ = ["SHIPPED_MODEL", "FeatureCounter"]

SHIPPED_MODEL = Path(__file__).parent / "model.json"
"""The model that comes with the package."""
