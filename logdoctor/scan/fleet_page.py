"""The fleet report: one self-contained page of what scans found (``templates/``), by the rules of the report of a job.

It loads nothing, says everything without scripts, and no text of a log or name of a job can act in it.  Each number
leads to its jobs; lists are bounded, and say so.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from logdoctor.model.escape import escape
from logdoctor.model.times import iso_time
from logdoctor.redaction import redact_secrets
from logdoctor.render import standalone_html
from logdoctor.render.catalogue import Catalogue, catalogue
from logdoctor.rulebook import shipped_rules
from logdoctor.rulebook.signatures import read_signatures
from logdoctor.scan.fleet import Fleet, Tally
from logdoctor.scan.fleet_chart import chart_of
from logdoctor.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template

MOST_BYTES = 1_500_000
LONGEST = 400
SMALL_CHANCE = 10_000
"""A chance smaller than one in this is told as just that."""
_DETAILS = r"(?<=.{12}) \(|;|(?<=.{12}): "
"""Where the meaning of a signature goes into details."""
WORDS = Path(__file__).parent / "words"


class Budget(Struct, frozen=True):
    """How many rows a table has, and how many jobs are named behind a number."""

    rows: int
    jobs: int


BUDGETS = (Budget(25, 100), Budget(25, 30), Budget(15, 12), Budget(8, 5), Budget(4, 2))


def page(fleet: Fleet, lang: str = "en") -> str:
    """The report as a page of at most `MOST_BYTES`."""
    words, made = fleet_words(lang), ""
    for number, budget in enumerate(BUDGETS):
        made = _made(fleet, words, budget, shortened=number > 0)
        if len(made.encode()) <= MOST_BYTES:
            break
    return made


def fleet_words(lang: str) -> Catalogue:
    """The words of the report in ``lang``: its own, and those of the report of a job."""
    general = catalogue(lang)
    own = json.loads((WORDS / f"{general.lang}.json").read_text(encoding="utf-8"))
    return Catalogue(general.lang, {**general.table, **own})


def _made(fleet: Fleet, words: Catalogue, budget: Budget, *, shortened: bool) -> str:
    template, assets = _page()
    failed = {name: fleet.verdicts.get(name, Tally(name)) for name in ("failure", "unknown")}
    diagnosed = sum(tally.count for tally in fleet.verdicts.values())
    return template.render(
        fleet=fleet,
        words=words,
        budget=budget,
        chart=chart_of(fleet),
        healthy=fleet.verdicts.get("healthy", Tally("healthy")),
        failed=failed,
        failures=sum(tally.count for tally in failed.values()),
        diagnosed=diagnosed,
        lost=sum(tally.hours for tally in failed.values()),
        lost_known=sum(tally.timed for tally in failed.values()),
        hours=sum(tally.hours for tally in fleet.verdicts.values()),
        lead=_lead(fleet),
        meanings=_meanings(),
        version=__version__,
        shortened=shortened,
        **assets,
    )


def _lead(fleet: Fleet) -> str:
    """The folder that holds all jobs, which their names then leave out."""
    names = [job for tallies in (fleet.verdicts, fleet.broken) for tally in tallies.values() for job in tally.jobs]
    if len(names) < 2:
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return shared[: shared.rfind("/") + 1]


@lru_cache(maxsize=1)
def _meanings() -> Mapping[str, str]:
    """What each signature means, in a few words."""
    table = read_signatures(shipped_rules() / "signatures.tsv")
    return defaultdict(str, {one.id: re.split(_DETAILS, one.meaning)[0] for one in table.values()})


def _share(part: float, whole: float) -> str:
    """``31 %``, ``0.4 %``: never nothing where there is something, never all where something is missing."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 1 or 99 < percent < 100:
        return f"{min(max(percent, 0.1), 99.9):.1f} %"
    return f"{percent:.0f} %"


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 9.95 else f"{hours:.1f}"


def _day(seconds: float | None) -> str:
    return (iso_time(seconds) or "").partition("T")[0]


def _odds(chance: float) -> int:
    """One in so many."""
    return SMALL_CHANCE if chance < 1 / SMALL_CHANCE else round(1 / chance)


def _most(hosts: Mapping[str, int], count: int = 3) -> list[tuple[str, int]]:
    return sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:count]


def _twice(hosts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The hosts that more than one job names."""
    return [item for item in _most(hosts) if item[1] > 1]


def _shown(value: Any) -> Any:
    """What is put into the page: no secret, nothing unseen, not too long.  Our own markup is another type."""
    if type(value) is not str:
        return value
    text = escape(redact_secrets(value), tab=" ")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


@lru_cache(maxsize=1)
def _page() -> tuple[Template, Mapping[str, object]]:
    """The template, and its style and script with their hashes: its policy allows these and nothing else."""
    made = standalone_html.environment("logdoctor.scan", "logdoctor.render", finalize=_shown)
    for way in (_share, _hours, _day, _odds, _most, _twice):
        made.filters[way.__name__[1:]] = way
    return made.get_template("fleet.j2"), standalone_html.assets(
        made, style=["html/report.css", "fleet.css"], script=["html/report.js"]
    )


def write_page(fleet: Fleet, path: Path, lang: str = "en") -> None:
    """Write the report to ``path`` in one step."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(page(fleet, lang), encoding="utf-8")
    new.replace(path)
