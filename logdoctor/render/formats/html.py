"""For a browser: one self-contained page that loads nothing (drawn by `logdoctor.render.html_page`).

It says everything without scripts, which ticket systems strip; its one script only copies, filters and unfolds.
"""

from __future__ import annotations

from logdoctor.model import Diagnosis
from logdoctor.render.report import Page

SHARED = True
CONTEXT = 3
"""It shows so many lines above and below each proof."""


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` as a page."""
    # Imported here because most runs of the program never need it.
    from logdoctor.render.html_page import drawn

    return drawn(diagnosis, page)
