"""Opens what people really have, and hands it on as streams of plain bytes in UTF-8.

Standard input, open files, files, folders, globs, archives in archives, compressed files, other encodings: read as
streams, never unpacked to disk, never held in memory whole.  What cannot be read becomes a `Problem`, the rest goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.model import InputError, Job, Problem, Stream
from logdoctor.sources.bounds import Bounds, Budget
from logdoctor.sources.layers import Reports
from logdoctor.sources.opening import Opener
from logdoctor.sources.paths import Finder

__all__ = ["Bounds", "streams"]


def streams(job: Job, problems: list[Problem], bounds: Bounds = Bounds()) -> Iterator[Stream]:  # noqa: B008 - frozen
    """The logs of ``job`` one after the other, in reading order; each is valid until the next one is asked for.

    Never raises for what is in the input: problems are appended to ``problems``, while a stream is read as well.
    A file that is reached twice (by a link, by being named twice) is read once.
    """
    reports, budget = Reports(problems), Budget(bounds)
    finder, opener = Finder(reports, budget), Opener(reports, budget)
    for path in job.paths:
        if not isinstance(path, str):
            yield from opener.open_file(path)
        elif path == "-":
            yield from opener.standard_input()
        else:
            for found in finder.find(path):
                yield from opener.file(found)
    if not opener.opened and not reports.count:
        reports(InputError("no log found", job.name, "nothing there is text", "give the output of the job"), job.name)
