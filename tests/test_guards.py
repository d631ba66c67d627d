"""Values that cannot be: no sentence tells them, and nothing breaks."""

from __future__ import annotations

import io
import re

import pytest

import logdoctor
from logdoctor.model import Diagnosis
from logdoctor.reasoning.findings.values import POSSIBLE
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import load, read

UNTRUE = re.compile(
    r"\b(?:GPU|[Rr]ank|port|pid) -\d|\bexit(?:ed with)? code 0\b|\bsignal 0\b|\bport 0\b|\bexit code -0\b"
)
NUMBER = re.compile(r"(?<![\w.:-])\d{1,4}(?![\w.:-])")
EXAMPLES = [(rule.id, rule.examples[0].log) for rule in load([shipped_rules()]).rules if rule.examples]


def diagnose(log: str) -> Diagnosis:
    return logdoctor.diagnose(io.BytesIO(log.encode()), lang="en")


@pytest.mark.parametrize("value", ["0", "-1", "70001", ""])
@pytest.mark.parametrize("part", range(4))
def test_impossible_number_is_never_told(part, value):
    for rule, log in EXAMPLES[part::40]:
        changed = NUMBER.sub(value, log)
        for cause in diagnose(changed).causes:
            told = UNTRUE.search(f"{cause.title} {cause.summary}")
            assert not told, f"{rule}: {cause.title}"


@pytest.mark.parametrize("name", ["None", "null", "${MASTER_ADDR}"])
def test_unset_variable_is_told_as_such(name):
    answer = diagnose(f"ssh: Could not resolve hostname {name}: Name or service not known\n").answer
    assert answer is not None
    assert answer.rule == "net.dns-unset-name"
    assert name in answer.title


def test_numbers_that_may_be_told_hold_no_sign_and_no_zero_but_for_ranks_and_devices():
    assert all(-1 not in numbers for numbers in POSSIBLE.values())
    assert {name for name, numbers in POSSIBLE.items() if 0 in numbers} == {
        *"rank local_rank peer_rank gpu device".split()
    }


def test_faulty_guard_is_a_fault_of_its_rule(tmp_path):
    text = (shipped_rules() / "net/dns/dns-unset-name.yaml").read_text("utf-8")
    (tmp_path / "net").mkdir()
    (tmp_path / "net/own.yaml").write_text(f"{text}guards: {{unset: '('}}\n", "utf-8")
    assert any("own.yaml" in fault.where for fault in read([tmp_path]).faults)
