"""Processes that tell of a failure, and which of them may be named for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from logdoctor.model import Record, Rule, Value
from logdoctor.reasoning.findings.conditions import MatchLists
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.identity.addresses import peer_of, short_host
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.lifecycle.launchers import names_an_end

ON_A_NODE = 8
"""Number of ranks that most likely share one host if the log names only one."""
Names = tuple[tuple[int, ...], tuple[str, ...]]
"""Ranks and hosts."""


class Speakers:
    """Ranks and hosts of the decisive records of a finding.

    ``lent`` tells that the records name no rank, and that it is that of the only process that failed.
    """

    def __init__(self, rule: Rule, counted: MatchLists, state: JobState) -> None:
        self._rule, self._state = rule, state
        self._decisive = next(iter(counted.values()))
        self.records = [m.record for m in self._decisive]
        self.lent = False
        self._nameless = [e for e in self.records if state.places.rank_of(e) is None]
        self._captured = captured_ranks(self._decisive) if self._lacks_prefix() else ()
        if self._lacks_prefix() and not self._captured and rule.role in ("cause", "fallback"):
            self._add_ends(counted)
        self.ranks = self._captured or self._ranks(self.records)
        self.hosts = self._hosts(self.records) or captured_hosts(self._decisive)

    def to_blame(self, values: Mapping[str, Value]) -> Names:
        """Return whom the failure class of the rule blames, as far as no field names them.

        - A failure inside a process is that of its speakers, and a told end that of the process that ended.
        - Of a wait only the host is known, and only if the job has no other.
        - An order to end is nobody's.
        - Of what is seen of others, the speaker is known only if it stands apart from others.
        """
        rule, first = self._rule, self.records[0]
        gave_up = rule.role == "fallback" and first.tells("about peers")
        told = first.reports_end_of_other or "bus_id" in first.fields
        if rule.failure_class == "told to end":
            return (), ()
        if told or (rule.side == "own" and not gave_up):
            return self._or_only(self.ranks, self.hosts)
        if rule.place == "group":
            return (), self.hosts if self.are_on_one_host(sure=True) else ()
        single = len(numbers(values.get("ranks"))) <= 1 and len(self.hosts) <= 1
        if gave_up or rule.failure_class == "library reports":
            apart = single and (self._others_spoke() or self._ended_first())
            return (self.ranks, self.hosts) if apart else ((), ())
        if not single or not self._names_both_sides():
            ends = {self._state.places.host_of(m.record) for m in self._decisive if self._has_both_sides(m)}
            one_host = self.are_on_one_host(sure="peers" in rule.culprit)
            return (), self.hosts if len(ends) == len(self.hosts) == 2 or one_host else ()
        return self._or_only(self.ranks, self.hosts)

    # ── who speaks ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _lacks_prefix(self) -> bool:
        return all(self._state.places.rank_of(e) is None for e in self.records)

    def _add_ends(self, counted: MatchLists) -> None:
        """Add records that tell whose end it was.

        They come from a symptom that the rule accepts instead (``any``) if those name exactly one rank, else from the
        launcher.
        """
        hosts = self._hosts(self.records)
        same = [m.record for group in counted.values() for m in group] if "any" in self._rule.when else []
        with_rank = [e for e in same if self._state.places.rank_of(e) is not None]
        ends = with_rank[:1] if len(self._ranks(with_rank)) == 1 else self._ends()
        self.records += [e for e in ends if not hosts or self._state.places.host_of(e) in (None, *hosts)]

    def _ends(self) -> list[Record]:
        """Return the end that the launcher names, if it is that of the decisive record.

        The launcher quotes the exception, or a single process failed and a single failure is nobody's.
        """
        first, ends = self.records[0], self._state.named_ends
        named = ends.ends_in_attempt_of(first)
        exception = first.fields.get("exception")
        if len({(e.source.local_rank, e.pid) for e in self.records}) > len(named):
            return []  # several processes show it, and the launcher names fewer of them
        if exception and any(end.fields.get("exception") == exception for end in named):
            return named
        failed = {
            rank for end in ends.all_in_attempt_of(first) if (rank := self._state.places.rank_of(end)) is not None
        }
        died = self._state.named_ends.first_death in named
        # a process raises once and is terminated once, so one kind of record stands once for each
        kinds = Counter(e.kind for e in self.records if e.reports_own_end)
        single = max(kinds.values(), default=0) < 2 or len({e.pid or e.order for e in self.records}) == 1
        self.lent = single and (died or len(failed) < 2)
        return named if self.lent else []

    def _ranks(self, records: Sequence[Record]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(r for e in records for r in self._state.places.ranks_of(e)))

    def _hosts(self, records: Sequence[Record]) -> tuple[str, ...]:
        hosts = (self._state.places.host_of(e) for e in records)
        return tuple(dict.fromkeys(h for h in hosts if h))

    def _or_only(self, ranks: tuple[int, ...], hosts: tuple[str, ...]) -> Names:
        """Return the names, else the only rank and the only host of the job."""
        places = self._state.places
        if ranks or hosts or self._rule.role not in ("cause", "fallback"):
            return ranks, hosts
        alone = len(places.ranks) == 1 and (places.expected or 1) == 1
        only = tuple(places.hosts or places.scheduler_hosts)
        return tuple(places.ranks) if alone else (), only if len(only) == 1 else ()

    def only_host(self) -> tuple[str, ...]:
        """Return the host of a failure that the job can have on one host only."""
        hosts = tuple(self._state.places.hosts or self._state.places.scheduler_hosts)
        return hosts if self._rule.side == "own" and len(hosts) == 1 else ()

    def ended_alike(self, ranks: Sequence[int]) -> tuple[int, ...]:
        """Return all ranks that ended alike, if only the launcher's report says that the failure is of one of them.

        The failure must be told at least once for each, without a rank.
        """
        first = self.records[0]
        same = [e for e in self._nameless if _message(e) == _message(first)]
        for end in self._state.named_ends.all_in_attempt_of(first):
            alike = numbers(end.fields.get("alike_ranks"))
            if len(ranks) == 1 and ranks[0] in alike and len(alike) <= len(same):
                return alike
        return ()

    def raised_alike(self) -> int:
        """Return how many processes raised the same exception, if the launcher names fewer and no line says which.

        The launcher then names only the one whose end it noticed first.
        """
        first, places = self.records[0], self._state.places
        if not self._nameless or first is not self._nameless[0] or not first.reports_own_end:
            return 0
        same = [e for e in self._nameless if _said(e) == _said(first) and self._state.runs.same_span(first, e)]
        ends = self._state.named_ends.all_in_attempt_of(first)
        codes = {end.fields.get("exit_code") for end in self._state.named_ends.ends_in_attempt_of(first)}
        named = {r for end in ends if end.fields.get("exit_code") in codes for r in places.ranks_of(end)}
        return len(same) if len(same) > max(1, len(named)) else 0

    # ── how many there are ────────────────────────────────────────────────────────────────────────────────────────────

    def are_on_one_host(self, *, sure: bool = False) -> bool:
        """Return whether the job runs on one host, so that no other can be the peer.

        It is sure if the number of ranks is told.
        """
        places = self._state.places
        size = places.min_world_size if sure else places.expected or 0
        few = size <= max(ON_A_NODE, len(places.ranks))
        return few and len(places.hosts) == 1 and (places.expected is not None or not sure)

    def _others_spoke(self) -> bool:
        """Return whether other ranks or hosts were heard, of whom none reports the failure."""
        places = self._state.places
        return bool(places.ranks.difference(self.ranks) if self.ranks else {*places.hosts}.difference(self.hosts))

    def _ended_first(self) -> bool:
        """Return whether the launcher names this process as the one that ended."""
        ends = self._state.named_ends.ends_in_attempt_of(self.records[0])
        return bool(self.ranks) and self._ranks(ends) == self.ranks

    def _names_both_sides(self) -> bool:
        """Return whether both ends of a broken connection are known.

        If the log shows only one host of several, and the rule asks for a peer, a matched line must name both.
        """
        several = len(self._state.places.hosts) != 1
        if "peers" not in self._rule.culprit or several or self.are_on_one_host(sure=True):
            return True
        return any(map(self._has_both_sides, self._decisive))

    def _has_both_sides(self, match: Match) -> bool:
        peer = match.captured.get("peer") or peer_of(match.record)
        return bool(peer and self._state.places.host_of(match.record))


def _said(record: Record) -> tuple[object, ...]:
    """Return what a process said at its end, with its source: equal for processes that ended alike."""
    return record.line.file, record.kind, record.level, record.source.pid, record.source.local_rank, record.text


def _message(record: Record) -> tuple[Value | None, ...]:
    return record.fields.get("exception"), record.fields.get("message")


def captured_ranks(matches: Sequence[Match]) -> tuple[int, ...]:
    """Return the ranks that the symptom captured from the lines."""
    ranks = (m.captured.get("rank") for m in matches)
    return tuple(dict.fromkeys(r for r in ranks if isinstance(r, int)))


def captured_hosts(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return the hosts that the symptom or the format read."""
    values = (m.captured.get("host", m.record.fields.get("hosts")) for m in matches)
    return tuple(dict.fromkeys(name for value in values for name in short_hosts(value)))


def short_hosts(value: Value | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_host(name) for name in texts(value)))


def numbers(value: Value | None) -> tuple[int, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, int))


def texts(value: Value | None) -> tuple[str, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(str(v) for v in values if v not in (None, ""))


def speaks_for_itself(record: Record) -> bool:
    """Return whether the process that a record is about printed it: no launcher, and no question."""
    return record.format != "ledger" and not is_told_by_other(record)


def is_told_by_other(record: Record) -> bool:
    """Return whether a launcher or a parent tells the end of the process that the record is about."""
    return record.tells("first end") or record.reports_end_of_other or names_an_end(record)
