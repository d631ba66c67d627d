"""One test for each demand: what an answer may claim, what it must put together, and whom it may name."""

from __future__ import annotations

import io

from logdoctor import diagnose


def read(log, **options):
    return diagnose(io.BytesIO(log.encode()), **options)


def top(log, **options):
    return read(log, **options).causes[0]


def proof(log, **options):
    return top(log, **options).evidence[0].line.text


# ── nothing more than is proved ─────────────────────────────────────────────────────────────────────────────────────


def test_sigkill_alone_names_no_sender_and_asks_for_the_kernel_log():
    cause = top("[rank0]: step 10 loss 2.2\nRank 3 crashed with exit code -9.\n")
    assert cause.title == "Rank 3 was killed (SIGKILL)"
    assert cause.confidence < 0.8
    assert any("dmesg" in step.text for step in cause.steps)


def test_exit_of_a_numbered_process_does_not_name_the_only_rank_that_is_heard():
    assert top("[rank0]: step 10 loss 2.2\nProcess 3 exited with status -9\n").culprit.ranks == ()


def test_sigbus_alone_is_not_a_full_shared_memory():
    cause = top("[rank2] step 40 loss 2.1\nbash: line 1: 4411 Bus error               (core dumped) python train.py\n")
    assert "/dev/shm is full" not in cause.title
    assert [any(word in step.text for step in cause.steps) for word in ("df -h /dev/shm", "ls -l", "memory failure")]


def test_loader_worker_that_was_killed_is_not_out_of_memory():
    cause = top("RuntimeError: DataLoader worker (pid 8123) is killed by signal: Killed.\n")
    assert cause.title == "A data-loading worker was killed (SIGKILL)"


def test_oom_killer_in_the_log_is_named():
    log = (
        "[Wed Apr  9 03:15:22 2025] Memory cgroup out of memory: Killed process 8123 (python) total-vm:91532404kB, "
        "anon-rss:60211300kB, file-rss:0kB\nRuntimeError: DataLoader worker (pid 8123) is killed by signal: Killed.\n"
    )
    assert top(log).title.startswith("Memory ran out")


def test_line_of_slurmstepd_belongs_to_no_rank():
    cause = top(
        "0: step 10 loss 2.2\n1: step 10 loss 2.2\n"
        "1: slurmstepd: error: *** STEP 4711.0 ON node-a CANCELLED AT 2026-03-01T10:10:04 DUE TO TIME LIMIT ***\n"
    )
    assert cause.culprit.ranks == ()


def test_crash_in_a_library_without_symbols_is_told_in_no_part_of_it():
    log = "[Tue May  6 01:10:44 2025] python3[77]: segfault at 18 ip 00007fd2 sp 00007fd1 error 4 in libnccl.so.2.21.5[7fd2+f2]\n"
    cause = top(log)
    assert not any(word in cause.summary for word in ("outside", "RAS", "inside the"))


# ── last words ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_last_plain_line_that_gives_up_is_quoted_and_not_healthy():
    cause = top(
        " iteration 1 residual 0.31\n iteration 2 residual 0.22\n catastrophic breakdown of the flux, giving up\n"
    )
    assert "catastrophic breakdown of the flux, giving up" in cause.summary
    assert cause.confidence < 0.8


def test_message_of_the_program_beats_a_reset_connection_after_mpi_abort():
    log = (
        "rank 2: the table has 5 entries, but the mesh asks for entry 9. Stopping.\n"
        "MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 12.\n\n"
        "[node-b:04411] [[10021,0],1]-[[10021,0],0] mca_oob_tcp_msg_recv: readv failed: Connection reset by peer (104)\n"
    )
    cause = top(log)
    assert (cause.signature, cause.culprit.ranks) == ("mpi.abort", (2,))
    assert cause.evidence[0].line.number == 1
    assert "the table has 5 entries" in cause.summary


def test_last_words_before_a_reported_exit_are_the_answer():
    cause = top(
        "iteration 40 residual 0.31\nprocess 2: the pressure in cell 811 is negative, cannot go on\n"
        "srun: error: node-a: task 2: Exited with exit code 3\n"
    )
    assert "the pressure in cell 811 is negative" in cause.summary
    assert cause.culprit.ranks == (2,)


def test_complaint_that_the_program_got_over_is_no_last_word():
    diagnosis = read(
        "iteration 1 residual 0.3\nsolver broke down, restarted\niteration 2 residual 0.2\niteration 3 residual 0.1\n"
    )
    assert not diagnosis.causes


# ── what is put together ────────────────────────────────────────────────────────────────────────────────────────────


def test_hung_job_names_the_rank_one_step_behind():
    log = "".join(f"[rank{rank}] step {step}/20000 loss 2.0\n" for step in (84, 85, 86) for rank in range(4))
    log += "".join(f"[rank{rank}] step 87/20000 loss 2.0\n" for rank in (0, 1, 3))
    assert [suspect.rank for suspect in read(log, hung=True).suspects] == [2]
    assert not read(log).suspects


