"""Job inputs, read as streams of plain UTF-8 bytes.

Inputs are standard input, open files, paths, folders, globs, archives and compressed files.
Nothing is unpacked to disk, and no log is held in memory as a whole.
An input that cannot be read becomes a `Problem`, and reading continues with the next input.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, cast

from logdoctor.inputs.bounds import Bounds, Budget
from logdoctor.inputs.inventory import Inventory
from logdoctor.inputs.opening import Opener
from logdoctor.inputs.paths import Finder, is_remote
from logdoctor.inputs.streams import ProblemReporter
from logdoctor.model import InputError, Job, Problem, Stream

__all__ = ["Bounds", "Inventory", "open_streams"]


def open_streams(
    job: Job,
    problems: list[Problem],
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    inventory: Inventory | None = None,
) -> Iterator[Stream]:
    """Yield the logs of ``job`` in reading order.

    A stream is valid until the next stream is requested.
    Bad input never raises. Its problems are appended to ``problems``, also while a stream is being read.
    What is not read is added to ``inventory``. The reader adds the streams, when it has read them.
    A file that is reached twice (through a link, or named twice) is read once.
    """
    report, budget = ProblemReporter(problems, inventory), Budget(bounds)
    finder = Finder(report, budget, found=job.found, follow_links=job.follow_links)
    opener = Opener(report, budget, found=job.found)
    for path in job.paths:
        if not isinstance(path, str):
            yield from opener.open_file(path)
        elif path == "-":
            yield from opener.open_stdin()
        elif is_remote(path):
            yield from _open_remote(path, opener, report, named=not job.found)
        else:
            for input_file in finder.find(path):
                yield from opener.open_path(input_file)
            for other in finder.others:
                yield from opener.open_other(other)
    if not opener.log_count and not report.count:
        error = InputError("no log found", job.name, "nothing there is a log", "give the output of the job")
        report.unread(error, job.name, "a folder", named=not job.found)


def _open_remote(url: str, opener: Opener, report: ProblemReporter, *, named: bool) -> Iterator[Stream]:
    from logdoctor.inputs.remote import list_remote, mask_urls, open_if_remote

    try:
        for file in list_remote(url):
            yield from opener.open_file(cast("IO[bytes]", open_if_remote(file.url)))
    except InputError as error:
        report.unread(error, mask_urls(url), "unreadable", named=named)
