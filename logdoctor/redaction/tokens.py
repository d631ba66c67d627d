"""Tokens that are recognised by their own prefix and length.

The plugins of detect-secrets (1.5.0, May 2024) are not used. Importing them takes 0.4 s, because they load an HTTP
client to test secrets. They know no tokens of Hugging Face, W&B, NGC, Google or Databricks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import regex

from logdoctor.codes.table import rows
from logdoctor.pack.regexes import later
from logdoctor.redaction.spans import Span, group_span

# A line of Base64 alone is the body of a private key or a certificate.
_KEY_BODY = later(
    r"^(?:\[[\w.-]{1,40}\]:? ?)?(?P<v>(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[A-Za-z0-9+/]{40,76}={0,2})\s*$"
)


@cache
def token_types() -> tuple[tuple[str, tuple[str, ...], regex.Pattern[str]], ...]:
    """Return name, hints and pattern of each type of tokens, as the table ``tokens.tsv`` lists them."""
    return tuple(
        (row["name"], tuple(row["hints"].split()), later(rf"(?<![A-Za-z0-9])(?:{row['pattern']})(?![A-Za-z0-9])"))
        for row in rows(Path(__file__).with_suffix(".tsv"))
    )


def find_tokens(text: str) -> Iterator[Span]:
    """Yield the tokens and key bodies in ``text``."""
    for name, hints, pattern in token_types():
        if any(hint in text for hint in hints):
            for match in pattern.finditer(text):
                yield group_span(match, "secret", name)
    if body := _KEY_BODY.search(text):
        yield group_span(body, "secret", "private-key", "v")
