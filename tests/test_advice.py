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


def test_where_the_order_is_not_told_the_process_that_its_launcher_noticed_first_is_the_one_to_read():
    log = """\
Traceback (most recent call last):
  File "/srv/fit.py", line 31, in <module>
    mp.spawn(worker, nprocs=4)
  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 200, in join
    raise ProcessExitedException(
torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with exit code 3
"""
    assert advice(log)[0] == "Begin with the output of rank 2: it is the first whose end its launcher noticed."


def test_where_no_end_is_told_the_rank_that_shows_the_first_failure_is_the_one_to_read():
    log = """\
[rank7]: Traceback (most recent call last):
[rank7]:   File "/srv/fit.py", line 31, in <module>
[rank7]:     main()
[rank7]:   File "/srv/fit.py", line 12, in main
[rank7]:     outputs = model(batch)
"""
    assert advice(log)[0] == "Begin with the output of rank 7: the first failure that these logs show is its own."


def test_the_picture_of_the_job_tells_which_process_ended_first():
    died = diagnose(io.BytesIO(ENTRY.encode())).picture.first_death
    assert (died.rank, died.host, died.why) == (8, "ice-08", "exit code 1")
