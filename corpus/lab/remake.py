"""Run experiments and write them as cases, several families at the same time."""

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
from machine import install, lacks, make_environment, private_words, versions
from outcome import Outcome
from truth import diagnose_case, faults

WORK = Path("/tmp/lab")
TRIES = 3


class Lab:
    """A run of the lab. The working directory is the folder of the cases."""

    def __init__(self, options: Namespace, journal: Journal) -> None:
        """Take the options of run.py."""
        self.options, self.journal = options, journal
        self._spoilt: dict[str, str] = {}
        self._installing, self._judging = threading.Lock(), threading.Lock()
        self._making: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._running: set[Bench] = set()
        self._stopped = False

    def run(self, chosen: Iterable[Experiment]) -> Iterator[Outcome]:
        """Run ``at_once`` families at a time. Return the outcomes as they come, errors as well."""
        families: dict[str, list[Experiment]] = {}
        for experiment in chosen:
            families.setdefault(experiment.family, []).append(experiment)
        outcomes: SimpleQueue[Outcome | None] = SimpleQueue()
        with ThreadPoolExecutor(self.options.at_once) as pool:
            try:
                for family in sorted(families.values(), key=len, reverse=True):  # the longest family begins first
                    pool.submit(self._run_family, family, outcomes).add_done_callback(lambda _: outcomes.put(None))
                for _ in families:
                    yield from iter(outcomes.get, None)
            finally:
                self._stop(pool)

    def _run_family(self, family: Iterable[Experiment], outcomes: SimpleQueue[Outcome | None]) -> None:
        """Run experiments one by one. They share cgroups and session folders of the machine."""
        for experiment in family:
            if not self._stopped:
                outcomes.put(self._outcome(experiment))

    def _stop(self, pool: ThreadPoolExecutor) -> None:
        """Kill the processes that still run after an interrupt."""
        self._stopped = True
        pool.shutdown(wait=False, cancel_futures=True)
        for bench in tuple(self._running):
            bench.clear()

    def _outcome(self, experiment: Experiment) -> Outcome:
        began = time.monotonic()
        try:
            word, why = self._skip(experiment) or self._make(experiment)
        except Exception as error:
            word, why = "failed", _message(error)
        return Outcome(experiment.case, word, why, time.monotonic() - began)

    def _skip(self, experiment: Experiment) -> tuple[str, str] | None:
        """Return why an experiment is not run, None if it is run."""
        options, folder = self.options, Path(experiment.case)
        if experiment.expected_wrong and not options.wrong:
            return "known", experiment.expected_wrong
        exists = (folder / "case.yaml").exists()
        if exists and (options.new or (self.journal.has(experiment) and not options.again)):
            return "there", ""
        if options.install:
            with self._installing:
                install(experiment.needs.packages)
        lacking = lacks(experiment.needs)
        return ("skipped", f"needs {lacking}") if lacking else None

    def _make(self, experiment: Experiment) -> tuple[str, str]:
        """Run an experiment and write its case if the diagnosis is right."""
        name = experiment.needs.environment
        with self._making[name]:  # the other families go on, because some environments take minutes
            environment = self._environment(name) if name else None
        bench, logs = self._run(experiment, environment)
        if _cut_short(experiment, bench):
            return "failed", f"a healthy job was ended because its time was up; see {bench.logs}"
        if not shows_fault(experiment, logs):
            return "failed", f"no log of {TRIES} runs holds any of {list(experiment.evidence)}; see {bench.logs}"
        if words := _private(logs):
            return "failed", f"the log names {', '.join(words)}; it is in {bench.logs}"
        about = experiment.about(versions(name, bench))
        with self._judging:
            return self._judge(experiment, about, bench, logs)

    def _judge(
        self, experiment: Experiment, about: Mapping[str, Any], bench: Bench, logs: Sequence[Path]
    ) -> tuple[str, str]:
        """Write the case if the diagnosis of the logs is right."""
        diagnosis = diagnose_case(bench.logs, about)
        wrong = "; ".join(faults(about, diagnosis))
        if wrong and not self.options.wrong:
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

    def _run(self, experiment: Experiment, environment: Path | None) -> tuple[Bench, list[Path]]:
        """Run an experiment, at most ``TRIES`` times, until its logs show the fault.

        A launcher may end before it prints the message.
        """
        for _ in range(TRIES):
            bench = Bench(WORK / experiment.case, environment, experiment.seconds)
            self._running.add(bench)
            try:
                experiment.run(bench)
            finally:
                bench.clear()
                self._running.remove(bench)
            if self._stopped:
                raise InterruptedError("stopped before its end")
            logs = sorted(p for p in bench.logs.rglob("*.log") if p.stat().st_size)
            if shows_fault(experiment, logs) and not _cut_short(experiment, bench):
                break
        return bench, logs

    def _environment(self, name: str) -> Path:
        """Return an environment. Raise the same error again, without another try, if it could not be made."""
        if name not in self._spoilt:
            try:
                return make_environment(name, self.options.environments)
            except (OSError, subprocess.SubprocessError) as error:
                self._spoilt[name] = f"no environment {name}: {_message(error)}"
        raise RuntimeError(self._spoilt[name])


def _cut_short(experiment: Experiment, bench: Bench) -> bool:
    """Tell whether a healthy job ran out of time."""
    return experiment.label == "healthy" and bench.overran


def shows_fault(experiment: Experiment, logs: Sequence[Path]) -> bool:
    """Tell whether the logs hold a piece of the evidence. No diagnosis is needed for that."""
    text = "\n".join(p.read_text("utf-8", "replace") for p in logs)
    return not experiment.evidence or any(piece in text for piece in experiment.evidence)


def _private(logs: Sequence[Path]) -> list[str]:
    text = "\n".join(p.read_text("utf-8", "replace") for p in logs)
    return [word for word in private_words() if re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text)]


def _write(folder: Path, source: Path, logs: Sequence[Path], about: Mapping[str, Any], expect: Answer | None) -> None:
    """Replace the logs and the truth of a case, but keep its approved answer."""
    for old in folder.rglob("*.log"):
        old.unlink()
    for log in logs:
        new = folder / log.relative_to(source)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(log, new)
    write(folder, about)
    if expect:
        write_answer(folder, expect)


def _approve(folder: Path, about: Mapping[str, Any], actual: Answer) -> None:
    """Write an approved answer and its golden reports anew. Only pids, times and lines have changed."""
    from logdoctor.render import render

    write_answer(folder, actual)
    for lang, path in golden_reports(folder).items():
        path.write_text(render(diagnose_case(folder, about, lang), "markdown", lang=lang), "utf-8")


def _message(error: Exception) -> str:
    """Return the message of an error, and the place in the lab."""
    if isinstance(error, subprocess.CalledProcessError):
        last_line = (_text(error.stderr) or _text(error.stdout)).strip().rpartition("\n")[2]
        return f"{' '.join(map(str, error.cmd)).partition(chr(10))[0][:120]} exits with {error.returncode}: {last_line}"
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"


def _text(output: bytes | str | None) -> str:
    return output.decode("utf-8", "replace") if isinstance(output, bytes) else output or ""
