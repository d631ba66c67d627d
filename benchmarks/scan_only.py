"""The scan alone, as a program: `python scan_only.py FORMS LOG` prints how many candidates and lines there are."""

from __future__ import annotations

import sys
from pathlib import Path

from logdoctor import cached_files
from logdoctor.prefilter import Pattern, Prefilter, make_plan


def main(forms: str, log: str) -> None:
    patterns = [Pattern.of_form(line) for line in Path(forms).read_text().splitlines() if line]
    prefilter = Prefilter.load(make_plan(patterns), cached_files.folder())
    with open(log, "rb", buffering=0) as file:  # noqa: PTH123
        scan = prefilter.scan(file.readinto)
        print(sum(1 for _ in scan), "candidates in", scan.lines, "lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