def test_ranks_with_one_bus_id_in_one_communicator_share_a_gpu():
    line = (
        "gq1:{pid}:{pid} [0] NCCL INFO ncclCommInitRank comm 0x5{rank} rank {rank} nranks 2 cudaDev 0 nvmlDev 0 "
        "busId {bus} commId 0xbead - Init START\n"
    )
    same = line.format(pid=41, rank=0, bus="5000") + line.format(pid=42, rank=1, bus="5000")
    apart = line.format(pid=41, rank=0, bus="5000") + line.format(pid=42, rank=1, bus="6000")
    assert (top(same).signature, top(same).culprit.hosts) == ("nccl.duplicate-gpu", ("gq1",))
    assert not read(apart).causes


def test_port_asked_for_is_compared_with_the_port_listened_on():
    log = (
        "[I socket.cpp:566] [c10d] The server socket has started to listen on [::]:29500.\n"
        "[rank3]:[E socket.cpp:957] [c10d] The client socket has timed out after 300s while trying to connect to "
        "(tr1, {port}).\n"
    )
    assert top(log.format(port=29507)).signature == "rdzv.config"
    assert "29507" in top(log.format(port=29507)).title
    assert top(log.format(port=29500)).signature == "rdzv.timeout"


def test_hosts_on_two_subnets_are_named():
    log = (
        "gq1:41:41 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.4<0>\n"
        "gq2:51:51 [0] NCCL INFO Bootstrap : Using eth1:{peer}<0>\n"
        "gq1:41:52 [0] misc/socket.cc:441 NCCL WARN socketStartConnect: Connect to {peer}<43211> failed : No route to host\n"
    )
    assert top(log.format(peer="192.168.3.5")).signature == "net.wrong-interface"
    assert top(log.format(peer="10.1.0.5")).signature == "net.socket-connect"


def test_name_that_resolves_to_loopback_is_named():
    log = "[rank1]: RuntimeError: connect() to [127.0.1.1]:29500 failed: Connection refused\n"
    assert top(log).signature == "net.wrong-interface"


def test_rank_that_is_not_in_the_launchers_list_is_the_one_waited_for():
    entry = (
        "[{n}]:\n  time      : 2025-05-07_08:14:03\n  host      : gx03\n  rank      : {rank} (local_rank: {local})\n"
        "  exitcode  : -6 (pid: 9021{rank})\n  error_file: <N/A>\n"
        "  traceback : Signal 6 (SIGABRT) received by PID 9021{rank}\n"
    )
    log = (
        "INFO:torch.distributed.launcher.api:Starting elastic_operator with launch configs:\n"
        "  entrypoint       : tune.py\n  min_nodes        : 2\n  max_nodes        : 2\n  nproc_per_node   : 4\n"
        "[rank4]:[E311 08:14:02.118230411 ProcessGroupNCCL.cpp:629] [Rank 4] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=40, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600031 "
        "milliseconds before timing out.\n"
        f"{'=' * 60}\ntune.py FAILED\n{'-' * 60}\nFailures:\n"
        + entry.format(n=1, rank=5, local=1)
        + entry.format(n=2, rank=7, local=3)
        + f"{'-' * 60}\nRoot Cause (first observed failure):\n"
        + entry.format(n=0, rank=4, local=0)
        + "=" * 60
        + "\n"
    )
    assert top(log).culprit.ranks == (6,)


def test_ranks_that_name_two_sizes_of_the_job_are_told():
    log = (
        "rank 0 of 4 on tr1, pid 411\nrank 1 of 4 on tr1, pid 412\nrank 2 of 8 on tr2, pid 511\n"
        "ERROR: timed out waiting for the other ranks\n"
    )
    assert (top(log).signature, top(log).culprit.ranks) == ("rdzv.config", (2,))


def test_save_that_one_rank_began_alone_is_what_the_others_waited_for():
    steps = "".join(f"[rank{rank}]: step {step} loss: 2.3\n" for step in (10, 20) for rank in (0, 1))
    timeout = (
        "[rank1]:[E507 08:14:02.118230411 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=9, OpType=ALLGATHER, NumelIn=3, NumelOut=3, Timeout(ms)=600000) ran for 600031 "
        "milliseconds before timing out.\n"
    )
    cause = top(steps + "[rank0]: Saving model checkpoint to /scratch/run7/step-20\n" + timeout)
    assert (cause.signature, cause.culprit.ranks) == ("collective.straggler", (0,))


def test_impossible_size_is_no_lack_of_memory():
    log = (
        "[rank2]: RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate "
        "memory: you tried to allocate {size} bytes. Error code 12 (Cannot allocate memory)\n"
    )
    assert "(overflow)" in top(log.format(size=18446744071562067968)).title
    assert top(log.format(size=1207959552)).signature == "host.oom-kill"


def test_roll_call_in_the_programs_own_words_gives_host_and_rank():
    log = "".join(f"I am {rank} of 4 on node-{'ab'[rank // 2]}, pid {4400 + rank}\n" for rank in range(4))
    log += "node-b:4403:4410 [1] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer node-a<43012>\n"
    job = read(log).job
    assert (job.ranks_expected, job.hosts) == (4, ("node-a", "node-b"))


