"""For a browser: one self-contained page, light or dark, without scripts (``templates/report.html.j2``)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from logdoctor.model import Diagnosis
from logdoctor.render.report import Page, is_link, report

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

NAME = "html"

_CODE = r"`([^`]+)`"


def render(diagnosis: Diagnosis, page: Page) -> str:
    """Give the report of ``diagnosis`` as a page that loads nothing and runs nothing."""
    template, style, digest = _page()
    return template.render(told=report(diagnosis, page.words), words=page.words, style=style, digest=digest)


def prose(text: str) -> Markup:
    """Give a rule's sentence with what it puts in backticks as code."""
    from markupsafe import Markup

    forms = (Markup("{}"), Markup("<code>{}</code>"))
    return Markup("").join(forms[place % 2].format(part) for place, part in enumerate(re.split(_CODE, text)))


@lru_cache(maxsize=1)
def _page() -> tuple[Template, Markup, str]:
    """Give the template, its style, and the style's hash: the page's policy allows this one style and nothing else."""
    # Imported here because most runs of the program never need it.
    from base64 import b64encode
    from hashlib import sha256

    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("logdoctor.render")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = prose
    environment.tests["link"] = is_link
    # As it stands between the tags, for the hash must be of exactly that.
    style = "\n" + loader.get_source(environment, "report.css")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return environment.get_template("report.html.j2"), Markup(style), f"sha256-{digest}"  # noqa: S704 - our own file
