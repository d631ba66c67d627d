"""Diagnose many cases again from the records that were kept of them, and compare whole answers.

    python tools/replay.py against REVISION CASES...   this tree against a revision of it (`make replay`)
    python tools/replay.py dump OUT CASES...           the answers of this tree, one JSON line a case
    python tools/replay.py compare BEFORE AFTER        a table of all cases whose dumped answer differs
    python tools/replay.py answers BEFORE AFTER        the same by verdict, causes, culprits and proofs only

A case is a folder with logs. Its logs are diagnosed as one job, never its label. An answer is the JSON in English and
Chinese, and what ``--why`` and the report show. The records of each case are kept in ``~/.cache/logdoctor-replay``
until a room below the reasoning, a rule or a log changes, so an edit of the reasoning is compared in seconds. To dump
another tree, put it into PYTHONPATH. The digest of the rules and the version are not compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import logdoctor
from logdoctor.model import Record
from logdoctor.pipeline.broken_records import BrokenRecords
from logdoctor.pipeline.diagnosis import Analysis, JobReader, make_job
from logdoctor.pipeline.knowledge import Knowledge, gather, rule_folders
from logdoctor.render import render
from logdoctor.render.catalogue import catalogue
from logdoctor.render.why import render_why

LOGS = {".log", ".txt", ".out", ".err"}
NOT_COMPARED = ("made_by",)
LANGUAGES = ("en", "zh")
TREE = Path(logdoctor.__file__).parent.parent
HERE = Path(__file__).resolve().parent.parent
KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "logdoctor-replay"
REPLAYED = {"reasoning", "examination", "render", "redaction", "classifier", "cli", "scan", "authoring", "evaluation"}
"""Rooms that do not make the records."""
COMPARED = ("signature", "rule", "confidence", "by", "action")
KNOWLEDGE: list[Knowledge] = []
"""The pack of this process, loaded once."""


def main() -> None:
    command, first, *rest = sys.argv[1:]
    if command == "against":
        against(first, rest)
    elif command == "dump":
        dump(Path(first), rest)
    elif command in ("compare", "answers"):
        compare(Path(first), Path(rest[0]), answers=command == "answers")
    else:
        raise SystemExit(__doc__)


def pack() -> Knowledge:
    if not KNOWLEDGE:
        KNOWLEDGE.append(gather(rule_folders()))
    return KNOWLEDGE[0]


class ReadCase:
    """A job that was read: its records, and all else that the pipeline asks of a reader."""

    def __init__(self, name: str, logs: Sequence[str]) -> None:
        reader = JobReader(make_job(logs, name), pack())
        self.records: list[Record] = [*reader]
        self.job, self.lengths, self.coverage = reader.job, reader.lengths, reader.coverage
        self.excerpts, self._problems = reader.excerpts, reader.problems
        self.problems, self.broken = [*self._problems], BrokenRecords([])

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @property
    def pack(self) -> Knowledge:
        return pack()

    def require_input(self) -> None:
        """A case is a folder with logs, so something was read."""

    def answer(self, languages: Sequence[str] = LANGUAGES, *, shown: bool = True) -> dict[str, Any]:
        """Return all that a user is told about the job, or the JSON alone if not ``shown``."""
        self.problems = [*self._problems]
        self.broken = BrokenRecords(self.problems)
        told: dict[str, Any] = {"case": self.job.name}
        try:
            analysis: Any = Analysis(self)  # type: ignore[arg-type]
            analysis.read_all()
            for lang in languages:
                analysis.words = catalogue(lang)
                diagnosis = analysis.diagnosis()
                data = diagnosis.to_dict()
                for key in NOT_COMPARED:
                    data.pop(key, None)
                told["diagnosis" if lang == "en" else f"json.{lang}"] = data
                if shown:
                    told[f"why.{lang}"] = render_why(diagnosis, lang)
                    told[f"report.{lang}"] = render(diagnosis, "markdown", lang=lang)
        except Exception as error:  # noqa: BLE001 - an answer that is no diagnosis is compared too
            told["diagnosis"] = {"error": repr(error)}
        return told


def dump(out: Path, folders: Sequence[str]) -> None:
    with ProcessPoolExecutor() as pool, out.open("w") as file:
        for line in pool.map(_answer_of, kept(folders), chunksize=8):
            file.write(line + "\n")


def kept(folders: Sequence[str]) -> list[bytes]:
    """Return the cases below ``folders`` as they were read, each pickled."""
    cases = [*find_cases(folders)]
    sources = (path for path in (TREE / "logdoctor").rglob("*") if _makes_records(path))
    files = sorted(
        {
            Path(__file__),
            *sources,
            *rule_folders()[0].rglob("*.yaml"),
            *(Path(log) for _, logs in cases for log in logs),
        }
    )
    file = KEPT / f"{_digest(files)}.pickle"
    if file.is_file():
        return pickle.loads(file.read_bytes())
    with ProcessPoolExecutor() as pool:
        read = [*pool.map(_read_case, cases, chunksize=8)]
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in sorted(KEPT.glob("*.pickle"), key=lambda path: path.stat().st_mtime)[:-20]:
        old.unlink(missing_ok=True)
    new = file.with_suffix(f".{os.getpid()}")
    new.write_bytes(pickle.dumps(read))
    new.replace(file)
    return read


def find_cases(folders: Iterable[str]) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder with logs that stands directly below one of ``folders``, and its logs."""
    for folder in folders:
        for case in sorted(Path(folder).iterdir()):
            logs = sorted(str(path) for path in case.rglob("*") if path.suffix in LOGS)
            if logs:
                yield case, logs


