"""Levels of AWS Neuron's lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value


def severity(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Lower the level of a line with NON-FATAL to warning."""
    text = str(fields.get("text", head.text))
    return Multiline(text, level="warning" if "NON-FATAL" in text else None)
