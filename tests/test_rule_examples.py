"""Every example and near-miss of every rule, diagnosed with all rules loaded."""

from __future__ import annotations

import pytest
from rule_texts import BOOK

from logdoctor.authoring.rule_check import check_rule


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_examples_of_a_rule_give_the_expected_signature_and_fill_its_words(rule, knowledge):
    failed = [f"{f.where}: {f.kind} should be {f.expected}, got {f.actual}" for f in check_rule(rule, BOOK, knowledge)]
    assert failed == []
