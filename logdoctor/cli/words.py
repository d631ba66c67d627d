"""Words of the command line: proposals for a word that is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from logdoctor.cli.errors import wrong_usage

MOST_PROPOSALS = 3


def propose(word: str, names: Iterable[str], most: int = MOST_PROPOSALS, cutoff: float = 0.6) -> str:
    """Return ``did you mean A or B?`` for names similar to ``word``, or an empty text."""
    near = similar(word, names, most, cutoff)
    return f"did you mean {' or '.join(near)}?" if near else ""


def similar(word: str, names: Iterable[str], most: int = MOST_PROPOSALS, cutoff: float = 0.6) -> list[str]:
    """Return the names most similar to ``word``. Letter case does not matter."""
    import difflib

    originals = {name.lower(): name for name in names}
    return [originals[name] for name in difflib.get_close_matches(word.lower(), originals, most, cutoff)]


def require(word: str, names: Collection[str], option: str) -> None:
    """End with wrong usage if ``word`` is none of ``names``."""
    if word not in names:
        hint = propose(word, names, 1)
        raise wrong_usage(f"'{word}' is none of {', '.join(names)}" + (f"; {hint}" if hint else ""), option)
