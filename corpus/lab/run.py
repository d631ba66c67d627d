"""Runs the experiments of the failure lab and writes what they print as cases of corpus/; see README.md.

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
    """Run what is asked for; the exit status says whether every case came out right."""
    asked = _arguments()
    patterns = [f"*{only}*" for only in asked.only or ["*"]]
    chosen = [e for e in experiments() if any(fnmatch.fnmatch(f"{e.suite}/{e.case}", p) for p in patterns)]
    if asked.coverage:
        print(coverage())
        return 0
    if asked.list:
        print("\n".join(f"{e.case:44} {e.label:28} {e.expected_wrong}" for e in chosen))
        return 0
    return _run(chosen, asked)


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
    asked = parser.parse_args()
    asked.environments = asked.environments.resolve()
    return asked


def _run(chosen: list[Experiment], asked: argparse.Namespace) -> int:
    """Run experiments, say what came of each as it comes, and of all in the end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what runs on the hosts of a bench ends with us
    asked.into.mkdir(parents=True, exist_ok=True)
    os.chdir(asked.into)
    outcomes: list[Outcome] = []
    try:
        for outcome in Lab(asked, Journal(CHECKOUT / "build" / "lab.made")).run(chosen):
            outcomes.append(outcome)
            print(outcome, flush=True)
    except KeyboardInterrupt:
        print(table(outcomes), "interrupted: the same command goes on from here", sep="\n")
        return 130
    print(table(outcomes))
    return 1 if any(outcome.word in BAD for outcome in outcomes) else 0


def coverage() -> str:
    """How many cases there are of each kind, and the signatures that have fewer than two."""
    cases = [yaml.safe_load(p.read_text("utf-8")) for p in sorted(CORPUS.glob("*/case.yaml"))]
    made, labels = Counter(c["made"] for c in cases), Counter(c["label"] for c in cases)
    lines = [f"{len(cases)} cases: {made['captured']} captured, {made['written']} written, {labels['healthy']} healthy"]
    return "\n".join(lines + [f"{labels[s]} {s}" for s in scarce(labels)])


def scarce(labels: Counter[str], least: int = 2) -> list[str]:
    """The signatures that have fewer cases than ``least``."""
    from logdoctor.rulebook import shipped_rules
    from logdoctor.rulebook.signatures import read_signatures

    return [s for s in read_signatures(shipped_rules() / "signatures.tsv") if labels[s] < least]


if __name__ == "__main__":
    sys.exit(main())
