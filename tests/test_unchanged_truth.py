"""Changes of a log that must not change its answer.

Over a part of a sample of corpus/ each change must keep the signature, the culprit and the number of the quoted line. Changes are
stamps and labels of other services, additions of pages and terminals, exports, and noise around the log.
"""

from __future__ import annotations

import functools
import html
import io
import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from corpus_cases import read_case
from msgspec.structs import replace

from logdoctor import diagnose
from logdoctor.authoring.rule_check import first_signature

CORPUS = Path(__file__).resolve().parent.parent / "corpus"
SAMPLE_RATE = 20
"""One case in so many is taken, chosen by a hash of its name. So a new case changes no other choice."""
CHANGES_PER_CASE = 2
"""Each change is made to one in so many cases of the sample, chosen by a hash too, so each case meets many changes."""
MAX_BYTES = 20_000
NOISE = (
    "Collecting tomli==2.0.1",
    "  Downloading tomli-2.0.1-py3-none-any.whl (12 kB)",
    "Installing collected packages: tomli",
    "Successfully installed tomli-2.0.1",
    "/opt/py/lib/python3.11/site-packages/forms/load.py:88: FutureWarning: `fast` will be removed",
    "  warnings.warn(",
    "+ module load cuda/12.4",
    "OMP_NUM_THREADS=8",
    '  "max_grad_norm": 1.0,',
    "--seq-length ........................ 4096",
)


def clock(n: int) -> str:
    return f"12:{n // 180 % 60:02}:{n // 3 % 60:02}"


def as_json(line: str) -> str:
    return json.dumps(line, ensure_ascii=False)


def in_colour(line: str) -> str:
    return re.sub(r"(\w*(?:Error|ERROR|error|WARN|failed))\b", "\x1b[1;31m\\1\x1b[0m", line)


Change = Callable[[int, str], str]
STAMPED: dict[str, Change] = {
    "a container's log file": lambda n, s: (
        f'{{"log":{as_json(s + chr(10))},"stream":"stderr","time":"2024-05-03T{clock(n)}.123456789Z"}}'
    ),
    "CRI": lambda n, s: f"2024-05-03T{clock(n)}.123456789Z stderr F {s}",
    "kubectl logs --timestamps": lambda n, s: f"2024-05-03T{clock(n)}.123456789Z {s}",
    "GitHub Actions": lambda n, s: f"2024-05-03T{clock(n)}.1234567Z {s}",
    "gh run view": lambda n, s: f"train (3.11)\tRun it\t2024-05-03T{clock(n)}.1234567Z {s}",
    "GitLab": lambda n, s: f"2024-05-03T{clock(n)}.123456Z 01O {s}",
    "Jenkins": lambda n, s: f"[2024-05-03T{clock(n)}.123Z] {s}",
    "Airflow": lambda n, s: f"[2024-05-03, {clock(n)} UTC] {{subprocess.py:93}} INFO - {s}",
    "Metaflow": lambda n, s: f"2024-05-03 {clock(n)}.123 [17/train/42 (pid 4411)] {s}",
    "Vertex AI": lambda n, s: f"ERROR\t2024-05-03 {clock(n)} +0000\tworkerpool0-0\t{s}",
    "aws logs tail": lambda n, s: f"2024-05-03T{clock(n)}.123000+00:00 algo-1-1714737600 {s}",
    "an export of CloudWatch": lambda n, s: f"{1714737600000 + 300 * n},{as_json(s)}",
    "an export of Loki": lambda n, s: (
        f'{{"line":{as_json(s)},"timestamp":"{1714737600 + n}000000000","pod":"train-0"}}'
    ),
    "Fluentd": lambda n, s: f'2024-05-03 {clock(n)} +0000 kube.train: {{"log":{as_json(s)},"stream":"stderr"}}',
    "seconds since 1970": lambda n, s: f"{1714737600 + n / 3:.6f} {s}",
    "a stamp": lambda n, s: f"2024-05-03 {clock(n)},123 {s}",
    "a stamp in brackets": lambda n, s: f"[2024-05-03 {clock(n)}] {s}",
    "a stamp of ctime": lambda n, s: f"[Fri May  3 {clock(n)} 2024] {s}",
    "a clock": lambda n, s: f"{clock(n)} {s}",
    "a clock in brackets": lambda n, s: f"[{clock(n)}] {s}",
    "a stamp and a tab": lambda n, s: f"2024-05-03T{clock(n)}.123Z\t{s}",
}
NAMED: dict[str, Change] = {
    "kubectl logs --prefix": lambda _, s: f"[pod/train-worker-0/pytorch] {s}",
    "the journal": lambda n, s: f"May 03 {clock(n)} gpu07 train.sh[4411]: {s}",
    "journalctl -o short-iso": lambda n, s: f"2024-05-03T{clock(n)}+0200 gpu07 train.sh[4411]: {s}",
    "syslog": lambda n, s: f"<30>May  3 {clock(n)} gpu07 train[4411]: {s}",
    "srun -l": lambda _, s: f"0: {s}",
    "mpirun --tag-output": lambda _, s: f"[1,0]<stderr>:{s}",
    "torchrun's tee": lambda _, s: f"[default0]:{s}",
    "pdsh": lambda _, s: f"gpu07: {s}",
    "Ray": lambda _, s: f"(Trainer pid=4411, ip=10.0.0.7) {s}",
    "SageMaker": lambda _, s: f"[1,mpirank:0,algo-1]<stderr>:{s}",
}
"""These labels also name the process, so the culprit may be more precise."""
DISPLAYED: dict[str, Change] = {
    "docker compose": lambda _, s: f"trainer-1  | {s}",
    "grep -n": lambda n, s: f"logs/job.log:{n + 1}:{s}",
    "cat -n": lambda n, s: f"{n + 1:6}\t{s}",
    "a list with numbers": lambda n, s: f"{n + 1}. {s}",
    "red": lambda _, s: f"\x1b[31m{s}\x1b[0m",
    "red words": lambda _, s: in_colour(s),
    "lines erased to their end": lambda _, s: f"{s}\x1b[K",
    "Windows": lambda _, s: f"{s}\r",
    "a code block": lambda _, s: f"    {s}",
    "a tab": lambda _, s: f"\t{s}",
    "a quotation": lambda _, s: f"> {s}",
    "a quotation in a quotation": lambda _, s: f"> > {s}",
    "a box": lambda _, s: f"│ {s}",
    "code, line by line": lambda _, s: f"`{s}`" if s.strip() and "`" not in s else s,
    "strings of JSON": lambda _, s: f"{as_json(s)},",
    "strings of CSV": lambda _, s: '"' + s.replace('"', '""') + '"',
    "a page": lambda _, s: html.escape(s),
    "a page's blanks": lambda _, s: s.replace(" ", "\u00a0"),
    "no width": lambda _, s: f"\u200b{s}",
    "blanks at the end": lambda _, s: f"{s}   ",
}
WHOLE: dict[str, Callable[[str], tuple[str | bytes, int]]] = {
    "a byte order mark": lambda text: (f"\ufeff{text}", 0),
    "UTF-16": lambda text: (text.encode("utf-16"), 0),
    "a cut file": lambda text: ("\0" * 4000 + text, 0),
    "a code fence": lambda text: (f"Does anybody know this?\n\n```bash\n{text}```\n", 3),
    "a terminal": lambda text: (f"(base) ann@login1:~/exp$ cat slurm-4711.out\n{text}(base) ann@login1:~/exp$ \n", 1),
    "empty lines in front": lambda text: ("\n" * 20 + text, 20),
    "noise in front": lambda text: ("\n".join(NOISE * 30) + "\n" + text, 300),
    "noise behind": lambda text: (text + "\n".join(NOISE * 30) + "\n", 0),
}
"""Functions that return the changed text, and the number of lines by which the evidence moves down."""


