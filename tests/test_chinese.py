"""Chinese texts after values are filled in."""

from __future__ import annotations

import re

import pytest
from failing_job import diagnose_log
from rule_texts import BOOK

from logdoctor.model.chinese import space_chinese
from logdoctor.reasoning.findings.wording import fill
from logdoctor.render.catalogue import catalogue


@pytest.mark.parametrize(
    ("text", "spaced"),
    [
        ("rank3的第7步", "rank3 的第 7 步"),
        ("node01  上的 rank 3", "node01 上的 rank 3"),
        ("node01 上的 一个进程", "node01 上的一个进程"),
        ("耗尽 ： 进程 9 （ pid 4 ） ，rank 3", "耗尽：进程 9（pid 4），rank 3"),
        ("无法写入 /data/训练集1/a.pt，空间不足", "无法写入 /data/训练集1/a.pt，空间不足"),
        (
            "执行 `grep 错误1 日志` ，再看 https://example.org/第1页",
            "执行 `grep 错误1 日志`，再看 https://example.org/第1页",
        ),
        ("在 ./数据1 与 ~/数据2 中", "在 ./数据1 与 ~/数据2 中"),
        ("CPU/GPU内存", "CPU/GPU 内存"),
        ("Rank 3 : two  words", "Rank 3 : two  words"),
    ],
)
def test_spaces_are_one_beside_latin_and_none_beside_han_and_wide_punctuation(text, spaced):
    assert space_chinese(text) == spaced
    assert space_chinese(spaced) == spaced


def test_words_of_a_rule_are_spaced_after_filling():
    assert fill("{host}上的 {rank?rank {rank}|一个进程}被杀死", {"host": "node01"}) == "node01 上的一个进程被杀死"
    assert fill("{path}  已满", {"path": "/data"}) == "/data 已满"


def test_messages_of_a_catalogue_are_spaced_after_filling():
    assert catalogue("zh")("hosts.many", n="3") == "3 台主机"
    assert catalogue("zh")("named", title="内存耗尽 ", who="rank 3") == "内存耗尽（rank 3）"


DERIVED = (
    "collective.desync",
    "collective.straggler-enqueue",
    "collective.straggler-stalled",
    "app.hang-ended",
    "job.time-limit-still",
)
"""Rules whose values are concluded from many lines."""
ENGLISH = re.compile(r"[A-Za-z]{2,} [a-z]{2,}|\d (?:h|min|s)\b")


@pytest.mark.parametrize(
    "log", [example.log for rule in BOOK.rules if rule.id in DERIVED for example in rule.examples], ids=lambda _: ""
)
def test_what_is_concluded_from_many_lines_holds_no_english(log, knowledge):
    cause = diagnose_log(log, knowledge, lang="zh").causes[0]
    assert ENGLISH.findall(f"{cause.title}\n{cause.summary}") == []
