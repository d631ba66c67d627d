"""Processes: their names, ranks, hosts and seats, and whether two records are of one."""

from __future__ import annotations

import pytest
from handmade_records import make_record
from hypothesis import given
from hypothesis import strategies as st

from logdoctor.model import Line, Source
from logdoctor.reasoning.dispatch import Dispatch
from logdoctor.reasoning.processes import Processes, process_of


def record(kind, source_rank=None, host=None, source_pid=None, **fields):
    source = Source(rank=source_rank, host=host, pid=source_pid)
    return make_record(Line("job.log", 1, kind), kind, kind, source, "info", fields)


def placed(*records, expected=None):
    processes = Processes()
    processes.expected = expected
    observe = Dispatch(processes.readers)
    for record in records:
        observe(record)
    return processes


def seated(*records, expected=None):
    return placed(*records, expected=expected).seats()


def of_rank(rank, pid):
    return record("text.line", rank, "n1", pid)


def comm(host, pid, rank, nranks, **more):
    bus = f"0000:{16 + rank:02x}:00"
    return record(
        "nccl.comm_init", None, host, pid, group_rank=rank, nranks=nranks, cuda_dev=rank % 8, bus_id=bus, **more
    )


def test_line_about_another_rank_does_not_set_its_host():
    processes = placed(record("c10d.watchdog_timeout", 3, "n1", 71), record("text.line", 3, "n1", 71, rank=5))
    assert (processes.host_with(3), processes.host_with(5)) == ("n1", None)


def test_torchrun_agent_sets_the_host_of_its_ranks():
    assert seated(record("elastic.failure_entry", None, "n2", rank=9, pid=71))[9].host == "n2"


def test_communicator_of_the_whole_job_sets_host_pid_and_gpu():
    seat = seated(comm("n1", 71, 3, 16), expected=16)[3]
    assert (seat.host, seat.pid, seat.gpu, seat.bus_id) == ("n1", 71, 3, "0000:13:00")


def test_rank_in_a_part_of_the_job_is_not_the_global_rank():
    assert seated(comm("n1", 71, 1, 4), expected=16) == {}
    assert seated(comm("n1", 71, 1, 4), of_rank(9, 71), expected=16)[9].bus_id == "0000:11:00"


def test_one_process_with_two_gpus_holds_two_ranks():
    seats = seated(comm("n1", 71, 0, 2), comm("n1", 71, 1, 2))
    assert [seats[r].bus_id for r in (0, 1)] == ["0000:10:00", "0000:11:00"]


def test_layout_line_sets_nodes_and_ranks_per_node():
    layout = record("nccl.comm_layout", pid=5, group_rank=1, nranks=16, nnodes=2, local_ranks=8, group_local_rank=1)
    processes = placed(layout)
    assert (processes.communicators.nodes, processes.per_node) == (2, 8)


def test_torchrun_worker_list_sets_local_ranks():
    seats = seated(record("elastic.workers", host="n2", ranks=(8, 9), world_size=10))
    assert (seats[9].host, seats[9].local_rank) == ("n2", 1)


def test_rank_without_a_host_gets_the_host_of_its_neighbours():
    layout = record("nccl.comm_layout", pid=5, group_rank=0, nranks=4, nnodes=2, local_ranks=2)
    records = [record("nccl.env", rank, host) for rank, host in ((0, "n1"), (2, "n2"))]
    seats = seated(layout, *records)
    assert {rank: seat.host for rank, seat in seats.items()} == {0: "n1", 1: "n1", 2: "n2", 3: "n2"}


def test_round_robin_ranks_get_no_guessed_host():
    layout = record("nccl.comm_layout", pid=5, group_rank=0, nranks=6, nnodes=3, local_ranks=2)
    records = [record("nccl.env", rank, host) for rank, host in ((0, "n1"), (3, "n1"))]
    assert 1 not in seated(layout, *records)


def test_group_holds_the_global_ranks_of_its_members():
    members = [comm("n1", pid, place, 2, comm_id="0xa1") for place, pid in ((0, 71), (1, 72))]
    (group,) = placed(*members, of_rank(2, 71), of_rank(6, 72), expected=8).communicators.groups()
    assert (group.size, group.ranks) == (2, (2, 6))


