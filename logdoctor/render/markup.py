"""What the formats for tickets share: templates in which every value passes a filter that disarms it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

LONGEST = 600
"""A line of a log is shortened to so many columns: a ticket is for reading, the place says where the rest is."""

Filter = Callable[..., str]


def prose(text: str, code: Filter, escaped: Filter) -> str:
    """Give a rule's sentence: what it puts in backticks becomes code, everything else is escaped."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(code(part) if place % 2 else escaped(part) for place, part in enumerate(parts))


@cache
def template(name: str, *filters: Filter) -> Template:
    """Give the template of this name; a filter goes by the name of its function."""
    # Imported here because most runs of the program never need it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Autoescape is for HTML and would be wrong here: the filters do that work.
    environment = Environment(  # noqa: S701
        loader=PackageLoader("logdoctor.render"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {way.__name__: way for way in filters}
    return environment.get_template(name)
