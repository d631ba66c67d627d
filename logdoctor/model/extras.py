"""Packages that only some commands need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from logdoctor.model.errors import InputError


@contextmanager
def needs_extra(extra: str, what: str, where: str = "") -> Iterator[None]:
    """Turn a missing package of ``extra`` into an `InputError` with the command that installs it.

    ``what`` says what cannot be done without the package.
    """
    try:
        yield
    except ImportError as error:
        why = f"{error.name} is not installed" if isinstance(error, ModuleNotFoundError) else str(error)
        raise InputError(what, where, why, f"pip install 'logdoctor[{extra}]'") from None
