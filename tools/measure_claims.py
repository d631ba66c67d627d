"""Count how often a checked claim goes with a right answer.

    python tools/measure_claims.py CASES... [--every]

Each labelled case is diagnosed with the right rules and without them. The table is that of docs/accuracy.md. With
``--every`` each claim is checked of each answer, and not only the claims of its failure class and rule.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from without_answer import diagnose_all

from logdoctor.model import CLAIMS, Claim
from logdoctor.reasoning.causality import claims

OUTCOMES = ("confirmed", "not-shown", "contradicted")
NEEDS_VALUE = {"time": "1h"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--every", action="store_true", help="check each claim of each answer")
    options = parser.parse_args()
    claims.DECISIVE = frozenset()  # a doubted answer is counted as an answer
    if options.every:
        every = tuple(Claim(name, NEEDS_VALUE.get(name, "")) for name in CLAIMS)
        claims.claims_of = lambda *of: {claim.name: claim for claim in (*every, *plain(*of).values())}
    counts: Counter[tuple[str, str, bool]] = Counter()
    for _, with_rule, without_rule in diagnose_all(options.cases):
        for answer in (with_rule, without_rule):
            for claim, holds in answer["checked"].items():
                counts[claim, holds, answer["right"]] += 1
    print(f"| check | {' | '.join(OUTCOMES)} |\n| --- |{' --- |' * len(OUTCOMES)}")
    for name in CLAIMS:
        cells = [_share(counts[name, holds, True], counts[name, holds, False]) for holds in OUTCOMES]
        if any(cell != "–" for cell in cells):
            print(f"| `{name}` | {' | '.join(cells)} |")


plain = claims.claims_of


def _share(right: int, wrong: int) -> str:
    total = right + wrong
    return f"{right / total:.0%} of {total}" if total else "–"


if __name__ == "__main__":
    main()
