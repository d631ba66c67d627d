"""Laws of a hang that documents tell: what may lie beside it, lack, or have another name without a change of the answer."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from corpus_cases import CORPUS

from logdoctor import diagnose

HANGS = sorted(CORPUS.glob("hang-recorder-*"))
DOCUMENTS = Path(__file__).parent / "documents"
POLL = DOCUMENTS / "nccl-ras" / "running.json"
GPUS = DOCUMENTS / "nvidia-smi" / "gx07.nvidia-smi-q.txt"
FAULTY_GPU = "GPU 00000000:43:00.0"

each_hang = pytest.mark.parametrize("case", HANGS, ids=lambda case: case.name)


def files(case: Path) -> list[Path]:
    return sorted(case.glob("*.log"))


@pytest.fixture
def ask(knowledge):
    """Return cause and culprit, and the place at which it stands."""

    def answer(logs: list[Path]) -> tuple[str, tuple[int, ...], object]:
        cause = diagnose(logs, knowledge=knowledge).causes[0]
        return cause.rule, cause.culprit.ranks, dict(cause.values).get("stands")

    return answer


@pytest.fixture
def healthy(tmp_path):
    """Return a report of GPUs without faults, and a poll of RAS that finds all ranks in order."""
    report = tmp_path / "nvidia-smi-q.txt"
    report.write_text(GPUS.read_text("utf-8").partition(FAULTY_GPU)[0])
    return [report, POLL]


def test_there_are_hangs_with_dumps_and_stacks():
    assert len(HANGS) > 1


@each_hang
def test_the_order_of_the_files_changes_nothing(case, ask):
    logs = files(case)
    mixed = random.Random(case.name).sample(logs, len(logs))
    assert ask(mixed) == ask(mixed[::-1]) == ask(logs)


@each_hang
def test_the_dump_of_a_rank_that_waits_may_lack(case, ask):
    """If a missing dump tells of the culprit, its stack does so alone."""
    logs = files(case)
    rule, culprit, stands = ask(logs)
    dump = next(log for log in logs if "trace_rank" in log.name and int(log.stem[-1]) not in culprit)
    left = ask([log for log in logs if log != dump])
    assert left[1] == culprit
    assert left == (rule, culprit, stands) or rule == "collective.straggler-no-dump"


@each_hang
def test_healthy_documents_beside_change_nothing(case, ask, healthy):
    assert ask([*files(case), *healthy]) == ask(files(case))


@each_hang
def test_the_name_of_a_file_that_tells_no_rank_may_be_another(case, ask, tmp_path):
    for log in files(case):
        is_of_rank = any(letter.isdigit() for letter in log.stem)
        shutil.copy(log, tmp_path / (log.name if is_of_rank else f"output-of-{log.name}"))
    assert ask(files(tmp_path)) == ask(files(case))


def test_the_healthy_documents_tell_no_failure(healthy, knowledge):
    assert not diagnose(healthy, knowledge=knowledge).causes
