"""Lost connections, and the hosts behind addresses."""

from __future__ import annotations

import pytest
from handmade_records import make_record
from question_probe import Probe

from logdoctor.model import Level, Line, Source, Value
from logdoctor.reasoning.identity.addresses import bare_address
from logdoctor.reasoning.questions.links import pointed_at


class Log:
    """Eight ranks on four hosts n0 to n3 with the addresses 10.9.0.0 to 10.9.0.3.

    All print into the same file, or with ``apart`` each host into its own.
    """

    def __init__(self, *, hosts: int = 4, printing_hosts: tuple[int, ...] = (0, 1, 2, 3), apart: bool = False) -> None:
        self.apart = apart
        self.probe, self.order = Probe(), 0
        self.observe, self.state = self.probe.observe, self.probe.state
        self.state.processes.expected = hosts * 2
        for host in printing_hosts:
            text = f"n{host}:{host * 2}:9 [0] NCCL INFO Bootstrap : Using eth0:10.9.0.{host}<0>"
            for rank in (host * 2, host * 2 + 1):
                self.add("nccl.interfaces", text, rank, "info")

    def add(self, kind: str, text: str, rank: int, level: Level = "error", **fields: Value) -> Log:
        self.order += 1
        source = Source(rank=rank, host=f"n{rank // 2}", pid=rank + 100)
        file = f"n{rank // 2}" if self.apart else "a"
        record = make_record(Line(file, self.order, text), kind, text, source, level, fields, self.order)
        self.observe(record)
        return self

    def closed(self, *links: tuple[int, int]) -> Log:
        for rank, host in links:
            self.add("nccl.warn", "Connection closed by remote peer", rank, peer=f"10.9.0.{host}:41{rank}")
        return self

    @property
    def pointed(self) -> dict[str, Value]:
        return next((dict(e.fields) for e in self.probe.ask(pointed_at)), {})


def test_silent_host_at_which_two_hosts_point_is_named() -> None:
    found = Log().closed((2, 2), (7, 2)).pointed
    assert (found["host"], found["pointing"], found["votes"]) == ("n2", (2, 7), 2)


def test_host_that_lost_peers_itself_is_not_named() -> None:
    assert Log().closed((2, 2), (7, 2), (0, 1), (6, 1)).pointed["host"] == "n2"


def test_two_hosts_that_point_at_each_other_name_no_host() -> None:
    assert not Log().closed((2, 2), (3, 2), (4, 1), (5, 1)).pointed


def test_two_hosts_that_point_at_each_other_name_the_host_with_a_silent_rank() -> None:
    found = Log(hosts=2, printing_hosts=(0, 1)).closed((0, 1), (1, 1), (2, 0)).pointed
    assert (found["host"], found["rank"]) == ("n1", 3)


def test_single_complaint_names_the_silent_host_that_closed_the_connection() -> None:
    assert Log().closed((2, 2)).pointed["host"] == "n2"
    assert not Log(printing_hosts=(0, 1, 3)).closed((2, 2)).pointed
    assert not Log().closed((2, 2), (5, 3)).pointed


def test_single_complaint_of_a_link_names_no_host() -> None:
    lost = "Call to recv failed : Connection timed out"
    assert not Log().add("nccl.warn", lost, 2, peer="10.9.0.2:412").pointed


def test_connections_with_both_ends_on_the_same_host_name_that_host() -> None:
    assert Log().closed((2, 1), (3, 1)).pointed["host"] == "n1"
    found = Log(hosts=1, printing_hosts=(0,)).closed((0, 0)).pointed
    assert (found["host"], found["rank"]) == ("n0", 1)
    assert not Log().closed((2, 1), (4, 2)).pointed


def test_restart_resets_the_complaints() -> None:
    log = Log().closed((0, 3), (2, 3)).add("elastic.restart", "Worker group FAILED", 0, "info")
    assert not log.pointed


@pytest.mark.parametrize(("apart", "others", "named"), [(False, (), "n2"), (True, (), None), (False, ("n9",), None)])
def test_host_without_lines_is_named_if_all_hosts_print_into_one_file(
    *, apart: bool, others: tuple[str, ...], named: str | None
) -> None:
    log = Log(printing_hosts=(0, 1, 3), apart=apart)
    for peer in ("n2", *others):
        for rank in (2, 7):
            log.add("nccl.warn", "Connection closed by remote peer", rank, peer=f"{peer}.cluster:4411")
    assert "peer" in log.pointed
    assert (log.pointed.get("host"), log.pointed.get("rank")) == (named, None)


def test_unknown_address_that_may_be_a_complaining_host_is_not_named() -> None:
    log = Log()
    for rank, peer in ((2, "10.8.0.7"), (3, "10.8.0.7"), (4, "10.8.0.5")):
        log.add("nccl.warn", "Got completion from peer", rank, peer=f"{peer}:4411", status=12)
    assert not log.pointed


def test_link_with_complaints_of_one_end_names_no_host() -> None:
    log = Log(hosts=2, printing_hosts=(0, 1))
    for rank in (0, 1):
        log.add("nccl.warn", "Got completion from peer", rank, peer="10.9.0.1:4411", status=12)
    assert not log.pointed


def test_completion_status_of_the_local_end_names_no_host() -> None:
    log = Log()
    for rank in (2, 7):
        log.add("nccl.warn", "Got completion from peer", rank, peer="10.9.0.2:4411", status=4)
    assert not log.pointed


def test_peer_is_read_from_the_message_of_an_exception() -> None:
    log = Log()
    for rank in (2, 7):
        log.add("python.traceback", f"RuntimeError: Connection closed by peer [10.9.0.2]:31{rank}0", rank)
    assert log.pointed["host"] == "n2"


@pytest.mark.parametrize(
    ("peer", "bare"),
    [
        ("10.9.0.7:4411", "10.9.0.7"),
        ("[10.9.0.7]:4411", "10.9.0.7"),
        ("gx7.site.org<4411>", "gx7.site.org"),
        ("fe80::12:7%ib0:4411", "fe80::12:7%ib0"),
        ("fe80::12:7", "fe80::12:7"),
        ("[::ffff:10.9.0.7]:4411", "10.9.0.7"),
        ("gx7", "gx7"),
    ],
)
def test_bare_address_strips_port_and_brackets(peer: str, bare: str) -> None:
    assert bare_address(peer) == bare
