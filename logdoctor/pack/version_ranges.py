"""Versions as Python's packaging compares them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version

NAME = re.compile(r"[\W_]+")


def package_key(name: str) -> str:
    """Return the name as all spellings have it: ``Open MPI`` and ``open-mpi`` become ``openmpi``."""
    return NAME.sub("", name).lower()


def is_version(text: str) -> bool:
    return _public(text) is not None


def is_between(version: str, first: str, last: str) -> bool:
    """Return whether the version is in the range. An empty end is open, and a text that is no version is in none.

    ``+cu12`` says how a version was built and not which one it is.
    """
    seen, low, high = _public(version), _public(first), _public(last)
    return (
        seen is not None
        and (not first or (low is not None and low <= seen))
        and (not last or (high is not None and seen <= high))
    )


def is_requirement(text: str) -> bool:
    """Return whether the text names a package and its versions: ``nccl>=2.27,<2.28``."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return bool(Requirement(text).specifier)
    except InvalidRequirement:
        return False


def satisfies(version: str, requirement: str) -> bool:
    """Return whether the version of the package that the requirement names fits it."""
    from packaging.requirements import Requirement

    seen = _public(version)
    return seen is not None and Requirement(requirement).specifier.contains(seen, prereleases=True)


def package_of(requirement: str) -> str:
    from packaging.requirements import Requirement

    return package_key(Requirement(requirement).name)


def _public(text: str) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(Version(text).public)
    except InvalidVersion:
        return None
