"""One process does everything: this one."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor import regexes
from logdoctor.scan.checkpoint_log import Landing
from logdoctor.scan.diagnose_task import examine, learned
from logdoctor.scan.engines import Work


def run(work: Work) -> Iterator[int]:
    """See `logdoctor.scan.engines`."""
    known = learned(work.rules)
    landing = Landing(work.folder)
    try:
        for task in work.tasks:
            for record in examine(task, known, work.seconds):
                landing.add(record)
                yield 1
    finally:
        landing.close()
        regexes.keep()
