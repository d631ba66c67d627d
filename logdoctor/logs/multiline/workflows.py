"""Failed steps of Nextflow and Snakemake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.slurm_lines import read_state
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_BY_SIGNAL = later(r"exit status \((?:129|1[345]\d)\)")


def read_cause(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the line under ``Caused by:``, without taking it.

    Return None if it names an exit by a signal, because that line has a record of its own.
    """
    lines = [line.text.strip() for line in islice(below, 6)]
    caused = next((number for number, text in enumerate(lines) if text.startswith("Caused by:")), len(lines))
    message = next((text for text in lines[caused + 1 :] if text), "")
    if _BY_SIGNAL.search(message):
        return None
    return Multiline(head.text, {"message": message} if message else {})


def read_exception(_head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read an exception of Snakemake, its place, and the message below. Return None if Snakemake restarts the job."""
    lines = list(islice(below, 60))
    if any(line.text.lstrip().startswith("Trying to restart job") for line in lines):
        return None
    message = lines[0].text.strip() if lines else ""
    place = fields.get("in_file") or fields.get("of_file", "")
    text = f"{fields['exception']}: {message}" if message else str(fields["exception"])
    values: dict[str, Value] = {"message": text, "call": f"line {fields['at']} of {place}"}
    return Multiline(text, values, (lines[0].below,) if message else (), lines[0].below if message else 0)


def read_last_state(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the final state of a job, unless Snakemake restarts the job."""
    again = any(line.text.lstrip().startswith("Trying to restart job") for line in islice(below, 60))
    return None if again else read_state(head, fields, below)
