from __future__ import annotations

import io

from logdoctor import diagnose

ENTRY = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
fit.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2031-05-06_10:11:15
  host      : ice-08
  rank      : 9 (local_rank: 1)
  exitcode  : 1 (pid: 4412)
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2031-05-06_10:11:12
  host      : ice-08
  rank      : 8 (local_rank: 0)
  exitcode  : 1 (pid: 4411)
============================================================
"""


def advice(log, lang="en"):
    return diagnose(io.BytesIO(log.encode()), lang=lang).advice


def test_where_nothing_names_the_cause_the_process_that_ended_first_is_the_one_to_read():
    assert advice(ENTRY)[0].startswith("Begin with the output of rank 8 on ice-08:")
    assert advice(ENTRY, "zh")[0].startswith("先看 ice-08 上的 rank 8 ")


def test_nobody_is_named_where_the_log_does_not_tell_who_ended():
    assert not any("Begin with" in line for line in advice("ERROR: something broke in the third stage\n"))
