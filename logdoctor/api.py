"""The Python surface: what `logdoctor` offers at its top level, beside `diagnose`.

It gives what the commands give on the same bytes. Functions are imported at first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from logdoctor.model import Diagnosis

if TYPE_CHECKING:
    from logdoctor.archive import JobRecord

Folder = str | os.PathLike[str]


def report(diagnosis: Diagnosis, format: str, lang: str | None = None, *, redact: bool | None = None) -> str:
    """Return the report that ``logdoctor diagnose --format FORMAT`` writes.

    ``redact`` takes out secrets and calls hosts, addresses and users ``<host-a>``; without a choice that is done in the
    formats that are made to be shared (html, markdown, jira, sarif).
    """
    from logdoctor.redaction import redact as redact_content
    from logdoctor.render import is_shared, render

    told = redact_content(diagnosis).content if (is_shared(format) if redact is None else redact) else diagnosis
    return render(told, format, lang=lang or diagnosis.lang)


def explain(words: str, *, lang: str = "en", rules: Sequence[Folder] = (), full: bool = False) -> str:
    """Return what ``logdoctor explain WORDS`` prints. Raise `LogdoctorError` if nothing is known of it."""
    from logdoctor.cli.explain_command import explanation

    return "".join(f"{part}\n" for part in explanation(words, lang, [*map(Path, rules)], full=full))


def scan(
    places: Folder | Iterable[Folder],
    results: Folder | None = None,
    *,
    workers: int = 1,
    rules: Sequence[Folder] = (),
) -> list[JobRecord]:
    """Diagnose every job below ``places`` and return a record of each. Raise `InputError` if there is none.

    ``results`` is the folder that keeps the records, so that a second scan reads only what is new.
    """
    from logdoctor.archive import Plan, Scan

    named = [places] if isinstance(places, str | os.PathLike) else [*places]
    with TemporaryDirectory(prefix="logdoctor-scan-") as folder:
        plan = Plan(Path(results or folder), workers, rules=tuple(map(Path, rules)))
        run = Scan([os.fspath(place) for place in named], plan)
        run.require_jobs()
        for _ in run.run():
            pass
        return [*run.records()]
