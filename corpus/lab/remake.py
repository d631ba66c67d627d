"""Experiments are run, judged, and written as cases; those of different families at the same time."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
import traceback
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from approval import Answer, answer, differences, golden_reports, is_alike, read_answer, summary, write_answer
from bench import Bench
from experiment import Experiment, write
from journal import Journal
from machine import environment, install, lacks, private_words, versions
from outcome import Outcome
from truth import diagnosed, faults

WORK = Path("/tmp/lab")
TRIES = 3


class Lab:
    """The experiments of one run of the lab; the folder of the cases is the working directory."""

    def __init__(self, asked: Namespace, journal: Journal) -> None:
        """``asked``: the options of run.py."""
        self.asked, self.journal = asked, journal
        self._spoilt: dict[str, str] = {}
        self._installing, self._judging = threading.Lock(), threading.Lock()
        self._making: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._running: set[Bench] = set()
        self._stopped = False

    def run(self, chosen: Iterable[Experiment]) -> Iterator[Outcome]:
        """The outcomes as they come, of ``at_once`` families; whatever goes wrong with an experiment is its outcome."""
        families: dict[str, list[Experiment]] = {}
        for experiment in chosen:
            families.setdefault(experiment.family, []).append(experiment)
        outcomes: SimpleQueue[Outcome | None] = SimpleQueue()
        with ThreadPoolExecutor(self.asked.at_once) as pool:
            try:
                for family in sorted(families.values(), key=len, reverse=True):  # what lasts longest begins first
                    pool.submit(self._run_family, family, outcomes).add_done_callback(lambda _: outcomes.put(None))
                for _ in families:
                    yield from iter(outcomes.get, None)
            finally:
                self._stop(pool)

    def _run_family(self, family: Iterable[Experiment], outcomes: SimpleQueue[Outcome | None]) -> None:
        """One after the other: they share what they leave on a machine (cgroups, session folders)."""
        for experiment in family:
            if not self._stopped:
                outcomes.put(self._outcome(experiment))

    def _stop(self, pool: ThreadPoolExecutor) -> None:
        """End what still runs: nothing, unless somebody interrupts us."""
        self._stopped = True
        pool.shutdown(wait=False, cancel_futures=True)
        for bench in tuple(self._running):
            bench.clear()

    def _outcome(self, experiment: Experiment) -> Outcome:
        began = time.monotonic()
        try:
            word, why = self._left_out(experiment) or self._made(experiment)
        except Exception as error:
            word, why = "failed", _told(error)
        return Outcome(experiment.case, word, why, time.monotonic() - began)

    def _left_out(self, experiment: Experiment) -> tuple[str, str] | None:
        """Why an experiment is not run."""
        asked, folder = self.asked, Path(experiment.case)
        if experiment.expected_wrong and not asked.wrong:
            return "known", experiment.expected_wrong
        there = (folder / "case.yaml").exists()
        if there and (asked.new or (self.journal.has(experiment) and not asked.again)):
            return "there", ""
        if asked.install:
            with self._installing:
                install(experiment.needs.packages)
        lacking = lacks(experiment.needs)
        return ("skipped", f"needs {lacking}") if lacking else None

    def _made(self, experiment: Experiment) -> tuple[str, str]:
        """Run an experiment and write its case, if logdoctor finds the truth in what was printed."""
        name = experiment.needs.environment
        with self._making[name]:  # gigabytes are fetched for some: the other families go on meanwhile
            made = self._environment(name) if name else None
        bench, logs = self._run(experiment, made)
        if _cut_short(experiment, bench):
            return "failed", f"a healthy job was ended because its time was up; see {bench.logs}"
        if not shown(experiment, logs):
            return "failed", f"no log of {TRIES} runs holds any of {list(experiment.evidence)}; see {bench.logs}"
        if named := _private(logs):
            return "failed", f"the log names {', '.join(named)}; it is in {bench.logs}"
        about = experiment.about(versions(name, bench))
        with self._judging:
            return self._judged(experiment, about, bench, logs)

    def _judged(
        self, experiment: Experiment, about: Mapping[str, Any], bench: Bench, logs: Sequence[Path]
    ) -> tuple[str, str]:
        """Write the case if what is printed is diagnosed as it should be."""
        diagnosis = diagnosed(bench.logs, about)
        wrong = "; ".join(faults(about, diagnosis))
        if wrong and not self.asked.wrong:
            return "wrong", f"{wrong}; the logs are in {bench.logs}"
        folder, actual = Path(experiment.case), answer(diagnosis, bench.logs)
        expect = read_answer(folder)
        _write(folder, bench.logs, logs, about, expect)
        if wrong:
            return "wrong", wrong
        self.journal.add(experiment)
        if expect is None:
            return "new", summary(actual)
        if not is_alike(expect, actual):
            return "differs", "; ".join(differences(expect, actual))
        _approve(folder, about, actual)
        return "same", summary(actual)

    def _run(self, experiment: Experiment, made: Path | None) -> tuple[Bench, list[Path]]:
        """Run an experiment until its log holds what shows the fault: launchers now and then end before they say it."""
        for _ in range(TRIES):
            bench = Bench(WORK / experiment.case, made, experiment.seconds)
            self._running.add(bench)
            try:
                experiment.run(bench)
            finally:
                bench.clear()
                self._running.remove(bench)
            if self._stopped:
                raise InterruptedError("stopped before its end")
            logs = sorted(p for p in bench.logs.rglob("*.log") if p.stat().st_size)
            if shown(experiment, logs) and not _cut_short(experiment, bench):
                break
        return bench, logs

    def _environment(self, name: str) -> Path:
        """One that cannot be made is not tried again for each of its experiments."""
        if name not in self._spoilt:
            try:
                return environment(name, self.asked.environments)
            except (OSError, subprocess.SubprocessError) as error:
                self._spoilt[name] = f"no environment {name}: {_told(error)}"
        raise RuntimeError(self._spoilt[name])


def _cut_short(experiment: Experiment, bench: Bench) -> bool:
    """Whether what shall be a healthy job had to be ended: its log holds no fault, but no good end either."""
    return experiment.label == "healthy" and bench.overran


def shown(experiment: Experiment, logs: Sequence[Path]) -> bool:
    """Whether the logs hold a piece of the evidence, which is known before anybody diagnoses them."""
    text = "\n".join(p.read_text("utf-8", "replace") for p in logs)
    return not experiment.evidence or any(piece in text for piece in experiment.evidence)


def _private(logs: Sequence[Path]) -> list[str]:
    text = "\n".join(p.read_text("utf-8", "replace") for p in logs)
    return [word for word in private_words() if re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text)]


def _write(folder: Path, made: Path, logs: Sequence[Path], about: Mapping[str, Any], expect: Answer | None) -> None:
    """Replace the logs of a case and its truth; the approved answer stays as it was."""
    for old in folder.rglob("*.log"):
        old.unlink()
    for log in logs:
        new = folder / log.relative_to(made)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(log, new)
    write(folder, about)
    if expect:
        write_answer(folder, expect)


def _approve(folder: Path, about: Mapping[str, Any], actual: Answer) -> None:
    """Write an answer anew that was approved before, because only pids, times and lines are others."""
    from logdoctor.render import render

    write_answer(folder, actual)
    for lang, path in golden_reports(folder).items():
        path.write_text(render(diagnosed(folder, about, lang), "markdown", lang=lang), "utf-8")


def _told(error: Exception) -> str:
    """An error of the lab itself, and where it came from."""
    if isinstance(error, subprocess.CalledProcessError):
        said_last = (_text(error.stderr) or _text(error.stdout)).strip().rpartition("\n")[2]
        return f"{' '.join(map(str, error.cmd)).partition(chr(10))[0][:120]} exits with {error.returncode}: {said_last}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _text(output: bytes | str | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""