def nccl(kind, text, host):
    return make_record(Line("a", 1, text), kind, text, Source(host=host))


def test_address_of_two_hosts_has_no_host():
    lines = [
        nccl("nccl.interfaces", f"{host}:1:2 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>", host)
        for host in ("n0", "n1")
    ]
    assert placed(*lines).host_at("172.17.0.1:4411") is None


def test_launcher_address_and_nccl_name_of_a_process_are_the_same_host():
    line = nccl("nccl.warn", "10.9.0.7: gx7:41:52 [0] NCCL WARN something broke", "10.9.0.7")
    assert placed(line).host_at("10.9.0.7") == placed(line).host_of(line) == "gx7"


def test_address_that_nccl_tells_is_the_host_of_other_lines_too():
    line = nccl("nccl.interfaces", "gx7:41:52 [0] NCCL INFO Bootstrap : Using eth0:10.9.0.7<0>", "gx7")
    assert placed(line).host_of(record("text.line", host="10.9.0.7")) == "gx7"


def test_network_name_gives_the_host_if_that_host_prints_lines():
    processes = placed(nccl("nccl.warn", "gx7:41:52 [0] NCCL WARN something broke", "gx7"))
    assert processes.host_at("gx7-ib0.site.org:4411") == "gx7"
    assert processes.host_at("gx8-ib0.site.org:4411") == "gx8-ib0"


def test_pid_of_several_ranks_gives_none():
    assert placed(of_rank(3, 71), of_rank(4, 71)).rank_of(record("text.line", host="n1", source_pid=71)) is None


def test_rank_in_the_largest_group_is_the_rank_of_a_pid():
    small, large = (record("c10d.x", rank, "n1", 71, nranks=size) for rank, size in ((1, 2), (5, 16)))
    for order in ((small, large), (large, small)):
        assert placed(*order).rank_of(record("text.line", host="n1", source_pid=71)) == 5


@pytest.mark.parametrize(
    ("ours", "others", "same"),
    [
        ((0, "n1", 71), (0, "n2", 72), "yes"),
        ((0, "n1", 71), (1, "n1", 71), "no"),
        ((0, "n1", 71), (None, "n1", 71), "yes"),
        ((None, "n1", 5), (None, "n1", 5), "yes"),
        ((None, "n1", 5), (None, None, 5), "yes"),
        ((None, "n1", 5), (None, "n2", 5), "no"),
        ((None, "n1", 5), (None, "n1", 6), "no"),
        ((None, "n1", 5), (None, "n1", None), "open"),
        ((0, "n1", 71), (None, "n1", None), "open"),
        ((None, None, None), (None, None, None), "open"),
    ],
)
def test_ranks_decide_then_pids_and_hosts(ours, others, same):
    a, b = (record("text.line", *names) for names in (ours, others))
    assert placed(of_rank(0, 71), record("text.line", 1, "n2", 72)).same(a, b) == same


NAMES = st.tuples(
    st.none() | st.integers(0, 2), st.sampled_from([None, "n1", "n2", "10.0.0.1"]), st.none() | st.integers(1, 3)
)


@given(st.lists(NAMES, max_size=6), NAMES, NAMES)
def test_same_is_symmetric_and_a_named_process_is_itself(heard, one, other):
    processes = placed(*(record("text.line", *names) for names in heard))
    a, b = record("text.line", *one), record("text.line", *other)
    assert processes.same(a, b) == processes.same(b, a)
    assert processes.same(a, a) == ("open" if (one[0], one[2]) == (None, None) else "yes")


def test_process_is_named_by_rank_then_pid_then_tag_then_file():
    line = Line("job.log", 1, "")
    names = [
        process_of(make_record(line, "text.line", "", source))
        for source in (
            Source(rank=3, host="n1", pid=71),
            Source(host="n1", pid=71),
            Source(host="n1", local_rank=2),
            Source(host="n1"),
            Source(),
        )
    ]
    assert names == [3, ("n1", 71), "n1:job.log 2", "n1:job.log", "job.log"]


def test_process_has_the_rank_that_another_line_tells():
    processes = placed(of_rank(3, 71))
    assert processes.process_of(record("text.line", None, "n1", 71)) == 3
    assert processes.process_of(record("text.line", None, "n1", 72)) == ("n1", 72)
