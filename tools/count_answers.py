"""Count faults of form in the answers of many cases. A right answer has none.

    python tools/count_answers.py [--list] CASES...

A case is a folder with logs. Counted are answers longer than one screen, screens without the decisive line or the first
step, placeholders, titles that are too long, decisions about a host that is not known, commands that a shell refuses or
that hold a stand-in, and stopped jobs that a program may start again without a checkpoint.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from replay import LOGS, find_cases

from logdoctor.model import Diagnosis

SCREEN, LONGEST_TITLE = 24, 70
PLACEHOLDER = re.compile(
    r"\b(?:an? (?:unnamed|unknown) (?:host|node|rank)|[Oo]n an? (?:rank|node|host)\b|JOBID\b|\bJOB\b(?!S)"
    r"|NODE\b(?!S)|HOSTNAME\b|\bPID\b|\bFILE\b|\bNAME\b|NUMBER\b|<\w+>)"
)
STAND_IN = re.compile(r"<\w|\b(?:JOB|NODE|HOST|PID|FILE|NAME|DIR|PATH|UID|N)\b|…|\.\.\.")
KNOWLEDGE: list[Any] = []


def main() -> None:
    listed = "--list" in sys.argv
    folders = [arg for arg in sys.argv[1:] if arg != "--list"]
    tops = [case for case, _ in find_cases(folders)]
    faults: Counter[str] = Counter()
    lengths, commands = [], Counter[str]()
    with ProcessPoolExecutor() as pool:
        for case, found, words, told in pool.map(_check, tops, chunksize=8):
            faults.update({name for name, _ in found})
            lengths += words
            commands.update(told)
            for name, text in found if listed else ():
                print(f"{case}\t{name}\t{text}")
    refused = [command for command in commands if _is_refused(command)]
    for command in refused if listed else ():
        print(f"-\trefused\t{command}")
    print(
        f"{len(tops)} answers; words of a remedy: median {median(lengths or [0]):.0f}, most {max(lengths, default=0)}"
    )
    for name in NAMES:
        print(f"{faults[name]:5}  {name}")
    print(f"{len(refused):5}  of {len(commands)} commands refused by a shell, or with a stand-in")


NAMES = (
    "longer than a screen",
    "decisive line not on the screen",
    "first step not on the screen",
    "placeholder on the screen",
    "title too long",
    "requeue-without-host without a host",
    "stopped job to be started again without a checkpoint",
)


def _check(case: Path) -> tuple[str, list[tuple[str, str]], list[int], list[str]]:
    import logdoctor
    from logdoctor.pipeline.knowledge import gather, rule_folders

    if not KNOWLEDGE:
        KNOWLEDGE.append(gather(rule_folders()))
    logs = sorted(str(path.relative_to(case.parent)) for path in case.rglob("*") if path.suffix in LOGS)
    os.chdir(case.parent)
    diagnosis = logdoctor.diagnose(logs, name=case.name, knowledge=KNOWLEDGE[0])
    words = [sum(len(step.text.split()) for step in diagnosis.answer.steps)] if diagnosis.answer else []
    steps = (*diagnosis.decision.steps, *(diagnosis.answer.steps if diagnosis.answer else ()))
    return case.name, [*_faults(diagnosis)], words, [command for step in steps for command in step.commands]


def _faults(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    from logdoctor.render import render
    from logdoctor.render.answer_document import document
    from logdoctor.render.catalogue import catalogue

    screen = render(diagnosis, "text")
    page = document(diagnosis, catalogue("en"))
    flat = " ".join(screen.split())
    count = screen.count("\n")
    if count > SCREEN:
        yield "longer than a screen", str(count)
    proof, do = page.section("proof"), page.section("do")
    if proof and not any(part in screen for part in (proof.blocks[0].location, proof.blocks[0].location[-30:])):
        yield "decisive line not on the screen", proof.blocks[0].location
    if do and " ".join(do.blocks[0].text.split())[:60] not in flat:
        yield "first step not on the screen", do.blocks[0].text
    for found in PLACEHOLDER.findall(screen.split("\nProof\n")[0] + screen.rpartition("\nDo")[2]):
        yield "placeholder on the screen", found
    answer = diagnosis.answer
    if answer and len(answer.title) > LONGEST_TITLE:
        yield "title too long", answer.title
    if diagnosis.decision.do == "requeue-without-host" and not diagnosis.decision.hosts:
        yield "requeue-without-host without a host", ""
    if (
        answer
        and diagnosis.verdict == "stopped"
        and diagnosis.decision.do == "requeue"
        and not diagnosis.decision.checkpoint
    ):
        yield "stopped job to be started again without a checkpoint", answer.rule


def _is_refused(command: str) -> bool:
    done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, check=False)
    return done.returncode != 0 or STAND_IN.search(command) is not None


if __name__ == "__main__":
    main()
