"""HTML: one page that loads nothing (see `logdoctor.render.html_page`).

All content is there without scripts, because ticket systems strip them. The only script copies, filters and unfolds.
"""

from __future__ import annotations

from logdoctor.model import Diagnosis
from logdoctor.render.document import RenderOptions

SHARED = True
CONTEXT = 3


def render(diagnosis: Diagnosis, options: RenderOptions) -> str:
    # Imported here because most runs of the program never need it.
    from logdoctor.render.html_page import render_page

    return render_page(diagnosis, options)
