"""Find patterns that make the scan slow, and patterns that match too often.

    python benchmarks/patterns.py [LOG] [--mib 16] [--top 15]
    python benchmarks/patterns.py --vain JOB...

Prints the hits per pattern (each costs 0.2 µs and more), then for the dearest patterns how much faster the scan of all
gets without it.  A pattern is dear if no literal of three or more characters stands in it whole.

With ``--vain`` prints the patterns for which most lines of jobs were picked in vain: the line gave no record, and no
record had read it as one of its own lines. The first number counts the lines that no other pattern picked.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hyperscan
from biglog import write_job
from forms import owners_by_atom

from logdoctor.inputs import open_streams
from logdoctor.inputs.bounds import Bounds
from logdoctor.logs.line_parser import LineParser
from logdoctor.pipeline.diagnosis import make_job
from logdoctor.pipeline.knowledge import gather, rule_folders
from logdoctor.reasoning.findings.symptoms import load_index

WINDOW = 256 << 10
GROUP = 40


def main() -> None:
    options = _options()
    forms = {atom.expression.decode(): ", ".join(dict.fromkeys(names)) for atom, names in owners_by_atom().items()}
    if options.vain:
        _print_vain(options.vain, forms, options.top)
        return
    windows = _windows(options.log, options.mib)
    print(f"{len(forms)} patterns, {sum(map(len, windows)) >> 20} MiB")
    counts = _count(list(forms), windows)
    for form, hits in counts.most_common(options.top):
        print(f"{hits:9} hits  {forms[form]:40} {form[:100]}")
    quiet = [f for f in forms if counts[f] < 20 * len(windows)]
    whole = _seconds(quiet, windows)
    print(f"\nwithout those that hit more than 20 times a window: {whole * 1e3:.0f} ms")
    for saved, form in _dearest(quiet, windows, whole)[: options.top]:
        print(f"{saved * 1e3:6.1f} ms saved without  {forms[form]:40} {form[:100]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", nargs="?", type=Path, help="default: a log of our own making")
    parser.add_argument("--mib", type=int, default=16, help="how much of it to scan")
    parser.add_argument("--top", type=int, default=15)
    parser.add_argument(
        "--vain", nargs="+", metavar="JOB", help="count the lines of these jobs that were picked in vain"
    )
    return parser.parse_args()


class _Parser(LineParser):
    """A parser that tells if a record had read the line of the last candidate."""

    was_consumed = False

    def _is_consumed(self, number: int, piece: Any) -> bool:
        self.was_consumed = super()._is_consumed(number, piece)
        return self.was_consumed


def _print_vain(jobs: Sequence[str], forms: dict[str, str], top: int) -> None:
    names = list(forms)
    database, scratch = _compile(names)
    alone, vain, picked = Counter[int](), Counter[int](), 0
    for raw, gave_nothing in _picked_lines(jobs):
        picked += 1
        hits: set[int] = set()
        if gave_nothing:
            database.scan(raw, match_event_handler=lambda i, *_: hits.add(i), scratch=scratch)  # noqa: B023
        vain.update(hits)
        alone.update(hits if len(hits) == 1 else ())
    print(f"{picked} lines picked; alone in vain, in vain, pattern, owners:")
    for i, count in alone.most_common(top):
        print(f"{count:7} {vain[i]:7}  {names[i][:40]:40}  {forms[names[i]][:100]}")


def _picked_lines(jobs: Sequence[str]) -> Iterator[tuple[bytes, bool]]:
    """Yield each picked line, and whether it gave nothing."""
    pack = gather(rule_folders())
    symptoms = load_index(pack.rules, pack.scanned)
    for job in jobs:
        scans = pack.matcher.job_scanner()
        for stream in open_streams(make_job(job), [], Bounds()):
            parser = _Parser(stream.name, pack.matcher.match, 0, symptoms.confirm)
            for candidate in scans(stream.readinto):
                parser.was_consumed = False
                records = parser.parse(candidate)
                yield candidate.raw, not records and not parser.was_consumed


def _windows(log: Path | None, mib: int) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        if log is None:
            log = Path(folder) / "big.log"
            write_job(log, mib)
        with log.open("rb") as file:
            data = file.read(mib << 20)
    windows, start = [], 0
    while start < len(data):
        stop = data.rfind(b"\n", start, start + WINDOW) + 1 or start + WINDOW
        windows.append(data[start:stop])
        start = stop
    return windows


def _compile(forms: Sequence[str]) -> tuple[hyperscan.Database, hyperscan.Scratch]:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[f.encode() for f in forms], ids=list(range(len(forms))), flags=0)
    return database, hyperscan.Scratch(database)


def _count(forms: Sequence[str], windows: Sequence[bytes]) -> Counter[str]:
    (database, scratch), counts = _compile(forms), Counter[int]()
    for window in windows:
        database.scan(window, match_event_handler=lambda i, *_: counts.update((i,)), scratch=scratch)
    return Counter({forms[i]: n for i, n in counts.items()})


def _seconds(forms: Sequence[str], windows: Sequence[bytes]) -> float:
    database, scratch = _compile(forms)
    times = []
    for _ in range(3):
        begin = time.process_time()
        for window in windows:
            database.scan(window, match_event_handler=lambda *_: None, scratch=scratch)
        times.append(time.process_time() - begin)
    return min(times)


def _dearest(forms: Sequence[str], windows: Sequence[bytes], whole: float) -> list[tuple[float, str]]:
    """Return (saved seconds, pattern), the slowest first.

    Groups of patterns are left out first. Single patterns are tried only in groups that cost time.
    """
    costs = []
    for start in range(0, len(forms), GROUP):
        group = forms[start : start + GROUP]
        if whole - _seconds([f for f in forms if f not in group], windows) < 0.04 * whole:
            continue
        alone = _seconds(group, windows)
        costs += [(alone - _seconds([f for f in group if f != form], windows), form) for form in group]
    return sorted(costs, reverse=True)


if __name__ == "__main__":
    main()
