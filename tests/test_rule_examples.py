"""Every example and near-miss of every rule, diagnosed with all rules loaded."""

from __future__ import annotations

import re

import pytest
from rule_texts import BOOK

from logdoctor.authoring.rule_check import check_rule, diagnose_text


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_examples_of_a_rule_give_the_expected_signature(rule, knowledge):
    failed = [f"{f.where}: {f.kind} should be {f.expected}, got {f.actual}" for f in check_rule(rule, BOOK, knowledge)]
    assert failed == []


@pytest.mark.parametrize("rule", BOOK.rules, ids=lambda r: r.id)
def test_examples_of_a_rule_fill_all_placeholders_of_its_words(rule, knowledge):
    for example in rule.examples:
        for cause in diagnose_text(example.log, knowledge).causes[:1]:
            told = cause.title + cause.summary
            for braces in re.findall(r"\{[^{}]*\}", example.log):  # a value of the log may hold braces
                told = told.replace(braces, "")
            assert "{" not in told, example.line
