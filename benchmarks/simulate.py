"""How often cause and culprit are right on simulated jobs, by fault and by harm done to the logs.

    python benchmarks/simulate.py [--faults 300] [--first 0] [--largest 1024] [--only FAULT] [--harm HARM] [--show]

``--first`` is the first seed, so that other jobs are drawn; ``--show`` prints each job that was judged wrong.
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
from logdoctor.knowledge import gather
from logdoctor.rulebook import shipped_rules

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
    asked = parser.parse_args()
    knowledge = gather([shipped_rules()])
    kinds = [f for f in FAULTS if asked.only in f]
    sizes = [s for s in SIZES if s <= asked.largest]
    counts = {h: Counter() for h in HARMS}
    by_fault = {f: Counter() for f in kinds}
    begun = time.perf_counter()
    for i in range(asked.faults):
        fault = kinds[i % len(kinds)]
        harm = HARMS[i // len(kinds) % len(HARMS)]
        if asked.harm:
            harm = asked.harm.replace("none", "")
        if harm == "culprit" and fault in BLAMELESS:
            harm = ""
        size = sizes[(i * 5 + i // len(kinds)) % len(sizes)]
        if fault in ("link_down", "node_lost", "wrong_interface"):
            size = max(size, 16)
        seed = asked.first + i
        job = simulate(seed, fault, size, harm=harm)
        found = diagnose([named(n, t) for n, t in job.files.items()], knowledge=knowledge)
        got = grade(found, job.truth)
        for table in (counts[harm], by_fault[fault]):
            table.update(all=1, right=got.right, cause=got.cause, culprit=got.culprit, slander=got.accuses_innocent)
        if asked.show and not got.right:
            first = found.causes[0] if found.causes else None
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
                found.verdict,
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
    print(f"\n{asked.faults} jobs in {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