def _makes_records(path: Path) -> bool:
    room = path.relative_to(TREE / "logdoctor").parts[0]
    return room not in REPLAYED and path.suffix in (".py", ".yaml", ".tsv", ".json")


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for file in files:
        digest.update(os.path.relpath(file, TREE if file.is_relative_to(TREE) else Path.cwd()).encode())
        digest.update(hashlib.blake2b(file.read_bytes()).digest())
    return digest.hexdigest()


def _read_case(case: tuple[Path, list[str]]) -> bytes:
    folder, logs = case
    return pickle.dumps(ReadCase(folder.name, logs))


def _answer_of(case: bytes) -> str:
    return json.dumps(pickle.loads(case).answer(), ensure_ascii=False, sort_keys=True)


def against(revision: str, folders: Sequence[str]) -> None:
    """Compare the answers of this tree with those of ``revision``, which are kept too."""
    found = subprocess.run(["git", "rev-parse", revision], cwd=HERE, check=True, capture_output=True, text=True)
    commit = found.stdout.strip()
    logs = [Path(log) for _, logs in find_cases(folders) for log in logs]
    before = KEPT / f"{commit[:12]}-{_digest([Path(__file__), *logs])}.jsonl"
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        if not before.is_file():
            tree, out = Path(temporary), Path(temporary) / "before.jsonl"
            archive = ["git", "archive", "--format=tar", commit, "logdoctor", "rules"]
            packed = subprocess.run(archive, cwd=HERE, check=True, capture_output=True)
            subprocess.run(["tar", "-x", "-C", tree], input=packed.stdout, check=True)
            environment = {**os.environ, "PYTHONPATH": str(tree)}
            subprocess.run([sys.executable, __file__, "dump", out, *folders], env=environment, check=True)
            before.write_bytes(out.read_bytes())
        after = Path(temporary) / "after.jsonl"
        dump(after, folders)
        compare(before, after)


def compare(before: Path, after: Path, *, answers: bool = False) -> None:
    old, new = _read(before), _read(after)
    cases, changed = sorted(old.keys() | new.keys()), 0
    for case in cases:
        fields = differences(old.get(case, {}), new.get(case, {}), answers=answers)
        if fields:
            changed += 1
            a, b = (row.get(case, {}).get("diagnosis", {}) for row in (old, new))
            print(f"| {case} | {summary(a)} | {summary(b)} | {', '.join(fields)} |")
    print(f"{changed} of {len(cases)} differ")


def differences(old: dict[str, Any], new: dict[str, Any], *, answers: bool = False) -> list[str]:
    """Return the names of the parts that differ between two answers to a case."""
    a, b = old.get("diagnosis", {}), new.get("diagnosis", {})
    if answers:
        a, b = ([each.get("verdict"), *map(_answer, each.get("causes", ()))] for each in (a, b))
        return ["answer"] if a != b else []
    told = sorted(key for key in old.keys() & new.keys() if old[key] != new[key] and key != "diagnosis")
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key)) + told


def _answer(cause: dict[str, Any]) -> list[Any]:
    """Return what decides a cause."""
    proofs = [(proof["file"], proof["line"]) for proof in cause["evidence"]]
    return [*(cause[name] for name in COMPARED), cause["culprit"]["ranks"], cause["culprit"]["hosts"], proofs]


def summary(diagnosis: dict[str, Any]) -> str:
    """Return verdict, cause, rule, confidence, culprit and decisive line as one text."""
    cause = next(iter(diagnosis.get("causes", ())), {})
    culprit = cause.get("culprit") or {}
    proof = next(iter(cause.get("evidence", ())), {})
    parts = (
        diagnosis.get("verdict", diagnosis.get("error", "-")),
        cause.get("rule", ""),
        f"{cause['confidence']:.2f}" if cause else "",
        " ".join(map(str, [*culprit.get("ranks", ())[:4], *culprit.get("hosts", ())[:4]])),
        f"{proof.get('file')}:{proof.get('line')}" if proof else "",
    )
    return " ".join(part for part in parts if part)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    return {row["case"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}


if __name__ == "__main__":
    import replay  # cases are pickled under the name by which other tools know them

    replay.main()
