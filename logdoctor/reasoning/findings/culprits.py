"""Culprits of a finding: ranks, hosts, GPUs and peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Culprit, Finding, Record, Rule, Value
from logdoctor.reasoning.findings.conditions import MatchLists
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.identity.addresses import peer_of, short_host
from logdoctor.reasoning.job_state import JobState

ORDERED = frozenset({"job.preempted", "job.time-limit", "job.hangup"})
"""Signatures of orders from outside. Nobody of the job is the culprit."""
CULPRITS_NAMED = 16
ON_A_NODE = 8
"""Number of ranks that most likely share one host if the log names only one."""


def find_culprit(rule: Rule, counted: MatchLists, values: Mapping[str, Value], state: JobState) -> Culprit:
    """Return the culprit that ``rule`` blames.

    ``counted`` are the matches by symptom, the decisive symptom first. ``values`` are the values of the finding.
    """
    decisive = next(iter(counted.values()))
    records = _reporting_records(rule, counted, state)
    rank_field, host_field = _culprit_fields(rule, decisive, records, values, state)
    named_by_prefix = any(state.places.rank_of(m.record) is not None for m in decisive)
    captured = () if named_by_prefix else _captured_ranks(decisive)
    ranks = tuple(_ranks(records, state)) if rank_field == "speaker" else _numbers(values.get(rank_field))
    hosts = tuple(_hosts(records, state)) if host_field == "speaker" else _short_hosts(values.get(host_field))
    if captured and rank_field == "speaker":  # the line names ranks, its prefix does not
        ranks, hosts = captured, hosts or _short_hosts(values.get("host"))
    if not hosts and host_field == "speaker":  # the line has no source, but it names a host
        hosts = _captured_hosts(decisive)
    if not ranks and rank_field == "ranks":  # no list of ranks, so take those that the launcher names
        ranks = tuple(_ranks(records, state))
    if not ranks and not hosts:
        ranks, hosts = _only_candidates(rule, state)
    return Culprit(
        ranks=ranks,
        hosts=hosts,
        gpus=_texts(values.get(rule.culprit.get("gpus", "bus_id"))),
        peers=_texts(values.get(rule.culprit.get("peers", "peer"))),
    )


def is_ordered(signature: str) -> bool:
    """Return whether a job with this failure was ended from outside."""
    return signature in ORDERED


def blamed(finding: Finding) -> Culprit:
    """Return the culprit that an answer may name. For an order from outside it is nobody."""
    return Culprit(scope="nobody") if is_ordered(finding.rule.signature) else finding.culprit


def _reporting_records(rule: Rule, counted: MatchLists, state: JobState) -> list[Record]:
    """Return the records whose ranks and hosts count.

    These are the decisive records. If no decisive record has a rank, records that tell whose end it was are added. They
    come from a symptom that the rule accepts instead (``any``) if those name exactly one rank, else from the launcher.
    """
    decisive = next(iter(counted.values()))
    records = [m.record for m in decisive]
    has_rank = any(state.places.rank_of(e) is not None for e in records) or _captured_ranks(decisive)
    if has_rank or rule.role not in ("cause", "fallback"):
        return records
    hosts = _hosts(records, state)
    same = [m.record for group in counted.values() for m in group] if "any" in rule.when else []
    with_rank = [e for e in same if state.places.rank_of(e) is not None]
    ends = with_rank[:1] if len(_ranks(with_rank, state)) == 1 else state.named_ends.ends_in_attempt_of(records[0])
    return records + [e for e in ends if not hosts or state.places.host_of(e) in (None, *hosts)]


def _culprit_fields(
    rule: Rule, decisive: Sequence[Match], records: Sequence[Record], values: Mapping[str, Value], state: JobState
) -> tuple[str, str]:
    """Return the names of the fields with culprit ranks and hosts.

    - ``speaker``: the ranks and hosts of the records
    - ``alone``: the reporting rank, only if no other rank reports the failure, because many reporters are victims
    - ``hosts: only``: the host, only if the job runs on one host, because a rank that waited in vain is a victim
    """
    ranks, hosts = rule.culprit.get("ranks", "speaker"), rule.culprit.get("hosts", "speaker")
    one_host = len(state.places.hosts) == 1 and (state.places.expected or 0) <= _ranks_per_node(state)
    if hosts == "only":
        hosts = "speaker" if one_host and _is_one_node(state) else "nobody"
    if "alone" not in (ranks, hosts) or not _names_both_sides(rule, decisive, state):
        return ranks, hosts
    single = len(_numbers(values.get("ranks"))) <= 1 and len(_hosts(records, state)) <= 1
    alone = single and not _waits_for_others(values)
    if ranks == "alone" and alone:
        ranks = "speaker"
    if hosts == "alone" and (alone or one_host):
        hosts = "speaker"
    return ranks, hosts


def _ranks_per_node(state: JobState) -> int:
    """Return the number of ranks that may share one node."""
    return max(ON_A_NODE, len(state.places.ranks))


def replace_ranks_and_hosts(culprit: Culprit, records: Sequence[Record], state: JobState) -> Culprit:
    """Replace the culprit's ranks and hosts by those of ``records``."""
    named = [e for e in records if e.host or state.places.rank_of(e) is not None]
    return replace(culprit, ranks=tuple(_ranks(named, state)), hosts=tuple(_hosts(named, state)))


