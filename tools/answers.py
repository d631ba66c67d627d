"""Compare the answers of two versions of logdoctor over many cases.

    python tools/answers.py dump OUT CASES...          diagnoses of all case folders, one JSON line a case
    python tools/answers.py compare BEFORE AFTER       a table of all cases whose diagnosis differs
    python tools/answers.py answers BEFORE AFTER       a table of all cases whose answer differs: verdict, causes,
                                                       culprits and proofs, also between versions of the JSON

A case is a folder with logs. Its logs are diagnosed as one job, never its label. To dump another version, put its tree
into PYTHONPATH. The digest of the rules and the version are not compared.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

LOGS = {".log", ".txt", ".out", ".err"}
NOT_COMPARED = ("made_by",)
CALM = ("finished", "no-end-seen", "nothing-to-judge")
SAME = {"failure": ("failed", "stopped"), "healthy": CALM, "unknown": ("unknown",)}
"""Verdicts of version 2 of the diagnosis that equal one of version 1."""
COMPARED = ("signature", "rule", "confidence", "by", "action")
KNOWLEDGE: list[Any] = []
"""The pack of this process, loaded once."""


def main() -> None:
    command, first, *rest = sys.argv[1:]
    if command == "dump":
        dump(Path(first), rest)
    elif command in ("compare", "answers"):
        compare(Path(first), Path(rest[0]), answers=command == "answers")
    else:
        raise SystemExit(__doc__)


def dump(out: Path, folders: list[str]) -> None:
    cases = sorted({log.parent for folder in folders for log in Path(folder).rglob("*") if log.suffix in LOGS})
    tops = sorted({_case_of(case, folders) for case in cases})
    with ProcessPoolExecutor() as pool, out.open("w") as file:
        for line in pool.map(_diagnose, tops, chunksize=8):
            file.write(line + "\n")


def _case_of(folder: Path, tops: list[str]) -> Path:
    """Return the folder directly below one of ``tops``."""
    top = next(Path(top) for top in tops if folder.is_relative_to(top))
    return top / folder.relative_to(top).parts[0]


def _diagnose(case: Path) -> str:
    import logdoctor
    from logdoctor.pipeline.knowledge import gather, rule_folders

    if not KNOWLEDGE:
        KNOWLEDGE.append(gather(rule_folders()))
    logs = sorted(str(path) for path in case.rglob("*") if path.suffix in LOGS)
    try:
        data = logdoctor.diagnose(logs, name=case.name, knowledge=KNOWLEDGE[0]).to_dict()
    except Exception as error:  # noqa: BLE001 - an answer that is no diagnosis is compared too
        data = {"error": repr(error)}
    for key in NOT_COMPARED:
        data.pop(key, None)
    return json.dumps({"case": case.name, "diagnosis": data}, ensure_ascii=False, sort_keys=True)


def compare(before: Path, after: Path, *, answers: bool = False) -> None:
    old, new = _read(before), _read(after)
    cases = sorted(old.keys() | new.keys())
    changed = [case for case in cases if _differ(old.get(case, {}), new.get(case, {}), answers=answers)]
    for case in changed:
        a, b = old.get(case, {}), new.get(case, {})
        fields = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key)) if not answers else []
        print(f"| {case} | {summary(a)} | {summary(b)} | {', '.join(fields)} |")
    print(f"{len(changed)} of {len(cases)} differ")


def _differ(old: dict[str, Any], new: dict[str, Any], *, answers: bool) -> bool:
    if not answers:
        return old != new
    verdicts = old.get("verdict"), new.get("verdict")
    same_verdict = verdicts[0] == verdicts[1] or verdicts[1] in SAME.get(str(verdicts[0]), ())
    return not same_verdict or [*map(_answer, old.get("causes", ()))] != [*map(_answer, new.get("causes", ()))]


def _answer(cause: dict[str, Any]) -> list[Any]:
    """Return the fields of a cause that both versions of the JSON hold."""
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
    return {row["case"]: row["diagnosis"] for row in map(json.loads, path.read_text().splitlines())}


if __name__ == "__main__":
    main()
