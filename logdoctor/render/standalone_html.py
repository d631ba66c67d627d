"""HTML pages that load nothing.

The content security policy of a page allows the page's own style and script, by hash, and nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(*packages: str, **options: Any) -> Environment:
    """Return a Jinja environment for the templates of ``packages``.

    Every value is escaped. An undefined variable is an error.
    """
    # Imported here because most runs of the program never need it.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )


def assets(templates: Environment, **files: Sequence[str]) -> dict[str, object]:
    """Return the template variables for styles and scripts.

    ``style=["page.css"]`` gives ``style``, the text of the files, and ``style_digest``, their hash for the policy.
    """
    from markupsafe import Markup

    variables: dict[str, object] = {}
    for name, parts in files.items():
        # The leading line break counts, because the hash covers all text between the tags.
        text = "\n" + "".join(_source(templates, part) for part in parts)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        variables |= {name: Markup(text), f"{name}_digest": Markup(f"sha256-{digest}")}  # noqa: S704 - our own files
    return variables


def _source(templates: Environment, name: str) -> str:
    if templates.loader is None:
        raise LookupError(name)
    return templates.loader.get_source(templates, name)[0]