def describe(culprit: Culprit) -> str:
    """Return ``rank 5 (node-b)`` or ``node-b``.

    The text is the same in every language.
    """
    ranks, hosts = ", ".join(map(str, culprit.ranks)), ", ".join(culprit.hosts)
    return f"rank {ranks}" + (f" ({hosts})" if hosts else "") if ranks else hosts


def _names_both_sides(rule: Rule, matches: Sequence[Match], state: JobState) -> bool:
    """Return whether both ends of a broken connection are known.

    If the log shows only one host of several, a matched line must name its own host and its peer.
    """
    if "peers" not in rule.culprit or len(state.places.hosts) != 1 or _is_one_node(state):
        return True
    return any((m.captured.get("peer") or peer_of(m.record)) and state.places.host_of(m.record) for m in matches)


def _waits_for_others(values: Mapping[str, Value]) -> bool:
    """Return whether the line counts arrived ranks.

    Example: ``joined`` is 3 and ``expected`` is 8. The rank that prints the line has arrived, so the culprits are other
    ranks.
    """
    joined, expected = values.get("joined"), values.get("expected")
    return isinstance(joined, int) and isinstance(expected, int) and 0 < joined < expected


def _is_one_node(state: JobState) -> bool:
    """Return whether the job surely runs on one node.

    No other host can then be the peer.
    """
    return state.places.expected is not None and state.places.min_world_size <= _ranks_per_node(state)


def _only_candidates(rule: Rule, state: JobState) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the only rank and the only host of the job.

    They are used for a finding that names neither. The rule must blame the reporting rank, and only a cause or a
    fallback blames the host.
    """
    places = state.places
    alone = len(places.ranks) == 1 and (places.expected or 1) == 1
    ranks = tuple(places.ranks) if alone and rule.culprit.get("ranks", "speaker") == "speaker" else ()
    hosts = tuple(places.hosts or places.scheduler_hosts)
    return ranks, hosts if rule.role in ("cause", "fallback") and len(hosts) == 1 else ()


def _short_hosts(value: Value | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(short_host(name) for name in _texts(value)))


def _ranks(records: Sequence[Record], state: JobState) -> list[int]:
    return list(dict.fromkeys(r for e in records for r in state.places.ranks_of(e)))[:CULPRITS_NAMED]


def _captured_ranks(matches: Sequence[Match]) -> tuple[int, ...]:
    """Return the ranks that the symptom captured from the lines."""
    ranks = (m.captured.get("rank") for m in matches)
    return tuple(dict.fromkeys(r for r in ranks if isinstance(r, int)))[:CULPRITS_NAMED]


def _captured_hosts(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return the hosts that the symptom or the format read.

    Return none if there are too many.
    """
    values = (m.captured.get("host", m.record.fields.get("hosts")) for m in matches)
    hosts = dict.fromkeys(name for value in values for name in _short_hosts(value))
    return tuple(hosts) if len(hosts) <= CULPRITS_NAMED else ()


def _hosts(records: Sequence[Record], state: JobState) -> list[str]:
    hosts = (state.places.host_of(e) for e in records)
    return list(dict.fromkeys(h for h in hosts if h))[:CULPRITS_NAMED]


def _numbers(value: Value | None) -> tuple[int, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, int))


def _texts(value: Value | None) -> tuple[str, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(str(v) for v in values if v not in (None, ""))
