"""Fleet report: one self-contained HTML page about the records of scans (``templates/fleet.j2``).

The page loads nothing and is complete without scripts.  Texts of logs and names of jobs are escaped.  Each number has a
list of its jobs.  All lists are bounded, and the page says so if a list is cut.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from logdoctor.archive.decision_counts import tell_decisions
from logdoctor.archive.fleet import FAILED, Fleet, Tally
from logdoctor.archive.fleet_chart import make_chart
from logdoctor.model.escape import escape
from logdoctor.model.times import iso_time
from logdoctor.redaction import redact_secrets
from logdoctor.render import standalone_html
from logdoctor.render.catalogue import Catalogue, catalogue
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.tables import read_signatures
from logdoctor.version import __version__

if TYPE_CHECKING:
    from jinja2 import Template

STRIP = (
    ("finished", ("finished",)),
    ("failed", ("failed",)),
    ("unknown", ("unknown",)),
    ("stopped", ("stopped",)),
    ("open", ("no-end-seen", "nothing-to-judge")),
)
"""Parts of the strip, with their verdicts."""
MAX_BYTES = 1_500_000
MAX_TEXT = 400
MAX_ODDS = 10_000
"""Smaller chances are shown as one in so many."""
_DETAILS = r"(?<=.{12}) \(|;|(?<=.{12}): "
"""End of the short meaning of a signature: a bracket, a semicolon or a colon, but not at its beginning."""
WORDS = Path(__file__).parent / "words"


class Budget(Struct, frozen=True):
    """Largest number of rows per table and of jobs per list."""

    rows: int
    jobs: int


BUDGETS = (Budget(25, 100), Budget(25, 30), Budget(15, 12), Budget(8, 5), Budget(4, 2))


def render_page(fleet: Fleet, lang: str = "en") -> str:
    """Render the page with the largest budget that needs at most `MAX_BYTES`."""
    words, html = load_words(lang), ""
    for number, budget in enumerate(BUDGETS):
        html = _render(fleet, words, budget, shortened=number > 0)
        if len(html.encode()) <= MAX_BYTES:
            break
    return html


def load_words(lang: str) -> Catalogue:
    """Load the words of this report and of the job report."""
    general = catalogue(lang)
    own = json.loads((WORDS / f"{general.lang}.json").read_text(encoding="utf-8"))
    return Catalogue(general.lang, {**general.table, **own})


def _render(fleet: Fleet, words: Catalogue, budget: Budget, *, shortened: bool) -> str:
    template, assets = _load_template()
    failed = [fleet.verdicts[name] for name in FAILED if name in fleet.verdicts]
    diagnosed = sum(tally.count for tally in fleet.verdicts.values())
    return template.render(
        fleet=fleet,
        words=words,
        budget=budget,
        chart=make_chart(fleet),
        strip=[(name, _merged(fleet, verdicts)) for name, verdicts in STRIP],
        failures=sum(tally.count for tally in failed),
        diagnosed=diagnosed,
        lost=sum(tally.hours for tally in failed),
        timed_failures=sum(tally.timed_jobs for tally in failed),
        hours=sum(tally.hours for tally in fleet.verdicts.values()),
        common_folder=_common_folder(fleet),
        meanings=_meanings(),
        tell_decisions=lambda counts: tell_decisions(dict(counts), lambda decision: words(f"decided.{decision}")),
        version=__version__,
        shortened=shortened,
        **assets,
    )


def _merged(fleet: Fleet, verdicts: Iterable[str]) -> Tally:
    """Return the count and the jobs of several verdicts."""
    tallies = [fleet.verdicts[name] for name in verdicts if name in fleet.verdicts]
    jobs = {name: job for tally in tallies for name, job in tally.jobs.items()}
    return Tally("", sum(tally.count for tally in tallies), jobs)


def _common_folder(fleet: Fleet) -> str:
    """Return the common folder of all jobs. The page shows the names of jobs without this folder."""
    names = [job for tallies in (fleet.verdicts, fleet.broken) for tally in tallies.values() for job in tally.jobs]
    if len(names) < 2:
        return ""
    pairs = zip(min(names), max(names), strict=False)
    shared = "".join(char for char, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return shared[: shared.rfind("/") + 1]


@lru_cache(maxsize=1)
def _meanings() -> Mapping[str, str]:
    """Return a short meaning for each signature."""
    table = read_signatures(shipped_rules() / "signatures.tsv", [])
    return defaultdict(str, {row.id: re.split(_DETAILS, row.meaning)[0] for row in table.values()})


def _share(part: float, whole: float) -> str:
    """Format a share such as ``31 %`` or ``0.4 %``.

    A share above zero is at least ``0.1 %``, a share below one at most ``99.9 %``.
    """
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 1 or 99 < percent < 100:
        return f"{min(max(percent, 0.1), 99.9):.1f} %"
    return f"{percent:.0f} %"


def _hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 9.95 else f"{hours:.1f}"


def _day(seconds: float | None) -> str:
    return (iso_time(seconds) or "").partition("T")[0]


def _span(job: Any) -> str:
    """Return ``2026-11-02 08:00 – 09:10``, with the day of the end if it is another; "" if either is not told."""
    start, end = (iso_time(None if t is None else round(t)) for t in (job.started, job.ended))
    if not start or not end:
        return ""
    start, end = (text.replace("T", " ")[:16] for text in (start, end))
    return f"{start} – {end[11:] if start[:10] == end[:10] else end}"


def _odds(chance: float) -> int:
    """Return n of the phrase "one in n"."""
    return MAX_ODDS if chance < 1 / MAX_ODDS else round(1 / chance)


def _most_frequent(hosts: Mapping[str, int], count: int = 3) -> list[tuple[str, int]]:
    return sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:count]


def _repeated(hosts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the hosts that several jobs name."""
    return [item for item in _most_frequent(hosts) if item[1] > 1]


def _clean(value: Any) -> Any:
    """Redact, escape and shorten a text for the page.

    Markup of the template has another type than ``str`` and is unchanged.
    """
    if type(value) is not str:
        return value
    text = escape(redact_secrets(value), tab=" ")
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 2]} …"


@lru_cache(maxsize=1)
def _load_template() -> tuple[Template, Mapping[str, object]]:
    """Load the template, and its style and script with their hashes.

    The content security policy of the page allows only this style and this script.
    """
    environment = standalone_html.environment("logdoctor.archive", "logdoctor.render", finalize=_clean)
    for function in (_share, _hours, _day, _span, _odds, _most_frequent, _repeated):
        environment.filters[function.__name__[1:]] = function
    return environment.get_template("fleet.j2"), standalone_html.assets(
        environment, style=["html/report.css", "fleet.css"], script=["html/report.js"]
    )


def write_page(fleet: Fleet, path: Path, lang: str = "en") -> None:
    """Write the report to ``path``, atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(render_page(fleet, lang), encoding="utf-8")
    temporary.replace(path)
