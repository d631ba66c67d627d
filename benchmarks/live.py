"""Time, cost and truth of the answers of `logdoctor watch` and `logdoctor run`.

    python benchmarks/live.py [--only WORD] [--runs 100] [--seconds 120] [--mib 1024]

Each figure stands beside its bar; one that misses it is printed with MISSED.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus_cases import CASES, healthy_cases
from simulator import FAULTS, simulate
from simulator.long_runs import HANGS, TIMEOUT, LongRun, hang, healthy

from logdoctor import diagnose
from logdoctor.cli.watch_command import EVERY
from logdoctor.live.watch import Change, Watch
from logdoctor.model import Diagnosis
from logdoctor.pipeline.knowledge import Knowledge, gather
from logdoctor.ruleset import shipped_rules

ROOT = Path(__file__).resolve().parent.parent
SIZES = (8, 16, 32, 64)
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
COMMAND = [sys.executable, "-m", "logdoctor"]
LIVE = 12.0
"""Seconds after the fault that are written at their own pace."""


def row(what: str, figure: str, bar: str = "", *, good: bool = True) -> None:
    print(f"{what:58} {figure:34} {bar}{'' if good else '  MISSED'}", flush=True)


# ── watch: the time to the answer ───────────────────────────────────────────────────────────────────────────────────


def latency(options: argparse.Namespace, knowledge: Knowledge) -> None:
    """From the line that proves the failure to the rendered answer.

    It is the time that the watch waits, by the clock of the job, and the CPU time that it works meanwhile. So other
    programs on the machine do not count.
    """
    faults, waits, same = [f for f in FAULTS if f != "hang"], [], 0
    for i in range(options.runs):
        size = max(16, SIZES[i % len(SIZES)])
        seconds, agrees = _time_answer(simulate(1000 + i, faults[i % len(faults)], size), knowledge)
        waits.append(seconds)
        same += agrees
    middle, worst = statistics.median(waits), max(waits)
    row(f"proof to answer, {len(waits)} runs, median", f"{middle:.2f} s", "<= 2 s", good=middle <= 2)
    row("proof to answer, worst", f"{worst:.2f} s", "<= 5 s", good=worst <= 5)
    row("the first answer has the cause of the whole log", f"{same} of {len(waits)}")


def _time_answer(job, knowledge: Knowledge) -> tuple[float, bool]:
    with tempfile.TemporaryDirectory() as folder:
        whole = _write_whole(job.course, Path(folder) / "whole", knowledge)
        cause = whole.answer
        assert cause is not None, job.setup
        start = _proof_time(job.course, whole, Path(folder) / "whole")
        replay = Replay(Path(folder) / "job", knowledge)
        for _, name, text in (piece for piece in job.course if piece[0] < start):
            _append(replay.folder / name, text)
        replay.wait(3 + random.Random(job.setup).random())
        begin, busy = replay.now, time.process_time()
        replay.play([(at - start, *piece) for at, *piece in job.course if start <= at <= start + LIVE], "failed")
        replay.wait(20, "failed")
        busy = time.process_time() - busy
    answers = [(at, change) for at, change in replay.changes if change.state == "failed"]
    if not answers:
        print(f"    no answer: {job.setup}; {cause.title}", flush=True)
        return 60.0, False
    at, change = answers[0]
    seconds = max(0.0, at - begin) + (busy if at > begin else 0.0)
    if seconds > 4:
        print(f"    {seconds:.1f} s, {busy:.1f} of them CPU: {job.setup}; {cause.title}", flush=True)
    return seconds, cause.signature == (change.diagnosis.answer.signature if change.diagnosis.answer else "")


def _proof_time(course, whole: Diagnosis, root: Path) -> float:
    """Return the time of the line that proves the cause, or of the first failure if that comes later."""
    proof = whole.answer.evidence[0].line
    rows = [row.first_failure.line for row in whole.job.rank_table if row.first_failure]
    rows = [whole.job.first_failure.line] if whole.job.first_failure else rows
    failed = [_time_of(course, line, root) for line in rows]
    shown = [_time_of(course, evidence.line, root) for evidence in whole.answer.evidence]
    return max(_time_of(course, proof, root), min(failed) if failed else max(shown))


def _time_of(course, line, root: Path) -> float:
    counts: dict[str, int] = {}
    for at, name, text in course:
        counts[name] = counts.get(name, 0) + text.count("\n")
        if str(root / name) == line.file and counts[name] >= line.number:
            return at
    raise AssertionError(line)


def _write_whole(course, place: Path, knowledge: Knowledge) -> Diagnosis:
    for _, name, text in course:
        _append(place / name, text)
    return diagnose(str(place), knowledge=knowledge)


def _append(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(text)


# ── watch: the cost ─────────────────────────────────────────────────────────────────────────────────────────────────


def cost(options: argparse.Namespace, _: Knowledge) -> None:
    """64 rank files that grow 1 MB/s together, with a warning now and then."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"rank_{i:05}.log" for i in range(64)]
        for file in files:
            file.write_text("step 0/500000 loss 9.1\n")
        words = [*COMMAND, "watch", folder]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=ENV) as process:
            rng, step, begin = random.Random(1), 0, time.monotonic()
            marks: list[tuple[float, float, float]] = []
            while (now := time.monotonic() - begin) < options.seconds + 20:
                step += 1
                for rank, file in enumerate(files):
                    line = f"[rank{rank}]: 2026-03-04 09:12:07 step {step}/500000 loss 2.{step % 97} tokens/s 5812\n"
                    noise = "UserWarning: failed to find a cached kernel, compiling\n" if rng.random() < 0.002 else ""
                    _append(file, line * 62 + noise)
                if now > 20 + len(marks) * options.seconds / 4:
                    marks.append((time.monotonic(), *_usage(process.pid)))
                time.sleep(max(0.0, begin + step * 0.35 - time.monotonic()))
            marks.append((time.monotonic(), *_usage(process.pid)))
            written = sum(file.stat().st_size for file in files) / (time.monotonic() - begin) / 1e6
            process.terminate()
            told = process.stdout.read().splitlines() if process.stdout else []
    share = (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])
    row(f"64 rank files, {written:.2f} MB/s together, CPU", f"{share:.1%} of a core", "<= 5 %", good=share <= 0.05)
    memory = [mark[2] for mark in marks]
    figures = " ".join(f"{m:.0f}" for m in memory)
    row("  memory at each quarter, MiB", figures, "flat", good=memory[-1] - memory[1] < 16)
    row("  states told", str(len(told)), "1", good=len(told) == 1)


