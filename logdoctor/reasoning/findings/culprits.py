"""Whom a finding blames: the ranks, hosts, GPUs and peers that its rule names, as far as the job's facts tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Culprit, Record, Rule, Value
from logdoctor.reasoning.findings.conditions import Seen
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.identity.addresses import peer_of, short_host
from logdoctor.reasoning.job_state import JobState

CULPRITS_NAMED = 16
ON_A_NODE = 8
"""So many ranks are most likely on one host, where only one is named."""


def culprit_of(rule: Rule, seen: Seen, values: Mapping[str, Value], state: JobState) -> Culprit:
    """Whom ``rule`` blames for what was ``seen``, the decisive symptom first; ``values`` are the finding's words."""
    shown = next(iter(seen.values()))
    heard = _heard(rule, seen, state)
    ranks, hosts = _asked(rule, shown, heard, values, state)
    named_by_prefix = any(state.places.rank_of(s.record) is not None for s in shown)
    said = () if named_by_prefix else _ranks_said(shown)
    guilty = tuple(_ranks(heard, state)) if ranks == "speaker" else _numbers(values.get(ranks))
    where = tuple(_hosts(heard, state)) if hosts == "speaker" else _hosts_named(values.get(hosts))
    if said and ranks == "speaker":  # the line names whom its own prefix does not
        guilty, where = said, where or _hosts_named(values.get("host"))
    if not where and hosts == "speaker":  # nobody's line, but it names a host
        where = _hosts_said(shown)
    if not guilty and ranks == "ranks":  # nobody is listed: whom the launcher names
        guilty = tuple(_ranks(heard, state))
    if not guilty and not where:
        guilty, where = _only_ones(rule, state)
    return Culprit(
        ranks=guilty,
        hosts=where,
        gpus=_texts(values.get(rule.culprit.get("gpus", "bus_id"))),
        peers=_texts(values.get(rule.culprit.get("peers", "peer"))),
    )


def _heard(rule: Rule, seen: Seen, state: JobState) -> list[Record]:
    """Whose words count: the decisive events; where they are nobody's, besides, who tells whose end it was.

    That is somebody who tells of the same failure in other words (the symptoms that a rule holds one for another), or
    the launcher that says who died.
    """
    shown = next(iter(seen.values()))
    records = [s.record for s in shown]
    known = any(state.places.rank_of(e) is not None for e in records) or _ranks_said(shown)
    if known or rule.role not in ("cause", "fallback"):
        return records
    hosts = _hosts(records, state)
    same = [s.record for group in seen.values() for s in group] if "any" in rule.when else []
    told = [e for e in same if state.places.rank_of(e) is not None]
    one = told[:1] if len(_ranks(told, state)) == 1 else state.named_ends.in_the_attempt_of(records[0])
    return records + [e for e in one if not hosts or state.places.host_of(e) in (None, *hosts)]


def _asked(
    rule: Rule, shown: Sequence[Match], heard: Sequence[Record], values: Mapping[str, Value], state: JobState
) -> tuple[str, str]:
    """Which fields name the ranks and the hosts.

    ``alone`` is the source where just one reports: many are victims.  Who gave up waiting is mostly a victim even
    alone: there a rule says ``only`` for the host, which is the job's where it can have no other.
    """
    ranks, hosts = rule.culprit.get("ranks", "speaker"), rule.culprit.get("hosts", "speaker")
    one_host = len(state.places.hosts) == 1 and (state.places.expected or 0) <= _on_one_node(state)
    if hosts == "only":
        hosts = "speaker" if one_host and _known_to_be_one_node(state) else "nobody"
    if "alone" not in (ranks, hosts) or not _both_sides(rule, shown, state):
        return ranks, hosts
    by_one = len(_numbers(values.get("ranks"))) <= 1 and len(_hosts(heard, state)) <= 1
    alone = by_one and not _waits_for_others(values)
    if ranks == "alone" and alone:
        ranks = "speaker"
    if hosts == "alone" and (alone or one_host):
        hosts = "speaker"
    return ranks, hosts


def _on_one_node(state: JobState) -> int:
    """So many ranks may be on one node."""
    return max(ON_A_NODE, len(state.places.ranks))


def about(culprit: Culprit, records: Sequence[Record], state: JobState) -> Culprit:
    """``culprit`` with the ranks and hosts that ``events`` are about in place of its own."""
    named = [e for e in records if e.host or state.places.rank_of(e) is not None]
    return replace(culprit, ranks=tuple(_ranks(named, state)), hosts=tuple(_hosts(named, state)))


def in_a_word(culprit: Culprit) -> str:
    """The same in every language: ``rank 5 (node-b)``, ``node-b``."""
    ranks, hosts = ", ".join(map(str, culprit.ranks)), ", ".join(culprit.hosts)
    return f"rank {ranks}" + (f" ({hosts})" if hosts else "") if ranks else hosts


def _both_sides(rule: Rule, shown: Sequence[Match], state: JobState) -> bool:
    """Whether who could not reach a peer can be named: both sides are heard, or its line names both."""
    if "peers" not in rule.culprit or len(state.places.hosts) != 1 or _known_to_be_one_node(state):
        return True
    return any((s.captured.get("peer") or peer_of(s.record)) and state.places.host_of(s.record) for s in shown)


def _waits_for_others(values: Mapping[str, Value]) -> bool:
    """Whether the line counts who came: then its source is one of those, and the guilty are the others."""
    joined, expected = values.get("joined"), values.get("expected")
    return isinstance(joined, int) and isinstance(expected, int) and 0 < joined < expected


def _known_to_be_one_node(state: JobState) -> bool:
    """Whether nobody on another host can be meant: else who could not reach a peer is only one side of the story."""
    return state.places.expected is not None and state.places.min_world_size <= _on_one_node(state)


def _only_ones(rule: Rule, state: JobState) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Where nobody is named: the only rank and the only host that the log knows, unless others are to blame."""
    places = state.places
    alone = len(places.ranks) == 1 and (places.expected or 1) == 1
    ranks = tuple(places.ranks) if alone and rule.culprit.get("ranks", "speaker") == "speaker" else ()
    hosts = tuple(places.hosts or places.scheduler_hosts)
    return ranks, hosts if rule.role in ("cause", "fallback") and len(hosts) == 1 else ()


def _hosts_named(value: Value | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_host(name) for name in _texts(value)))


def _ranks(records: Sequence[Record], state: JobState) -> list[int]:
    return list(dict.fromkeys(r for e in records for r in state.places.ranks_of(e)))[:CULPRITS_NAMED]


def _ranks_said(shown: Sequence[Match]) -> tuple[int, ...]:
    """The ranks that the lines themselves name, as the symptom captured them."""
    said = (s.captured.get("rank") for s in shown)
    return tuple(dict.fromkeys(r for r in said if isinstance(r, int)))[:CULPRITS_NAMED]


def _hosts_said(shown: Sequence[Match]) -> tuple[str, ...]:
    """The hosts that the lines themselves name: as the symptom captured one, or as the parser read a few."""
    said = (s.captured.get("host", s.record.fields.get("hosts")) for s in shown)
    named = dict.fromkeys(name for value in said for name in _hosts_named(value))
    return tuple(named) if len(named) <= CULPRITS_NAMED else ()


def _hosts(records: Sequence[Record], state: JobState) -> list[str]:
    known = (state.places.host_of(e) for e in records)
    return list(dict.fromkeys(h for h in known if h))[:CULPRITS_NAMED]


def _numbers(value: Value | None) -> tuple[int, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, int))


def _texts(value: Value | None) -> tuple[str, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(str(v) for v in values if v not in (None, ""))