def is_turn(name: str, rate: int) -> bool:
    return int(sha256(name.encode()).hexdigest(), 16) % rate == 0


def is_sampled(case: Path) -> bool:
    logs = [*case.rglob("*.log")]
    return is_turn(case.name, SAMPLE_RATE) and len(logs) == 1 and logs[0].stat().st_size <= MAX_BYTES


def cases_for(change: str) -> list[Path]:
    return [case for case in CASES if is_turn(f"{change} {case.name}", CHANGES_PER_CASE)]


CASES = [p.parent for p in sorted(CORPUS.glob("*/case.yaml")) if is_sampled(p.parent)]


def answer_and_evidence(data: str | bytes, case: Path, knowledge) -> tuple[str, object, int]:
    """Return the answer, its culprit, and the number of the quoted line."""
    stream = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    diagnosis = diagnose(stream, name=case.name, knowledge=knowledge, hung=bool(read_case(case).get("hung")))
    cause = diagnosis.causes[0] if diagnosis.causes else None
    return (
        first_signature(diagnosis),
        cause and _without_lead(cause.culprit),
        cause.evidence[0].line.number if cause else 0,
    )


@functools.cache
def text_of(case: Path) -> str:
    (log,) = case.rglob("*.log")
    return log.read_text("utf-8", "replace").rstrip("\n") + "\n"


@pytest.fixture(scope="module")
def plain(knowledge):
    return {case: answer_and_evidence(text_of(case), case, knowledge) for case in CASES}


def line_by_line(change: Change, case: Path) -> str:
    return "".join(f"{change(n, line)}\n" for n, line in enumerate(text_of(case).removesuffix("\n").split("\n")))


def changed_answers(plain, name: str, changes: dict[str, Change], knowledge, *, named: bool = False) -> list:
    answers = {
        case.name: (answer_and_evidence(line_by_line(changes[name], case), case, knowledge), plain[case])
        for case in cases_for(name)
    }
    return [(n, new, old) for n, (new, old) in answers.items() if (new[0] != old[0] if named else new != old)]


@pytest.mark.parametrize("change", STAMPED)
def test_a_stamp_changes_no_answer(plain, change, knowledge):
    assert changed_answers(plain, change, STAMPED, knowledge) == []


@pytest.mark.parametrize("change", NAMED)
def test_a_label_changes_no_answer(plain, change, knowledge):
    assert changed_answers(plain, change, NAMED, knowledge, named=True) == []


@pytest.mark.parametrize("change", DISPLAYED)
def test_display_of_a_log_changes_no_answer(plain, change, knowledge):
    assert changed_answers(plain, change, DISPLAYED, knowledge) == []


@pytest.mark.parametrize("change", WHOLE)
def test_text_around_a_log_changes_no_answer(plain, change, knowledge):
    cases = cases_for(change)
    changed = {case: WHOLE[change](text_of(case)) for case in cases}
    answers = {case: answer_and_evidence(text, case, knowledge) for case, (text, _) in changed.items()}
    expected = {case: (*plain[case][:2], plain[case][2] + changed[case][1] * bool(plain[case][2])) for case in cases}
    assert [(c.name, answers[c], expected[c]) for c in cases if answers[c] != expected[c]] == []


def test_the_sample_holds_failed_and_healthy_jobs_of_many_kinds():
    labels = {read_case(case)["label"] for case in CASES}
    assert "healthy" in labels
    assert len(labels) > 10


def _without_lead(culprit):
    """Return the culprit without the seconds of its lead, which only stamps tell."""
    return replace(culprit, first=replace(culprit.first, lead_s=None) if culprit.first else None)
