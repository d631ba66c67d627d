"""Count on how many cases each rule holds.

    python tools/rule_usage.py CASES... > usage.tsv       rule, number of cases as an answer, number as a symptom

A rule that holds on no case is proven by its own examples only. Its file can name the program that prints its lines
(`evidence:`).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from replay import dump

from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load


def main() -> None:
    answers, symptoms = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers.jsonl"
        dump(out, sys.argv[1:])
        for line in out.read_text("utf-8").splitlines():
            diagnosis = json.loads(line)["diagnosis"]
            answers.update({cause["rule"] for cause in diagnosis.get("causes", [])[:1]})
            symptoms.update({symptom["rule"] for symptom in diagnosis.get("symptoms", [])})
    rules = [rule.id for rule in load([shipped_rules()]).rules]
    for rule in rules:
        print(f"{rule}\t{answers[rule]}\t{symptoms[rule]}")
    unproven = sum(not answers[rule] and not symptoms[rule] for rule in rules)
    print(f"{unproven} of {len(rules)} rules hold on no case", file=sys.stderr)


if __name__ == "__main__":
    main()
