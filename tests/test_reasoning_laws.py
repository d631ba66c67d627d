"""Laws of the reasoning: what it may look at, and what its answers keep to however a log is cut or continued."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from failing_job import diagnose_log
from rule_texts import BOOK

from logdoctor import reasoning
from logdoctor.logs import parse_text
from logdoctor.pipeline.diagnosis import Analysis, JobReader, make_job
from logdoctor.reasoning.lifecycle.seen_end import find_good_end

ROOM = Path(reasoning.__file__).parent
SUBJECTS = ("kind", "format", "signature")
COMPARED = {
    "__init__.py": 1,
    "causality/confidence.py": 1,
    "causality/claims.py": 1,
    "causality/lives.py": 2,
    "findings/who.py": 1,
    "identity/addresses.py": 2,
    "identity/communicators.py": 1,
    "lifecycle/attempts.py": 1,
    "lifecycle/refutation.py": 1,
    "lifecycle/spans.py": 2,
    "processes.py": 6,
    "questions/ends.py": 2,
    "verdict/decision.py": 1,
    "verdict/rank_table.py": 4,
}
"""Comparisons of a kind, a format or a signature with a literal.  The numbers may only fall."""
SEARCHED = {
    "identity/addresses.py": 3,
    "lifecycle/attempts.py": 1,
    "lifecycle/scope.py": 1,
    "lifecycle/refutation.py": 2,
    "lifecycle/spans.py": 1,
    "processes.py": 1,
    "questions/__init__.py": 1,
    "questions/collectives.py": 6,
    "questions/comparisons.py": 4,
    "questions/ends.py": 1,
    "questions/links.py": 3,
    "questions/progress.py": 1,
    "questions/stacks.py": 12,
    "questions/wait_exceptions.py": 3,
    "questions/waiting.py": 1,
    "steps.py": 2,
    "verdict/next_data.py": 1,
}
"""Regular expressions outside of `findings`.  The numbers may only fall."""


def is_literal(node: ast.expr) -> bool:
    """Return whether a node is a text, a tuple or set of texts, or the name of a constant."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.Name):
        return node.id.strip("_").isupper()
    return isinstance(node, ast.Tuple | ast.Set | ast.List) and all(map(is_literal, node.elts))


def comparisons(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        if any(isinstance(s, ast.Attribute) and s.attr in SUBJECTS for s in sides) and any(map(is_literal, sides)):
            yield ast.unparse(node)


def regexes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("later", "compiled"):
            yield ast.unparse(node)


def counted(find) -> Counter[str]:
    trees = {path.relative_to(ROOM).as_posix(): ast.parse(path.read_text("utf-8")) for path in ROOM.rglob("*.py")}
    return Counter({name: found for name, tree in trees.items() if (found := len([*find(tree)]))})


def test_reasoning_compares_no_kind_format_or_signature_with_a_literal():
    assert counted(comparisons) - Counter(COMPARED) == Counter()


def test_reasoning_searches_no_text_but_in_symptoms():
    found = counted(regexes)
    assert Counter({n: k for n, k in found.items() if not n.startswith("findings/")}) - Counter(SEARCHED) == Counter()


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

CORPUS = Path(__file__).parent.parent / "corpus"
CASES = sorted(path.parent for path in CORPUS.glob("*/case.yaml"))
HEALTHY = [case for case in CASES if "label: healthy" in (case / "case.yaml").read_text("utf-8")]


def logs_of(case: Path) -> list[str]:
    return sorted(str(path) for path in case.rglob("*") if path.suffix in (".log", ".txt", ".out", ".err"))


def test_there_are_cases():
    assert len(CASES) > 500
    assert len(HEALTHY) > 30


@pytest.mark.parametrize("case", CASES[::9], ids=lambda case: case.name)
def test_answer_asked_after_every_tenth_is_the_answer_asked_once(case, knowledge):
    """The records are read in ten parts, and the diagnosis is asked after each."""
    once = Analysis(JobReader(make_job(logs_of(case), "job"), knowledge))
    once.read_all()
    often = Analysis(JobReader(make_job(logs_of(case), "job"), knowledge))
    part = max(1, once.reader.coverage.records // 10)
    read = often.reader.read

    def asking(stream):
        for number, record in enumerate(read(stream)):
            yield record
            if number % part == 0:
                often.diagnosis()

    often.reader.read = asking
    often.read_all()
    assert often.diagnosis().to_dict() == once.diagnosis().to_dict() == once.diagnosis().to_dict()


PROSE = "The mill by the river was built in 1852 and burnt down twice.\n"


@pytest.mark.parametrize("log", ["", PROSE], ids=["empty", "prose"])
def test_what_is_no_log_shows_no_end(log, tmp_path, knowledge):
    (tmp_path / "job.log").write_text(log)
    analysis = Analysis(JobReader(make_job([str(tmp_path / "job.log")]), knowledge))
    analysis.read_all()
    state = analysis.observed().reasoner.state
    assert find_good_end(state, lambda _: True) is None
    assert not state.lives.any_failed


CUT_AT_AN_ALARM = {
    ("healthy-slow-rendezvous", 0.5),
    ("healthy-caught-exceptions", 0.5),
    ("restarts-then-success", 0.5),
    ("healthy-connect-retries-then-trains", 0.5),
    ("healthy-elastic-restart-recovers", 0.5),
}
"""Half of these logs ends between an alarm and what refutes it."""


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("case", HEALTHY[::3], ids=lambda case: case.name)
def test_healthy_log_that_is_cut_is_no_failure(case, share, tmp_path, knowledge):
    if (case.name, share) in CUT_AT_AN_ALARM:
        pytest.skip("cut at an alarm")
    logs = [Path(log) for log in logs_of(case)]
    for log in logs:
        lines = log.read_bytes().splitlines(keepends=True)
        (tmp_path / log.name).write_bytes(b"".join(lines[: int(len(lines) * share)]) or b"\n")
    analysis = Analysis(JobReader(make_job([str(tmp_path / log.name) for log in logs]), knowledge))
    analysis.read_all()
    assert analysis.diagnosis().verdict != "failed"


OUTLIVED = {"never", "by a good end"}
WORK = "".join(f"step {n}/900 loss: 2.3{n % 10}\n" for n in range(400, 406))


def is_alarm(log: str) -> bool:
    return "\n" not in log.strip() and not any(record.is_last_word for record in parse_text(log))


def alarms() -> list[tuple[str, str]]:
    """Return the first example of each rule that may be refuted, if it is one line and no last word.

    After the last word on a job, work is that of the next job.
    """
    rules = [rule for rule in BOOK.rules if rule.role in ("cause", "symptom") and rule.outlived not in OUTLIVED]
    return [(r.id, r.examples[0].log) for r in rules if r.examples and is_alarm(r.examples[0].log)]


@pytest.mark.parametrize(
    ("rule", "log"), alarms(), ids=lambda text: text if "\n" not in text and len(text) < 60 else ""
)
def test_alarm_before_more_work_is_no_failure(rule, log, knowledge):
    assert diagnose_log(WORK + log.rstrip("\n") + "\n" + WORK, knowledge).verdict != "failed", rule


def test_clean_end_after_an_alarm_is_no_failure(knowledge):
    alarm = (
        "node-b:812:944 [0] misc/socket.cc:550 NCCL WARN socketProgress: Connection closed by remote peer node-a<41>\n"
    )
    assert diagnose_log(WORK + alarm, knowledge).verdict == "failed"
    assert diagnose_log(WORK + alarm + "Training completed.\n", knowledge).verdict == "finished"