def _usage(pid: int) -> tuple[float, float]:
    """Return CPU seconds and MiB of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


# ── watch: healthy and hanging jobs, by a clock of their own ────────────────────────────────────────────────────────


class Replay:
    """Writes a course and lets a watch look at it. The clock is that of the course."""

    def __init__(self, folder: Path, knowledge: Knowledge) -> None:
        self.now, self.folder = 1000.0, folder
        folder.mkdir(parents=True)
        self.watch = Watch([str(folder)], knowledge, lambda: self.now)
        self._looked = self.now
        self.changes: list[tuple[float, Change]] = []

    def play(self, course: Iterable[tuple[float, str, str]], until: str = "") -> None:
        start = self.now
        for at, name, text in course:
            self.wait(start + at - self.now, until)
            if self.watch.state == until:
                return
            _append(self.folder / name, text)

    def wait(self, seconds: float, until: str = "") -> None:
        """Let the time go by, until a state is told."""
        end = self.now + seconds
        while self._looked + EVERY <= end and self.watch.state != until:
            self.now = self._looked = max(self.now, self._looked + EVERY)
            for change in self.watch.poll():
                if change.diagnosis is not None:
                    change.diagnosis.to_text()
                self.changes.append((self.now, change))
        self.now = max(self.now, end) if self.watch.state != until else self.now

    @property
    def alarms(self) -> list[tuple[float, Change]]:
        return [(at, c) for at, c in self.changes if c.state in ("failed", "suspicious")]


def calm(options: argparse.Namespace, knowledge: Knowledge) -> None:
    """No alarm on healthy jobs: simulated ones at their own pace, and those of the corpus in pieces."""
    alarmed = []
    for i in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            replay = Replay(Path(folder) / "job", knowledge)
            replay.play(healthy(i, SIZES[i % len(SIZES)]).course)
            replay.wait(30)
            alarmed += [f"seed {i}: {c.state} {c.about}" for _, c in replay.alarms[:1]]
    row(f"alarms on {options.runs} healthy replays", str(len(alarmed)), "0", good=not alarmed)
    print("".join(f"    {line}\n" for line in alarmed), end="")
    alarmed = []
    for case in healthy_cases():
        with tempfile.TemporaryDirectory() as folder:
            replay = Replay(Path(folder) / "job", knowledge)
            replay.play(_pieces(case, 3.0))
            replay.wait(30)
            alarmed += [f"{case.name}: {c.state} {c.about}" for _, c in replay.alarms[:1]]
    row(f"alarms on {len(healthy_cases())} healthy cases of the corpus", str(len(alarmed)), "0", good=not alarmed)
    print("".join(f"    {line}\n" for line in alarmed), end="")


def hangs(options: argparse.Namespace, knowledge: Knowledge) -> None:
    """A silent rank is named before the collective times out."""
    for kind in HANGS:
        told, named, wrong, waits = 0, 0, [], []
        count = options.runs // len(HANGS)
        for i in range(count):
            job = hang(i, SIZES[i % len(SIZES)], kind)
            with tempfile.TemporaryDirectory() as folder:
                replay = Replay(Path(folder) / "job", knowledge)
                begin = replay.now
                replay.play(job.course)
                replay.wait(begin + job.since + TIMEOUT - replay.now)
            if replay.alarms:
                change = replay.alarms[-1][1]
                waits.append(replay.alarms[0][0] - begin - job.since)
                told += 1
                is_named = _names(change.about, job)
                named += is_named
                if not is_named:
                    wrong.append(f"seed {i}: rank {job.rank.number} of {job.rank.host}: {change.about[:150]}")
        middle = f", after {statistics.median(waits):.0f} s" if waits else ""
        row(
            f"hang: {kind}: told before the time-out", f"{told} of {count}{middle}", ">= 90 %", good=told >= 0.9 * count
        )
        if kind != "one_prints":
            row("  and the rank or its file is named", f"{named} of {count}", ">= 90 %", good=named >= 0.9 * count)
            print("".join(f"    {line}\n" for line in wrong[:5]), end="")


def _names(about: str, job: LongRun) -> bool:
    rank = job.rank
    assert rank is not None
    if job.kind == "saves" and "said last" in about and "saving checkpoint" in about:
        return True
    first = re.split(r"; no line| printed no line", about)[0]
    return bool(re.search(rf"(?i)\brank {rank.number}\b", first)) or f"rank_{rank.number:05}." in about


def same(options: argparse.Namespace, knowledge: Knowledge) -> None:
    """Each case of the corpus, cut into pieces at random places, ends in the answer of `diagnose`."""
    cases, differ, states = CASES[:: max(1, len(CASES) // options.cases)], [], []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "job"
            replay = Replay(place, knowledge)
            replay.play(_pieces(case, 1.0))
            replay.wait(80)
            whole = diagnose(str(place), knowledge=knowledge, found=True)
            told = replay.watch.answer()
            if told is None or told.to_json() != whole.to_json():
                differ.append(case.name)
            last = next((c.diagnosis for _, c in reversed(replay.changes) if c.diagnosis), None)
            state, is_failed = replay.watch.state, whole.answer is not None or whole.verdict == "unknown"
            is_wrong = state not in ("failed", "suspicious") if is_failed else state == "failed"
            if is_wrong or (state == "finished") != (whole.verdict == "finished"):
                states.append(f"{case.name}: {state}, but {whole.verdict}")
            elif is_failed and _facts(last) != _facts(whole):
                states.append(f"{case.name}: told {_facts(last)}, the whole {_facts(whole)}")
    row(f"{len(cases)} cases in pieces: answers that differ", str(len(differ)), "0", good=not differ)
    row("  last told states that differ", str(len(states)), "0", good=not states)
    print("".join(f"    {line[:300]}\n" for line in [*differ, *states][:40]), end="")


def _facts(diagnosis: Diagnosis | None) -> object:
    """Return verdict, signature, and the ranks and hosts of the culprit."""
    if diagnosis is None:
        return None
    cause = diagnosis.answer
    return diagnosis.verdict, cause and (cause.signature, cause.culprit.ranks, cause.culprit.hosts)


def _pieces(case: Path, most_seconds: float) -> Iterator[tuple[float, str, str]]:
    """Yield the logs of a case in pieces of random sizes at random times."""
    rng, at = random.Random(case.name), 0.0
    names = [
        p for p in sorted(case.rglob("*")) if p.is_file() and p.name not in ("case.yaml", "report.md", "report.zh.md")
    ]
    texts = {str(p.relative_to(case)): p.read_bytes().decode("latin-1") for p in names}
    while any(texts.values()):
        name = rng.choice([key for key, text in texts.items() if text])
        size = rng.randint(1, max(4000, len(texts[name]) // 2))
        yield at, name, texts[name][:size]
        texts[name] = texts[name][size:]
        at += rng.uniform(0.1, most_seconds)


# ── run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def pipe(options: argparse.Namespace, _: Knowledge) -> None:
    """Bytes, time and exit codes of a command that `logdoctor run` starts."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        block = random.Random(1).randbytes(1 << 20)
        with data.open("wb") as out:
            for i in range(options.mib):
                out.write(i.to_bytes(8, "big") + block[8:])
        code = f"cat {data} | {' '.join([*COMMAND, 'run', '--', 'cat'])} | cmp - {data}"
        start = time.monotonic()
        done = subprocess.run(["bash", "-c", code], env={**ENV, "TMPDIR": folder}, check=False)
        took = time.monotonic() - start
        speed = options.mib / took
        row(
            f"{options.mib} MiB through the pipe",
            f"{'equal' if not done.returncode else 'DIFFER'}, {speed:.0f} MiB/s",
            "equal",
            good=not done.returncode,
        )
        data.write_bytes(block * 4)
        slow = f"{' '.join([*COMMAND, 'run', '--', 'cat', str(data)])} | (sleep 3; cmp - {data})"
        done = subprocess.run(["bash", "-c", slow], env=ENV, check=False, timeout=60)
        row(
            "a reader that begins after 3 s",
            "no deadlock, equal" if not done.returncode else "DIFFER",
            "equal",
            good=not done.returncode,
        )
    _share()
    _signals()


