"""Shares of right causes and culprits on simulated jobs.

    python benchmarks/simulate.py [--faults 300] [--first 0] [--largest 1024] [--only FAULT] [--harm HARM] [--show]

``--first`` is the first seed. ``--show`` prints each job with a wrong answer.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from simulator import FAULTS, grade, simulate

from logdoctor import diagnose
from logdoctor.pipeline.knowledge import gather
from logdoctor.ruleset import shipped_rules

HARMS = ("", "cut", "missing", "culprit")
SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
BLAMELESS = ("preempted", "hang")


def named(name, text):
    stream = io.BytesIO(text.encode())
    stream.name = name
    return stream


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1024)
    parser.add_argument("--only", default="")
    parser.add_argument("--harm", default="")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    knowledge = gather([shipped_rules()])
    kinds = [f for f in FAULTS if options.only in f]
    sizes = [s for s in SIZES if s <= options.largest]
    counts = {h: Counter() for h in HARMS}
    by_fault = {f: Counter() for f in kinds}
    start = time.perf_counter()
    for i in range(options.faults):
        fault = kinds[i % len(kinds)]
        harm = HARMS[i // len(kinds) % len(HARMS)]
        if options.harm:
            harm = options.harm.replace("none", "")
        if harm == "culprit" and fault in BLAMELESS:
            harm = ""
        size = sizes[(i * 5 + i // len(kinds)) % len(sizes)]
        if fault in ("link_down", "node_lost", "wrong_interface"):
            size = max(size, 16)
        seed = options.first + i
        job = simulate(seed, fault, size, harm=harm)
        diagnosis = diagnose([named(n, t) for n, t in job.files.items()], knowledge=knowledge)
        marks = grade(diagnosis, job.truth)
        for table in (counts[harm], by_fault[fault]):
            table.update(
                all=1, right=marks.right, cause=marks.cause, culprit=marks.culprit, slander=marks.accuses_innocent
            )
        if options.show and not marks.right:
            first = diagnosis.causes[0] if diagnosis.causes else None
            print(
                seed,
                fault,
                harm,
                size,
                job.setup,
                "| truth",
                sorted(job.truth.signatures),
                sorted(job.truth.ranks)[:4],
                sorted(job.truth.hosts)[:2],
            )
            print(
                "    got",
                diagnosis.verdict,
                first
                and (
                    first.rule,
                    first.culprit,
                    first.confidence,
                    first.evidence[0].line.file,
                    first.evidence[0].line.text[:150],
                ),
            )
    for title, tables in (("harm", counts), ("fault", by_fault)):
        print(f"\n{title:18} jobs  right  cause  culprit  innocent named")
        for name, c in tables.items():
            if c["all"]:
                share = [f"{c[k] / c['all']:6.1%}" for k in ("right", "cause", "culprit")]
                print(f"{name or 'none':18} {c['all']:4} {' '.join(share)}  {c['slander']:4}")
    print(f"\n{options.faults} jobs in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
