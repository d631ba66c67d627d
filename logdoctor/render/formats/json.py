"""JSON for programs. ``logdoctor schema diagnosis`` prints its schema."""

from __future__ import annotations

import json

from logdoctor.model import Diagnosis
from logdoctor.render.document import RenderOptions


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:  # noqa: ARG001 - every format has this shape
    """Return one JSON object in ASCII. No output encoding can break it."""
    return json.dumps(diagnosis.to_dict(), indent=2, allow_nan=False) + "\n"
