"""The engine that does all work in this process."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.archive.checkpoint_log import CheckpointWriter
from logdoctor.archive.diagnose_task import diagnose_task, load_worker_pack
from logdoctor.archive.engines import Work
from logdoctor.pack import regexes


def run(work: Work) -> Iterator[int]:
    """Run ``work`` as `logdoctor.archive.engines` says."""
    pack = load_worker_pack(work.rules)
    writer = CheckpointWriter(work.folder)
    try:
        for task in work.tasks:
            for record in diagnose_task(task, pack, work.seconds):
                writer.add(record)
                yield 1
    finally:
        writer.close()
        regexes.keep()