def _share() -> None:
    """The wrapper's CPU time on 50 MB, which a command prints in 5 s at 10 MB/s: more than alone, without the start."""
    script = (
        "import sys,time,hashlib\n"
        "line=b'step 1/9 loss 2.1 '+b'x'*982+b'\\n'\n"
        "for i in range(200):\n"
        "    sys.stdout.buffer.write(line*250); sys.stdout.flush()\n"
        "    time.sleep(0.025)\n"
    )
    plain = [sys.executable, "-c", script]
    alone, wrapped, start = (
        min(_cpu(words) for _ in range(3))
        for words in (plain, [*COMMAND, "run", "--", *plain], [*COMMAND, "run", "--", "true"])
    )
    more = wrapped - alone - start
    row(
        "50 MB at 10 MB/s under run, CPU beside the start",
        f"{more:.3f} s, {more / 5:.2%} of 5 s",
        "< 1 %",
        good=more < 0.05,
    )
    row("  start of run", f"{start:.2f} s of CPU")


def _cpu(words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, env=ENV, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _signals() -> None:
    script = (
        "import signal,sys,time\n"
        "for s in (2,15,1): signal.signal(s,lambda n,f:(print('got',n,flush=True),sys.exit(40+n)))\n"
        "print('ready',flush=True)\n"
        "time.sleep(30)\n"
    )
    good = []
    for number, code in ((signal.SIGINT, 42), (signal.SIGTERM, 55), (signal.SIGHUP, 41)):
        words = [*COMMAND, "run", "--", sys.executable, "-c", script]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
        good.append((process.returncode, out) == (code, b"got %d\n" % number))
    killed = subprocess.run(
        [*COMMAND, "run", "--", "sh", "-c", "kill -9 $$"], env=ENV, check=False, stderr=subprocess.DEVNULL
    )
    good.append(killed.returncode == 137)
    codes = [
        subprocess.run(
            [*COMMAND, "run", "--", "sh", "-c", f"exit {n}"], env=ENV, check=False, stderr=subprocess.DEVNULL
        ).returncode
        for n in (0, 1, 2, 77, 255)
    ]
    good.append(codes == [0, 1, 2, 77, 255])
    row("INT, TERM, HUP passed on; child killed; exit codes", f"{sum(good)} of 5", "5", good=all(good))


PARTS: dict[str, Callable[[argparse.Namespace, Knowledge], None]] = {
    part.__name__: part for part in (latency, cost, calm, hangs, same, pipe)
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--cases", type=int, default=len(CASES))
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--mib", type=int, default=1024)
    options = parser.parse_args()
    knowledge = gather([shipped_rules()])
    for name in options.only or PARTS:
        PARTS[name](options, knowledge)


if __name__ == "__main__":
    main()
