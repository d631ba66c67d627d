"""``logdoctor collect``: commands that gather what would decide."""

from __future__ import annotations

import pytest
from command_line import call

HANG = """\
SLURM_JOB_ID=4711
node03:8800:8800 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 3b000 - Init COMPLETE
node04:8900:8900 [0] NCCL INFO comm 0x6 rank 1 nranks 2 cudaDev 0 busId 3b000 - Init COMPLETE
step 1/900 loss 2.1
step 2/900 loss 2.0
"""
DECIDED = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nKeyError: 'lr'\n"


def commands(text: str, *options: str) -> list[str]:
    printed = call("collect", *options, stdin=text).stdout
    return [line for line in printed.splitlines() if not line.startswith("#")]


def test_of_a_hang_the_stacks_are_asked_first():
    assert "py-spy dump" in commands(HANG, "--hung")[0]


def test_each_host_and_the_job_are_asked_by_name():
    text = "\n".join(commands(HANG, "--hung"))
    for word in ("ssh node03 dmesg", "ssh node04 dmesg", "sacct -j 4711 --json", "ncclras -f json"):
        assert word in text


def test_what_is_given_is_not_asked_again():
    kernel = "[Sat Mar 14 10:40:58 2026] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.86.10\n"
    xid = "[Sat Mar 14 10:40:58 2026] NVRM: Xid (PCI:0000:4f:00): 43, pid=6021, name=python3, Ch 00000010\n"
    assert not any("dmesg" in line for line in commands(HANG + kernel + xid, "--hung"))


@pytest.mark.parametrize("text", [DECIDED, "step 1/3 loss 1\nstep 2/3 loss 1\nstep 3/3 loss 1\nTraining finished\n"])
def test_nothing_is_asked_where_the_logs_decide(text):
    assert commands(text) == []


@pytest.mark.parametrize("name", ["a;reboot", "$(reboot)", "-oProxyCommand=reboot", "3f9b2c7d1e40"])
def test_no_other_name_gets_into_a_command(name):
    for line in commands(HANG.replace("node03", name), "--hung"):
        assert name not in line
