"""Diagnose labelled cases with and without the right answer, and count what is said instead.

    python tools/without_answer.py CASES... [--list]

The second time no rule of the labelled signatures holds (``also`` included), as with a failure that no rule knows. An
honest answer is then ``unknown`` or carries a low confidence, and names nobody. Brier score and AUC of the confidence
cover both halves.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from calibrate import without

LOGS = {".log", ".txt", ".out", ".err"}
SURE = 0.9
CALM = ("healthy", "finished")
NOT_JUDGED = ("no-end-seen", "nothing-to-judge")
NO_FAILURE = {"healthy", "unknown"}
PACK: list[Any] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="print each answer that is sure, calm or names somebody")
    options = parser.parse_args()
    rows = diagnose_all(options.cases)
    with_rule, blind = [row[1] for row in rows], [row[2] for row in rows]
    print(f"cases      {len(rows)} failures")
    for name, half in (("as they are", with_rule), ("without the right answer", blind)):
        print(name)
        print(f"  verdicts   {_count(answer['verdict'] for answer in half)}")
        print(f"  calm       {sum(a['verdict'] in CALM for a in half)} healthy or finished")
        print(f"  not judged {sum(a['verdict'] in NOT_JUDGED for a in half)} no end seen or nothing to judge")
        print(f"  sure       {sum(a['confidence'] >= SURE for a in half)} with {SURE} or more")
        print(f"  named      {sum(a['named'] for a in half)} name a rank or host")
    print("both halves")
    answers = [a for a in (*with_rule, *blind) if a["signature"]]
    wrong = [a for a in answers if not a["right"]]
    brier = sum((a["confidence"] - a["right"]) ** 2 for a in answers) / len(answers)
    print(f"  wrong and sure {sum(a['confidence'] >= SURE for a in wrong)} of {len(wrong)} wrong answers")
    print(f"  Brier {brier:.3f}  AUC {_auc(answers):.3f}  ({len(answers)} answers)")
    if options.list:
        for name, _, answer in rows:
            if answer["verdict"] in (*CALM, *NOT_JUDGED) or answer["confidence"] >= SURE or answer["named"]:
                print(
                    f"  {name:50} {answer['verdict']:10} {answer['signature']} {answer['confidence']} {answer['named']}"
                )


def diagnose_all(folders: list[Path]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return the name of each failed case, and its answers with and without the right rules."""
    labels = sorted(p for root in folders for name in ("case.json", "case.yaml") for p in root.rglob(name))
    with ProcessPoolExecutor() as pool:
        return [row for row in pool.map(_answers, labels, chunksize=4) if row]


def _answers(label: Path) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
    """Return the name of a failed case, and its answers with and without the right rules."""
    from logdoctor.pipeline.knowledge import gather, rule_folders

    about = json.loads(label.read_text()) if label.suffix == ".json" else yaml.safe_load(label.read_text())
    also = about.get("also") or ()
    truth = {about["label"], *((also,) if isinstance(also, str) else also)}
    logs = sorted(str(path) for path in label.parent.rglob("*") if path.suffix in LOGS)
    if about["label"] in NO_FAILURE or not logs:
        return None
    if not PACK:
        PACK.append(gather(rule_folders()))
    return label.parent.name, _answer(logs, PACK[0], truth), _answer(logs, without(PACK[0], truth), truth)


def _answer(logs: list[str], pack: Any, truth: set[str]) -> dict[str, Any]:
    from logdoctor import diagnose

    data = diagnose(logs, knowledge=pack).to_dict()
    cause = data["causes"][0] if data["causes"] and data["verdict"] not in ("unknown", *NOT_JUDGED) else {}
    culprit = cause.get("culprit", {})
    named = culprit.get("scope", "one") in ("one", "some") and bool(culprit.get("ranks") or culprit.get("hosts"))
    return {
        "verdict": data["verdict"],
        "signature": cause.get("signature", ""),
        "confidence": cause.get("confidence", 0.0),
        "named": named,
        "right": cause.get("signature") in truth,
        "checked": {check["claim"]: check["is"] for check in cause.get("checked", ())},
    }


def _count(words: Any) -> str:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return ", ".join(f"{word} {count}" for word, count in sorted(found.items(), key=lambda pair: -pair[1]))


def _auc(answers: list[dict[str, Any]]) -> float:
    """Return the chance that a right answer carries more confidence than a wrong one."""
    right = [a["confidence"] for a in answers if a["right"]]
    wrong = [a["confidence"] for a in answers if not a["right"]]
    pairs = [(r > w) + (r == w) / 2 for r in right for w in wrong]
    return sum(pairs) / len(pairs) if pairs else float("nan")


if __name__ == "__main__":
    main()
