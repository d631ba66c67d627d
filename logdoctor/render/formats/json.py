"""JSON for programs; ``logdoctor schema diagnosis`` prints its schema."""

from __future__ import annotations

import json

from logdoctor.model import Diagnosis
from logdoctor.render.report import Page


def render(diagnosis: Diagnosis, page: Page) -> str:  # noqa: ARG001 - every format has this shape
    """Give one JSON object in ASCII, so that no encoding of an output can break it."""
    return json.dumps(diagnosis.to_dict(), indent=2, allow_nan=False) + "\n"
