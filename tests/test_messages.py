"""Messages of each program, one by one: failures are found, harmless lines are not failures.

One file a program: tests/messages/<program>.tsv.  A line is ``verdict<TAB>message``; ``\\n`` in a message is a line
break.  The verdict is a signature, ``healthy``, ``unknown``, or ``failure`` (a failure whose cause one line cannot
tell: any verdict but healthy).  Messages are written from the facts of the formats, values invented.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from logdoctor import diagnose
from logdoctor.authoring.rule_check import first_signature
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.tables import read_signatures

FILES = sorted((Path(__file__).parent / "messages").glob("*.tsv"))


def messages(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line number, verdict and message of each line of a file."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            verdict, _, message = line.partition("\t")
            yield number, verdict, message.replace("\\n", "\n")


def answer(message: str, knowledge: Knowledge) -> str:
    """Return the signature of a log that holds only this message."""
    diagnosis = diagnose(io.BytesIO(message.encode() + b"\n"), knowledge=knowledge)
    return first_signature(diagnosis)


def is_right(verdict: str, answered: str) -> bool:
    return answered != "healthy" if verdict == "failure" else answered == verdict


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_each_message_gets_its_verdict(file: Path, knowledge: Knowledge) -> None:
    wrong = [
        f"{file.name}:{number}: {answered} instead of {verdict}: {message}"
        for number, verdict, message in messages(file)
        if not is_right(verdict, answered := answer(message, knowledge))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_verdicts_are_valid_and_messages_unique(file: Path) -> None:
    listed = list(messages(file))
    allowed = {"failure", *read_signatures(shipped_rules() / "signatures.tsv", [])}
    assert {verdict for _, verdict, _ in listed} <= allowed
    assert len({message for _, _, message in listed}) == len(listed)
