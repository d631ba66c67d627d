"""The answer as one line of ten columns, for `grep`, `cut` and chats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logdoctor.model import Culprit, Diagnosis, Evidence, Location
from logdoctor.model.escape import escape_all
from logdoctor.render.answer_document import happened
from logdoctor.render.catalogue import catalogue
from logdoctor.render.entity_names import place_column, ranges
from logdoctor.render.phrases import location

COLUMNS = ("decision", "verdict", "signature", "confidence", "ranks", "hosts", "gpus", "proof", "place", "sentence")
UNKNOWN = "-"


def one_line(diagnosis: Diagnosis, lang: str = "en") -> str:
    """Return the `COLUMNS`, separated by tabs. A column of which nothing is known is ``-``."""
    diagnosis = escape_all(diagnosis, tab=" ")
    cause = diagnosis.answer
    culprit = cause.culprit if cause else _suspects(diagnosis)
    evidence = cause.evidence if cause else diagnosis.unexplained
    known_by = diagnosis.verdict_known_by
    proof = location(evidence[0]) if evidence else location(known_by) if known_by else ""
    place = cause.place if cause else _place_of(evidence)
    columns = (
        diagnosis.decision.do,
        diagnosis.verdict,
        cause.signature if cause else "",
        f"{cause.confidence:.2f}" if cause else "",
        ranges(culprit.ranks),
        _join(culprit.hosts),
        _join(culprit.gpus),
        proof,
        place_column(place.ranks, [host.replace("\t", " ") for host in place.hosts]),
        happened(diagnosis, catalogue(lang)),
    )
    return "\t".join(column or UNKNOWN for column in columns) + "\n"


def _suspects(diagnosis: Diagnosis) -> Culprit:
    found = diagnosis.suspects
    return Culprit(
        ranks=tuple(s.rank for s in found if s.rank is not None),
        hosts=tuple(s.host for s in found if s.host),
        gpus=tuple(s.gpu for s in found if s.gpu),
    )


def _place_of(evidence: Sequence[Evidence]) -> Location:
    """Return the rank and the host of the first line that no rule explains."""
    rank, host = (evidence[0].rank, evidence[0].host) if evidence else (None, None)
    return Location(() if rank is None else (rank,), (host,) if host else ())


def _join(names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(name.replace("\t", " ") for name in names))
