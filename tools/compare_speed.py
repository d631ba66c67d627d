"""Say which contests of ``make bench`` became slower or larger by more than a tenth.

    python tools/compare_speed.py [RESULTS]

Compares the last two rows of each contest and program. Ratios to the rival are compared, because machines differ.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict, deque
from pathlib import Path

RESULTS = Path(__file__).parent.parent / "benchmarks/results.tsv"
TOLERANCE = 1.1


def main(results: Path) -> int:
    """Print what became worse. Return 1 if anything did."""
    with results.open(encoding="utf-8", newline="") as file:
        worse = compare(list(csv.DictReader(file, delimiter="\t")))
    print("\n".join(worse) or "nothing became slower or larger by more than a tenth")
    return int(bool(worse))


def compare(rows: list[dict[str, str]]) -> list[str]:
    last: dict[tuple[str, str], deque[dict[str, str]]] = defaultdict(lambda: deque(maxlen=2))
    for row in rows:
        last[row["contest"], row["program"]].append(row)
    pairs = [tuple(pair) for pair in last.values() if len(pair) == 2]
    return [
        f"{new['contest']}, {new['program']}: {name} {old[name]} at {old['commit']}, {new[name]} at {new['commit']} "
        f"({float(new[name]) / float(old[name]):.2f} x)"
        for old, new in pairs
        for name in ("ratio", "MiB")
        if float(new[name]) > TOLERANCE * float(old[name])
    ]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else RESULTS))
