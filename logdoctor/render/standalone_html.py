"""Pages that are one closed file: their policy allows their own style and script, by hash, and nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(*packages: str, **more: Any) -> Environment:
    """Give an environment for the templates of ``packages`` in which every value is escaped and none may lack."""
    # Imported here because most runs of the program never need it.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **more,
    )


def assets(made: Environment, **files: Sequence[str]) -> dict[str, object]:
    """Give for each name the text of its files, and their hash as ``NAME_digest``."""
    from markupsafe import Markup

    found: dict[str, object] = {}
    for name, parts in files.items():
        # As it stands between the tags, for the hash must be of exactly that.
        text = "\n" + "".join(_source(made, part) for part in parts)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        found |= {name: Markup(text), f"{name}_digest": Markup(f"sha256-{digest}")}  # noqa: S704 - our own files
    return found


def _source(made: Environment, name: str) -> str:
    if made.loader is None:
        raise LookupError(name)
    return made.loader.get_source(made, name)[0]
