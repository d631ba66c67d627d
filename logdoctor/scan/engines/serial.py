"""One process does everything: this one."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor import regexes
from logdoctor.knowledge import gather, rule_folders
from logdoctor.scan.engines import Work
from logdoctor.scan.examining import examine
from logdoctor.scan.journal import Landing


def run(work: Work) -> Iterator[int]:
    """See `logdoctor.scan.engines`."""
    known = gather(rule_folders(work.rules))
    landing = Landing(work.folder)
    try:
        for task in work.tasks:
            for record in examine(task, known, work.seconds):
                landing.add(record)
                yield 1
    finally:
        landing.close()
        regexes.keep()
