"""Job inputs, read as streams of plain UTF-8 bytes.

Inputs are standard input, open files, paths, folders, globs, archives and compressed files.
Nothing is unpacked to disk, and no log is held in memory as a whole.
An input that cannot be read becomes a `Problem`, and reading continues with the next input.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.inputs.bounds import Bounds, Budget
from logdoctor.inputs.opening import Opener
from logdoctor.inputs.paths import Finder
from logdoctor.inputs.streams import ProblemReporter
from logdoctor.model import InputError, Job, Problem, Stream

__all__ = ["Bounds", "open_streams"]


def open_streams(job: Job, problems: list[Problem], bounds: Bounds = Bounds()) -> Iterator[Stream]:  # noqa: B008 - frozen
    """Yield the logs of ``job`` in reading order.

    A stream is valid until the next stream is requested.
    Bad input never raises. Its problems are appended to ``problems``, also while a stream is being read.
    A file that is reached twice (through a link, or named twice) is read once.
    """
    report, budget = ProblemReporter(problems), Budget(bounds)
    finder, opener = Finder(report, budget), Opener(report, budget)
    for path in job.paths:
        if not isinstance(path, str):
            yield from opener.open_file(path)
        elif path == "-":
            yield from opener.open_stdin()
        else:
            for input_file in finder.find(path):
                yield from opener.open_path(input_file)
    if not opener.log_count and not report.count:
        report(InputError("no log found", job.name, "nothing there is text", "give the output of the job"), job.name)
