from __future__ import annotations

import pytest

from logdoctor.logs.line_parser import parse_text


@pytest.mark.parametrize(
    "line",
    [
        "ops@node-07 ~ % nvidia-smi",
        "[ops@node-07 logs]$ sudo dmesg | tail",
        "root@node-07:/opt# ibstat mlx5_0",
        "[root@node-07 ~]# ibstatus",
        "ops@node-07:~$ sudo modprobe amdgpu",
        "(torch) ops@node-07:~$ rocminfo",
    ],
)
def test_prompt_before_a_local_tool_gives_the_host(line):
    (record,) = [e for e in parse_text(line) if e.kind == "shell.prompt"]
    assert record.host == "node-07"


def test_a_launcher_typed_on_a_login_node_names_no_host_of_the_job():
    assert [e for e in parse_text("ops@login1:~$ srun -N4 train.sh") if e.kind == "shell.prompt"] == []


def test_node_in_a_broken_line_of_ray_is_read():
    (record,) = [e for e in parse_text("(ID: 77aa, IP: 10.4.0.9) over the last time period.") if e.format == "ray"]
    assert record.host == "10.4.0.9"


def test_prefix_of_milabench_has_the_node():
    (record,) = parse_text("llm.node-3 [stderr] [rank1]: ValueError: no such token")
    assert (record.rank, record.host) == (1, "node-3")


def test_a_number_behind_a_benchmark_of_milabench_is_no_host():
    (record,) = parse_text("llm-7b.0 [stderr] ValueError: no such token")
    assert (record.host, record.fields["exception"]) == (None, "ValueError")
