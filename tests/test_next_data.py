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
    return diagnose(io.BytesIO(log.encode()), lang=lang).decision.collect


def test_unknown_cause_advises_the_output_of_the_first_process_to_end():
    assert advice(ENTRY)[0].startswith("Read the output of rank 8 on ice-08.")
    assert advice(ENTRY, "zh")[0].startswith("查看 ice-08 上的 rank 8 的输出")


def test_log_without_an_ended_process_names_no_process():
    assert not any("Read the output" in line for line in advice("ERROR: something broke in the third stage\n"))


def test_unknown_order_advises_the_process_its_launcher_noticed_first():
    log = """\
Traceback (most recent call last):
  File "/srv/fit.py", line 31, in <module>
    mp.spawn(worker, nprocs=4)
  File "/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py", line 200, in join
    raise ProcessExitedException(
torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with exit code 3
"""
    assert advice(log)[0] == "Read the output of rank 2. The launcher noticed its end first."


def test_log_without_an_end_advises_the_rank_of_the_first_failure():
    log = """\
[rank7]: Traceback (most recent call last):
[rank7]:   File "/srv/fit.py", line 31, in <module>
[rank7]:     main()
[rank7]:   File "/srv/fit.py", line 12, in main
[rank7]:     outputs = model(batch)
"""
    assert advice(log)[0] == "Read the output of rank 7. The first failure here is its own."


def test_bare_error_of_nccl_advises_its_log_and_no_recorder():
    log = "NCCL error in: /build/NCCLUtils.hpp:317, unhandled system error, NCCL version 2.21.5\n"
    told = advice(log)
    assert ("NCCL_DEBUG=INFO" in told[0], "/dev/shm" in told[1]) == (True, True)
    assert not any("DUMP_ON_TIMEOUT" in t for t in told)


def test_job_state_holds_the_first_death():
    died = diagnose(io.BytesIO(ENTRY.encode())).job.first_death
    assert (died.rank, died.host, died.why) == (8, "ice-08", "exit code 1")


def test_job_id_in_the_names_of_all_files_is_used_if_no_line_tells_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slurm-4711.out").write_text("".join(f"step {n}/90 loss 1.0\n" for n in range(20)))
    decision = diagnose(["slurm-4711.out"]).decision
    assert decision.steps[0].commands == ("sacct -X -j 4711 -o JobID,State,ExitCode,End",)
    (tmp_path / "slurm-4712.out").write_text("step 1/90 loss 1.0\n")
    assert diagnose(["slurm-4711.out", "slurm-4712.out"]).job.id is None
