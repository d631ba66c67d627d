"""Count how many values of a proof's line and block stand on the first screen, and denials beside what they deny.

    python tools/told_values.py screens OUT CASES...      write the screens of this tree, one JSON line a case
    python tools/told_values.py count SCREENS CASES...    count the values on these screens; list those that are missing

Values are found by expressions of this file, which know nothing of the extractors: pairs of numbers, quoted names,
paths, addresses, versions and sets of ranks, the first `MOST` of each proof. Frames do not count. To judge another
tree, write its screens with that tree in PYTHONPATH.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from replay import ReadCase, find_cases

from logdoctor.model import WITH_CAUSE
from logdoctor.pipeline.diagnosis import Analysis
from logdoctor.render import render

MOST = 12
NEAR = 30
VALUES = {
    "pair": re.compile(
        r"(?i)\b(?:got|expected|want(?:ed)?|need(?:s|ed)?|free|total|limit|available|requested|used|has|have|of|vs\.?|than)"
        r"[ :=(]{1,3}(-?\d[\d.,]*(?: ?[KMGT]i?B| ?bytes)?)\b"
    ),
    "quoted": re.compile(r"(?<![\w'])'([\w./:+-]{2,80})'(?!\w)|\"([\w./:+-]{2,80})\"|`([\w./:+-]{2,80})`"),
    "path": re.compile(r"(?<![\w/:.])(/(?:[\w.@+-]+/)+[\w.@+-]+)"),
    "address": re.compile(r"\b(\d{1,3}(?:\.\d{1,3}){3})\b"),
    "version": re.compile(r"(?i)\bversion[ :=]{1,3}(\d+(?:\.\d+)+)|\b[a-z][\w-]+==(\d[\w.]+)"),
    "set": re.compile(r"(?i)\b(?:ranks?|tasks?|nodes?)[ :=]{0,2}\[(\d+(?:, ?\d+){0,12})\]"),
}
FRAME = re.compile(
    r'\bFile "[^"]+", line|^\W*(?:frame )?#\d+|^\s+at [\w$.]+\(|\+0x[0-9a-f]+[)\]]|^\s*\^|raise \w+'
    r"|^\S+\.(?:cc|cpp|cu|h):\d+ NCCL INFO.*->"
)
BOILERPLATE = re.compile(
    r"(?i)https?://|please|you (?:can|may|should)|see also|for more|typically|usually|likely"
    r"|compile with `?TORCH_USE_CUDA|throwing an instance of"
)
SOURCES = (".cc", ".cpp", ".cu", ".h", ".hpp", ".c")
"""Ends of paths that stand for a frame of a library."""
DENIALS = {
    "frames": re.compile(r"(?i)hold no traceback|no stack"),
    "names": re.compile(r"(?i)does not name|do not name|names nobody"),
    "reason": re.compile(r"(?i)no line says why|do not show why|no line shows why|does not say why"),
}
DENIED = {
    "frames": re.compile(r'File "[^"]+", line \d+|^\W*#\d+ +0x|\+0x[0-9a-f]+\)'),
    "names": re.compile(r"(?i)\b(?:rank|task|worker)s?[:= ]{1,2}\[?\d"),
    "reason": re.compile(r"(?i)errno|because|no such|permission denied|not found|mismatch"),
}


def main() -> None:
    command, file, *folders = sys.argv[1:]
    cases = [*find_cases(folders)]
    with ProcessPoolExecutor() as pool:
        if command == "screens":
            Path(file).write_text("\n".join(pool.map(_screen, cases, chunksize=8)) + "\n", "utf-8")
        elif command == "count":
            screens = {
                row["case"]: row["screen"] for row in map(json.loads, Path(file).read_text("utf-8").splitlines())
            }
            report([*pool.map(_proof, cases, chunksize=8)], screens)
        else:
            raise SystemExit(__doc__)


def _screen(case: tuple[Path, list[str]]) -> str:
    folder, logs = case
    return json.dumps({"case": folder.name, "screen": _screen_of(_read(ReadCase(folder.name, logs)))})


def _read(reader: ReadCase) -> Any:
    analysis: Any = Analysis(reader)  # type: ignore[arg-type]
    analysis.read_all()
    return analysis


def _screen_of(analysis: Any) -> str:
    return render(analysis.diagnosis(), "text", width=80)


def _proof(case: tuple[Path, list[str]]) -> tuple[str, list[str], list[str]]:
    """Return the case, the lines of the answer's proof and block, and the lines of its process around them."""
    folder, logs = case
    reader = ReadCase(folder.name, logs)
    analysis = _read(reader)
    if analysis.diagnosis().verdict not in WITH_CAUSE:
        return folder.name, [], []
    lead = analysis.observed().reasoner.leading()[0]
    near = [line.text for line in reader.excerpts.around(lead.proof, NEAR, NEAR)]
    return folder.name, _block(lead), near


def _block(lead: Any) -> list[str]:
    return [line.text for line in lead.record.lines] or [lead.proof.text]


def missing_of(case: tuple[Path, list[str]]) -> list[tuple[str, str, str]]:
    """Return case, kind and text of the values of the proof that are not on the screen."""
    folder, logs = case
    analysis = _read(ReadCase(folder.name, logs))
    if analysis.diagnosis().verdict not in WITH_CAUSE:
        return []
    lead = analysis.observed().reasoner.leading()[0]
    return [(folder.name, *value) for value in _missing(_block(lead), _screen_of(analysis))]


def _missing(block: Sequence[str], screen: str) -> Iterator[tuple[str, str]]:
    squeezed = re.sub(r"\s+", "", screen)
    yield from ((kind, value) for kind, value in values_of(block) if re.sub(r"\s+", "", value) not in squeezed)


def report(proofs: Sequence[tuple[str, list[str], list[str]]], screens: dict[str, str]) -> None:
    total, told, denials, failed = Counter[str](), Counter[str](), 0, 0
    for case, block, near in proofs:
        screen = screens.get(case, "")
        failed += bool(block)
        missing = {*_missing(block, screen)}
        for kind, value in values_of(block):
            total[kind] += 1
            told[kind] += (kind, value) not in missing
        for kind, value in sorted(missing):
            print(f"missing\t{case}\t{kind}\t{value}")
        for sort, pattern in DENIALS.items() if block else ():
            if pattern.search(re.sub(r"\s+", " ", screen)) and any(map(DENIED[sort].search, near)):
                denials += 1
                print(f"denied\t{case}\t{sort}")
    for kind in VALUES:
        print(f"{kind}\t{told[kind]} of {total[kind]}")
    print(
        f"all\t{told.total()} of {total.total()} values ({told.total() / max(1, total.total()):.1%}) in {failed} cases"
    )
    print(f"denials beside what they deny\t{denials}")


def values_of(block: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield kind and text of the first values of a block, each once."""
    found: dict[str, str] = {}
    above = ""
    for text in block:
        is_code = 'File "' in above and re.search(r'File "[^"]+", line', above)
        if not is_code and not FRAME.search(text) and not BOILERPLATE.search(text):
            for kind, pattern in VALUES.items():
                for match in pattern.finditer(text):
                    value = next(group for group in match.groups() if group)
                    if not value.endswith(SOURCES):
                        found.setdefault(value, kind)
        above = text
    yield from ((kind, value) for value, kind in [*found.items()][:MOST])


if __name__ == "__main__":
    import told_values  # the functions of the pool are pickled under this name

    told_values.main()
