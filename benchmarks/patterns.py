"""Find patterns that make the scan slow, and patterns that match too often.

    python benchmarks/patterns.py [LOG] [--mib 16] [--top 15]

Prints the hits per pattern (each costs 0.2 µs and more), then for the dearest patterns how much faster the scan of all
gets without it.  A pattern is dear if no literal of three or more characters stands in it whole.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import hyperscan
from biglog import write_big_log
from forms import named_forms

WINDOW = 256 << 10
GROUP = 40


def main() -> None:
    options = _options()
    forms = named_forms()
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
    return parser.parse_args()


def _windows(log: Path | None, mib: int) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        if log is None:
            log = Path(folder) / "big.log"
            write_big_log(log, mib)
        with log.open("rb") as file:
            data = file.read(mib << 20)
    windows, start = [], 0
    while start < len(data):
        stop = data.rfind(b"\n", start, start + WINDOW) + 1 or start + WINDOW
        windows.append(data[start:stop])
        start = stop
    return windows


def _compile(forms: Sequence[str]) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[f.encode() for f in forms], ids=list(range(len(forms))), flags=0)
    return database


def _count(forms: Sequence[str], windows: Sequence[bytes]) -> Counter[str]:
    database, counts = _compile(forms), Counter[int]()
    scratch = hyperscan.Scratch(database)
    for window in windows:
        database.scan(window, match_event_handler=lambda i, *_: counts.update((i,)), scratch=scratch)
    return Counter({forms[i]: n for i, n in counts.items()})


def _seconds(forms: Sequence[str], windows: Sequence[bytes]) -> float:
    database = _compile(forms)
    scratch = hyperscan.Scratch(database)
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
