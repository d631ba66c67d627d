"""Lines that healthy logs are full of do not cost what an answer costs."""

from __future__ import annotations

from collections import Counter

import pytest

from logdoctor.pipeline.diagnosis import JobReader, make_job
from logdoctor.pipeline.knowledge import gather, rule_folders

STEP = "[rank0]: 2031-02-03 04:05:06,957 - INFO - trainer.py:412 - step {n}/500000 | loss 2.6982 | lm_loss 2.9081\n"


@pytest.fixture(scope="module")
def knowledge():
    return gather(rule_folders())


def kinds(text, tmp_path, knowledge):
    log = tmp_path / "job.log"
    log.write_text(text)
    return Counter(record.kind for record in JobReader(make_job(log), knowledge))


def test_finished_save_is_no_end_that_shows_all_steps_again(tmp_path, knowledge):
    saved = "[rank0]: 2031-02-03 04:05:06 INFO checkpoint saver: async save of step {n} finished, 0 failures\n"
    found = kinds("".join((STEP + saved).format(n=n) for n in range(1000)), tmp_path, knowledge)
    assert found["progress.finished"] == 0
    assert found["progress.step"] < 200


def test_line_whose_level_no_symptom_takes_gives_few_records(tmp_path, knowledge):
    line = "[rank22]: 2031-02-03 04:05:06 INFO health check ok, last heartbeat {n} ms ago, no timeout\n"
    found = kinds("".join(line.format(n=n) for n in range(1000)), tmp_path, knowledge)
    assert found["text.line"] == 64


def test_warning_among_lines_of_no_level_that_a_symptom_takes_is_a_record(tmp_path, knowledge):
    line = "[rank22]: 2031-02-03 04:05:06 INFO health check ok, no timeout\n"
    found = kinds(line * 1000 + "[rank1]: 2031-02-03 04:05:07 WARNING the store: timeout\n", tmp_path, knowledge)
    assert found["text.line"] == 65