def test_newest_event_of_kubernetes_decides_and_not_the_loudest():
    log = (
        "Events:\n  Type     Reason       Age    From      Message\n  ----     ------       ----   ----      -------\n"
        '  Warning  Failed       55m    kubelet   Failed to pull image "reg.example.org/t:v9": rpc error: code = Unknown\n'
        '  Normal   Pulled       50m    kubelet   Successfully pulled image "reg.example.org/t:v9" in 4m\n'
        '  Warning  FailedMount  3m     kubelet   MountVolume.SetUp failed for volume "data" : mount failed\n'
    )
    assert "FailedMount" in proof(log)


def test_inner_reason_of_a_wrapper_is_the_answer():
    log = (
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.11/site-packages/ray/_private/worker.py", line 2772, in get\n'
        "    raise value.as_instanceof_cause()\n"
        "ray.exceptions.RayTaskError(ZeroDivisionError): ray::Worker.step() (pid=4411, ip=10.1.0.4)\n"
        '  File "/home/mia/worker.py", line 31, in step\n    share = total / count\n'
        "ZeroDivisionError: division by zero\n"
    )
    assert "ZeroDivisionError: division by zero" in top(log).title


# ── an answer, not "unknown" ────────────────────────────────────────────────────────────────────────────────────────


def test_errno_with_a_path_is_an_answer():
    cause = top("reading /data/wing.msh\nerror reading /data/wing.msh: errno 116 (Stale file handle)\n")
    assert cause.signature == "host.filesystem"


def test_reset_that_a_driver_requires_is_an_answer():
    assert top("step 100 loss 2.1\nnvidia-smi: GPU 00000000:3B:00.0: reset required\n").signature == "cuda.fell-off-bus"


def test_processes_that_all_believe_to_be_the_only_rank_are_told():
    cause = top("".join(f"Hello from rank 0 of 1 on node-{host}\n" for host in "aabb"))
    assert (cause.signature, cause.culprit.ranks) == ("mpi.singletons", ())


def test_warning_in_the_teardown_of_nccl_proxy_is_no_failure():
    log = (
        "step 1/3 loss 2.1\nstep 2/3 loss 2.0\nstep 3/3 loss 1.9\n"
        "node-a:41:90 [0] NCCL INFO [Service thread] Connection closed by localRank 0\n"
        "node-a:41:90 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 5000 - Abort COMPLETE\n"
        "node-a:41:90 [0] proxy.cc:1500 NCCL WARN [Service thread] Accept failed Resource temporarily unavailable\n"
        "Training finished.\n"
    )
    assert not read(log).causes


# ── the proof is the reason line ────────────────────────────────────────────────────────────────────────────────────


def test_proof_is_the_innermost_reason_with_its_value_and_not_the_headline():
    log = (
        "Abort(738871810) on node 2 (rank 2 in comm 0): Fatal error in internal_Send: Invalid count, error stack:\n"
        "internal_Send(120): MPI_Send(buf=0x55561bf5e540, count=-7, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD) failed\n"
        "internal_Send(61).: Negative count, value is -7\n"
    )
    assert proof(log) == "internal_Send(61).: Negative count, value is -7"


def test_proof_that_ends_with_a_colon_is_joined_with_the_name_below():
    log = (
        "--------------------------------------------------------------------------\n"
        "Open RTE was unable to open the hostfile:\n    /etc/mpi/other-machines\n"
        "Check to make sure the path and filename are correct.\n"
        "--------------------------------------------------------------------------\n"
    )
    assert proof(log) == "Open RTE was unable to open the hostfile: /etc/mpi/other-machines"


def test_proof_of_a_launchers_block_is_the_signal_and_not_the_exit_code():
    log = (
        "============================================================\ntrain.py FAILED\n"
        "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
        "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-03-01_10:00:05\n  host      : node-a\n  rank      : 3 (local_rank: 3)\n"
        "  exitcode  : -9 (pid: 4107)\n  error_file: <N/A>\n"
        "  traceback : Signal 9 (SIGKILL) received by PID 4107\n"
        "============================================================\n"
    )
    assert "Signal 9 (SIGKILL)" in proof(log)


# ── what to collect next ────────────────────────────────────────────────────────────────────────────────────────────


def test_next_data_does_not_ask_for_a_kernel_log_that_was_given():
    log = "NCCL version 2.21.5+cuda12.4\nERROR: something broke in the third stage\n"
    kernel = "[Wed Apr  9 03:15:22 2025] mlx5_core 0000:5e:00.0: Port module event: module 0, Cable plugged\n"
    assert any("dmesg" in line for line in read(log).decision.collect)
    assert not any("dmesg" in line for line in read(kernel + log).decision.collect)


def test_next_data_does_not_ask_for_nccl_debug_that_is_on():
    log = "NCCL version 2.21.5+cuda12.4\nERROR: something broke in the third stage\n"
    info = "node-a:41:41 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.4<0>\n"
    assert any("NCCL_DEBUG=INFO" in line for line in read(log).decision.collect)
    assert not any("NCCL_DEBUG=INFO" in line for line in read(info + log).decision.collect)
