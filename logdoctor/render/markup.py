"""Jinja templates of the ticket formats. In them every value passes an escaping filter."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

LONGEST = 600
"""Columns of a log line in a ticket. The location says where to find the rest."""

Filter = Callable[..., str]


def prose(text: str, code: Filter, escape: Filter) -> str:
    """Apply ``code`` to text in backticks, and ``escape`` to all other text."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(code(part) if place % 2 else escape(part) for place, part in enumerate(parts))


@cache
def template(name: str, *filters: Filter) -> Template:
    """Return the template ``name``. Each filter goes by the name of its function."""
    # Imported here because most runs of the program never need it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # Autoescape would escape for HTML. The filters escape for the format instead.
    environment = Environment(  # noqa: S701
        loader=PackageLoader("logdoctor.render"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {function.__name__: function for function in filters}
    return environment.get_template(name)
