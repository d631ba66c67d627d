"""Readers of documents: the laws that each keeps on its samples in `tests/documents/KIND/`.

A sample is a whole document. A folder of samples may hold several documents of one job.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from logdoctor.artefacts import HEAD_BYTES, Damaged, Document, Fact, all_readers, read, reader_of
from logdoctor.logs import kinds
from logdoctor.logs.source_from_filename import host_in_name
from logdoctor.model import unread
from logdoctor.pipeline.diagnosis import diagnose, events

SAMPLES = Path(__file__).parent / "documents"
CUTS, MUTANTS = 40, 200
FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())

each_sample = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SAMPLES)))


def facts(data: bytes, kind: str, name: str = "document") -> list[object]:
    return [*read(Document(name, kind, io.BytesIO(data).read))]


def damage(data: bytes, kind: str, name: str) -> str:
    """Return why a document cannot be read on, "" if it can."""
    try:
        facts(data, kind, name)
    except Damaged as why:
        return str(why)
    return ""


def kind_of(path: Path) -> str:
    return path.relative_to(SAMPLES).parts[0]


def test_each_reader_has_a_sample():
    assert {reader.KIND for reader in all_readers()} == {kind_of(path) for path in FILES}


@each_sample
def test_exactly_one_reader_claims_a_sample_by_its_bytes(path):
    head = path.read_bytes()[:HEAD_BYTES]
    assert [reader.KIND for reader in all_readers() if reader.sniff(head)] == [kind_of(path)]


@each_sample
def test_a_sample_gives_facts_of_declared_kinds(path):
    found = facts(path.read_bytes(), kind_of(path), path.name)
    assert found
    assert {fact.kind for fact in found if isinstance(fact, Fact)} <= kinds()


@each_sample
def test_a_document_read_in_drops_is_the_same(path):
    data, kind = path.read_bytes(), kind_of(path)
    drops = io.BytesIO(data)
    assert [*read(Document(path.name, kind, lambda size: drops.read(min(size, 7))))] == facts(data, kind, path.name)


@each_sample
def test_a_cut_document_is_told_unless_its_form_has_no_end(path):
    data, kind = path.read_bytes(), kind_of(path)
    chance = random.Random(len(data))
    for cut in sorted(chance.randrange(1, len(data.rstrip())) for _ in range(CUTS)):
        told = damage(data[:cut], kind, path.name)
        assert told or getattr(reader_of(kind), "HAS_NO_END", False), f"cut at byte {cut}"


@each_sample
def test_no_mutant_of_a_document_breaks_its_reader(path):
    data, kind = path.read_bytes(), kind_of(path)
    chance = random.Random(7)
    for _ in range(MUTANTS):
        mutant = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            at = chance.randrange(len(mutant))
            mutant[at : at + chance.choice((0, 1, 1, 4))] = chance.randbytes(chance.choice((0, 1, 1, 4)))
        damage(bytes(mutant), kind, path.name)


@pytest.mark.parametrize("reader", all_readers(), ids=lambda reader: reader.KIND)
def test_a_damaged_document_is_named_and_the_answer_is_not_calm(reader, tmp_path, knowledge):
    path = next(path for path in FILES if kind_of(path) == reader.KIND)
    (tmp_path / path.name).write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.7)])
    diagnosis = diagnose(tmp_path, knowledge=knowledge)
    if getattr(reader, "HAS_NO_END", False) and not unread(diagnosis.coverage):
        return
    assert [Path(source.file).name for source in unread(diagnosis.coverage)] == [path.name]
    assert diagnosis.verdict not in ("finished", "no-end-seen", "nothing-to-judge")


@each_sample
def test_the_name_decides_nothing_about_the_kind(path, tmp_path, knowledge):
    """A file with the suffix of a program, or none, is read as well."""
    for name in ("dump.pkl", "notes.py", "_dump_0"):
        shutil.copy(path, tmp_path / name)
    found = list(events(tmp_path, knowledge=knowledge))
    assert {record.line.file.rpartition("/")[2] for record in found} == {"dump.pkl", "notes.py", "_dump_0"}
    assert {record.line.document for record in found} == {kind_of(path)}


@each_sample
def test_evidence_of_a_document_says_where_it_stands(path, knowledge):
    for record in events(path, knowledge=knowledge):
        assert record.line.document == kind_of(path)
        assert record.line.field or record.line.number > 1 or record.span, record


def test_no_reader_is_imported_for_a_plain_log():
    """Reading a log must not pay for what a few documents need."""
    code = (
        "import sys; from logdoctor.artefacts import detect_kind; detect_kind(b'step 1 loss 2.0'); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "pickle" not in loaded


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("job/dmesg-gpu-a07.txt", "gpu-a07"),
        ("job/fg-v001.dmesg.log", "fg-v001"),
        ("nvidia-smi-q_node3b.txt", "node3b"),
        ("out/gpu-a07/nvidia-smi.xml", "gpu-a07"),
        ("kern.log", None),
        ("rank3/nvidia-smi.txt", None),
        ("node_0/smi.csv", None),
        ("dmesg-2026-03-14.txt", None),
        ("job-48213/dmesg.txt", None),
        ("logs.tar:gpu07/dmesg", "gpu07"),
        ("x/dmesg-hgx03.log.gz", "hgx03"),
        ("link-of-mlx5-down/dmesg.txt", None),
        ("h100/dmesg.txt", None),
        ("dcgmi-diag-r3.json", None),
        ("gpu07.dcgmi.health.json", "gpu07"),
        ("rocm-smi-mx14.json", "mx14"),
    ],
)
def test_host_of_a_document_by_its_name(name, host):
    assert host_in_name(name) == host


def test_dumps_draw_the_grid_of_ranks_and_collectives(knowledge):
    dumps = sorted((SAMPLES / "flight-recorder").iterdir())
    states = diagnose([str(path) for path in dumps], knowledge=knowledge).job.standings
    assert {state.rank for state in states} == {0, 2}
    assert any(state.waits is not None for state in states)


@pytest.mark.parametrize("rows", ['{"step": %d, "loss": 2.1}', "%d,2.1"])
def test_an_error_behind_the_rows_of_a_table_is_read_like_a_log(rows, tmp_path, knowledge):
    """A program may print its metrics and its traceback into one file."""
    heading = [] if "{" in rows else ["step,loss"]
    error = ["Traceback (most recent call last):", '  File "/srv/vole/fit.py", line 8, in step', "KeyError: 'w3'"]
    (tmp_path / "out").write_text("\n".join([*heading, *(rows % n for n in range(300)), *error]) + "\n")
    (*steps, raised) = events(tmp_path / "out", knowledge=knowledge)
    assert {step.kind for step in steps} == {"progress.step"}
    assert (raised.kind, raised.line.number) == ("python.traceback", len(heading) + 303)


def metrics_kinds(losses: list[float], knowledge, tmp_path) -> list[str]:
    rows = [json.dumps({"step": n, "loss": loss, "grad_norm": float("nan")}) for n, loss in enumerate(losses)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    found = events(tmp_path, knowledge=knowledge)
    return [record.kind.partition(".")[2] for record in found if record.failing]


@pytest.mark.parametrize(
    ("losses", "failures"),
    [
        ([4.0, 0.5, 900.0, 8e4, 7e6], ["diverged"]),
        ([4.0, 0.5, 900.0, 8e4, 0.5], []),
        ([4.0, 0.5, 0.4, 900.0, 8e4], []),
        ([4.0, 1e-6, 2e-3, 3e-3, 4e-3], []),
        ([4.0, float("nan"), 3.9, float("inf")], ["not_finite"]),
        ([4.0, 900.0, 8e4, float("inf")], ["not_finite"]),
    ],
    ids=[
        "grows",
        "comes back",
        "too few rows",
        "no worse than at its start",
        "told once",
        "told by the first that is none",
    ],
)
def test_a_loss_is_wrong_once(losses, failures, knowledge, tmp_path):
    assert metrics_kinds(losses, knowledge, tmp_path) == failures
