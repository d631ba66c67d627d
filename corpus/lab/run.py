"""Run the experiments of the failure lab and write cases of corpus/; see README.md.

python corpus/lab/run.py [--only PATTERN] [--at-once N] [--again] [--list] [--coverage]
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import yaml
from bench import LAB
from experiment import Experiment, experiments
from journal import Journal
from machine import CHECKOUT
from outcome import BAD, Outcome, table
from remake import Lab

CORPUS = LAB.parent


def main() -> int:
    """Run the chosen experiments. Return 1 if an experiment is wrong or failed."""
    options = _arguments()
    patterns = [f"*{only}*" for only in options.only or ["*"]]
    chosen = [e for e in experiments() if any(fnmatch.fnmatch(f"{e.suite}/{e.case}", p) for p in patterns)]
    if options.coverage:
        print(coverage())
        return 0
    if options.list:
        print("\n".join(f"{e.case:44} {e.label:28} {e.expected_wrong}" for e in chosen))
        return 0
    return _run(chosen, options)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the captured cases of corpus/ anew.")
    option = parser.add_argument
    option("--only", action="append", metavar="PATTERN", help="experiments whose suite/name holds this")
    option("--at-once", type=int, default=2, metavar="N", help="families (torch, mpi …) at the same time (default: 2)")
    option("--again", action="store_true", help="also what this checkout has made already")
    option("--new", action="store_true", help="only cases that are not there yet")
    option("--into", type=Path, default=CORPUS, metavar="FOLDER", help="where the cases go (default: corpus/)")
    option("--environments", type=Path, default="/var/tmp/lab", metavar="FOLDER", help="virtual environments")
    option("--install", action="store_true", help="install Debian packages that lack (root only)")
    option("--wrong", action="store_true", help="write also cases that are diagnosed wrongly")
    option("--list", action="store_true", help="say what there is, run nothing")
    option("--coverage", action="store_true", help="say which signatures have fewer than two cases")
    options = parser.parse_args()
    options.environments = options.environments.resolve()
    return options


def _run(chosen: list[Experiment], options: argparse.Namespace) -> int:
    """Run experiments, print each outcome as it comes, then the table."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the hosts of a bench end as well
    options.into.mkdir(parents=True, exist_ok=True)
    os.chdir(options.into)
    outcomes: list[Outcome] = []
    try:
        for outcome in Lab(options, Journal(CHECKOUT / "build" / "lab.made")).run(chosen):
            outcomes.append(outcome)
            print(outcome, flush=True)
    except KeyboardInterrupt:
        print(table(outcomes), "interrupted: the same command goes on from here", sep="\n")
        return 130
    print(table(outcomes))
    return 1 if any(outcome.word in BAD for outcome in outcomes) else 0


def coverage() -> str:
    """Return the number of cases, and the signatures that have fewer than two."""
    cases = [yaml.safe_load(p.read_text("utf-8")) for p in sorted(CORPUS.glob("*/case.yaml"))]
    origins, labels = Counter(c["made"] for c in cases), Counter(c["label"] for c in cases)
    lines = [
        f"{len(cases)} cases: {origins['captured']} captured, {origins['written']} written, {labels['healthy']} healthy"
    ]
    return "\n".join(lines + [f"{labels[s]} {s}" for s in scarce(labels)])


def scarce(labels: Counter[str], least: int = 2) -> list[str]:
    """Return the signatures that have fewer cases than ``least``."""
    from logdoctor.ruleset import shipped_rules
    from logdoctor.ruleset.tables import read_signatures

    return [s for s in read_signatures(shipped_rules() / "signatures.tsv") if labels[s] < least]


if __name__ == "__main__":
    sys.exit(main())
