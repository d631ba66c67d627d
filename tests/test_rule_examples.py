"""Every example and near-miss of every rule is diagnosed as it says, with all rules loaded."""

from __future__ import annotations

import pytest
from rule_texts import BOOK

from logdoctor.authoring.rule_check import check_rule


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_the_examples_of_a_rule_come_out_as_they_say(rule, knowledge):
    failed = [f"{f.where}: {f.kind} should be {f.wanted}, got {f.got}" for f in check_rule(rule, BOOK, knowledge)]
    assert failed == []


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_the_words_of_a_rule_have_no_hole_on_its_own_examples(rule, knowledge):
    from logdoctor.authoring.rule_check import diagnose_text

    for example in rule.examples:
        for cause in diagnose_text(example.log, knowledge).causes[:1]:
            assert "{" not in cause.title + cause.summary, example.line
