"""The closer look at the first findings: the lines around each proof, examined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.examination import Examined, examine
from logdoctor.examination.composer import compose, tell_device
from logdoctor.examination.questions import Scene
from logdoctor.examination.same_device import SameDevice, same_device
from logdoctor.logs.line_parser import read_message
from logdoctor.model import ABSENCES, Cause, Evidence, Examinations, Record, Source
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later
from logdoctor.pipeline.excerpts import AROUND, Excerpts
from logdoctor.reasoning import Lead, Reasoner

_SPEAKER = later(
    r"(?![\w.-]{1,80}\.(?:py|cc?|cpp|cu|h|hpp|go|rs|java|scala|jl|f90):)(?!\[[\w.-]{1,80}\.(?:py|cc?|cpp|cu|h|hpp|go):)"
    r"(?:(?P<host>[A-Za-z][\w.-]{0,80}):(?P<pid>\d{1,10}):\d{1,10} \["
    r"|\[(?P<host>[A-Za-z][\w.-]{0,80}):(?P<pid>\d{1,10}) ?(?::\d{1,10}){0,2}\] )"
)
"""Host and process as NCCL, Open MPI and UCX print them: ``n1:77:91 [0] ``, ``[n1:77] ``, ``[n1:77:0] ``."""


class CloserLook(Struct, frozen=True):
    """Examinations of the first findings."""

    found: tuple[Examined, ...]
    alike: tuple[tuple[Record, ...], ...]
    """Of each, the records of other processes that are like its proof."""
    by_line: Mapping[tuple[str, int], Examined]
    """By the lines of the proofs, of their blocks, and of the answers. An earlier finding goes before a later one."""
    device: SameDevice | None = None
    """The device that errors of the whole job name again and again."""

    def records(self) -> Iterator[Record]:
        """Yield the answers as records, those about a proof for each process that shows the same."""
        for examined, alike in zip(self.found, self.alike, strict=True):
            for record in examined.records():
                yield record
                if record.line == examined.scene.proof:
                    yield from (replace(record, line=r.line, source=r.source, order=r.order) for r in alike)

    @property
    def known(self) -> Examinations:
        """Return what the words of rules may tell."""
        return {place: examined.known for place, examined in self.by_line.items()}

    def tell(self, causes: Iterable[Cause], words: Catalogue) -> tuple[Cause, ...]:
        """Return the causes with the facts that the examination of their proofs shows."""
        told = [self._tell(cause, words) for cause in causes]
        if told and self.device is not None:
            told[0] = tell_device(told[0], self.device, words)
        return tuple(told)

    def absent(self, unexplained: Sequence[Evidence]) -> tuple[str, ...]:
        """Return what was looked for around the first unexplained line and not found. Without a line nothing was."""
        examined = [self.by_line.get((e.line.file, e.line.number)) for e in unexplained[:1]]
        return tuple(sort for sort in sorted(ABSENCES) if examined and examined[0] and sort in examined[0].known.absent)

    def _tell(self, cause: Cause, words: Catalogue) -> Cause:
        places = ((e.line.file, e.line.number) for e in cause.evidence[:1] if cause.by == "rule")
        examined = next((self.by_line[place] for place in places if place in self.by_line), None)
        return compose(cause, examined, words) if examined is not None else cause


def look_closer(reasoner: Reasoner, excerpts: Excerpts) -> CloserLook:
    """Examine the lines around the first findings."""
    leads = reasoner.leading()
    found = tuple(examine(scene) for scene in _scenes(leads, excerpts))
    by_line = {(line.file, line.number): examined for examined in reversed(found) for line in examined.lines()}
    return CloserLook(
        found, tuple(lead.alike for lead in leads), by_line, same_device(reasoner.failures) if found else None
    )


def _scenes(leads: Iterable[Lead], excerpts: Excerpts) -> Iterator[Scene]:
    read = cache(_read)  # neighbourhoods overlap
    for lead in leads:
        record, proof = lead.record, lead.proof
        numbers = [line.number for line in (*record.lines, record.line, proof)]
        before, after = proof.number - min(numbers), max(numbers) - proof.number
        lines = excerpts.around(proof, before + AROUND, after + AROUND)
        yield Scene(lead.rule, record, proof, lines, read, lead.told, excerpts.head(proof.file))


def _read(text: str) -> tuple[str, Source]:
    message = read_message(text)
    speaker = _SPEAKER.match(message.text) if message.source.host is None else None
    if speaker is None:
        return message.text, message.source
    return message.text, replace(message.source, host=speaker["host"], pid=number(speaker["pid"]))
