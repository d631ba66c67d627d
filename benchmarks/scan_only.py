"""The scan without parsers and rules: ``python scan_only.py FORMS LOG`` counts candidates and lines."""

from __future__ import annotations

import sys
from pathlib import Path

from logdoctor.matcher import Matcher, Pattern, make_plan
from logdoctor.pack import cached_files


def main(forms: str, log: str) -> None:
    patterns = [Pattern.of_form(line) for line in Path(forms).read_text().splitlines() if line]
    matcher = Matcher.load(make_plan(patterns), cached_files.folder())
    with open(log, "rb", buffering=0) as file:  # noqa: PTH123
        scan = matcher.scan(file.readinto)
        print(sum(1 for _ in scan), "candidates in", scan.lines, "lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
