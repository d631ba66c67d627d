"""``logdoctor schema``: JSON schemas of the documents that logdoctor writes."""

from __future__ import annotations

import json
from typing import Annotated

import typer

Document = Annotated[str, typer.Argument(help="diagnosis or comparison.")]


def schema(document: Document) -> None:
    """Print the JSON Schema of a diagnosis or a comparison.

    They are written by 'logdoctor diagnose -f json' and 'logdoctor diff -f json'.

    Exit codes: 0 it is printed, 2 wrong usage.
    """
    from logdoctor.model.json_schema import KINDS, json_schema

    if document not in KINDS:
        raise typer.BadParameter(f"'{document}' is none of {', '.join(KINDS)}", param_hint="DOCUMENT")
    typer.echo(json.dumps(json_schema(document), indent=2))
