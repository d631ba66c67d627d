"""Culprits of findings, named here and nowhere else.

Somebody is named on one of five grounds, and `Culprit.why` says which:

- ``own-mouth``: the failure took place inside the process that tells it
- ``named``: a line names the process, host or device
- ``first-end``: its life ended before all others
- ``odd-one-out``: a detector found that it differs from the others
- ``other-side``: several lines name it as the other end of their connections

Otherwise the scope is ``nobody``, ``all`` or ``not-told``. Those who only report what others did are reporters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from logdoctor.model import Culprit, Ground, Reporters, Rule, Scope, Value
from logdoctor.reasoning.findings.conditions import MatchLists
from logdoctor.reasoning.findings.first_mover import find_first
from logdoctor.reasoning.findings.speakers import Speakers, captured_hosts, captured_ranks, numbers, short_hosts, texts
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.findings.wording import compress
from logdoctor.reasoning.job_state import JobState

ORDERED = frozenset({"job.preempted", "job.time-limit", "job.hangup"})
"""Signatures of orders from outside. Nobody of the job is the culprit."""
MOST_NAMED = 4096


def find_culprit(rule: Rule, counted: MatchLists, values: Mapping[str, Value], state: JobState) -> Culprit:
    """Return the culprit that ``rule`` blames.

    ``counted`` are the matches by symptom, the decisive symptom first. ``values`` are the values of the finding.
    """
    if is_ordered(rule.signature):
        return Culprit(scope="nobody", why="ordered")
    speakers = Speakers(rule, counted, state)
    ranks, hosts = _named(rule, "ranks", values), _named(rule, "hosts", values)
    by_class = None in (ranks, hosts)
    own_ranks, own_hosts = speakers.to_blame(values) if by_class else ((), ())
    if rule.place == "group" and rule.culprit.get("ranks") == "rank" and len(numbers(values.get("ranks"))) > 1:
        ranks, hosts = (), ()  # several report it, so it is not told which of them began
    if hosts == () and rule.culprit["hosts"] != "nobody" and not numbers(ranks):
        hosts = speakers.only_host()
    culprit = Culprit(
        ranks=(own_ranks if ranks is None else numbers(ranks))[:MOST_NAMED],
        hosts=(own_hosts if hosts is None else short_hosts(hosts))[:MOST_NAMED],
        gpus=texts(values.get(rule.culprit.get("gpus", "bus_id"))),
        peers=texts(values.get(rule.culprit.get("peers", "peer"))),
        first=find_first(rule, counted, state),
        probably=speakers.lent and bool(own_ranks),
    )
    alike = speakers.ended_alike(culprit.ranks) if rule.side == "own" else ()
    return _with_scope(replace(culprit, ranks=alike or culprit.ranks), rule, speakers, state, alike=bool(alike))


def _named(rule: Rule, part: str, values: Mapping[str, Value]) -> Value | None:
    """Return what the field holds that the rule names. Return None if the failure class decides."""
    field = rule.culprit.get(part)
    return None if field is None else values.get(field, ())


def _with_scope(culprit: Culprit, rule: Rule, speakers: Speakers, state: JobState, *, alike: bool) -> Culprit:
    """Return the culprit with its scope, the reason to name it, and those who only report."""
    heard = speakers.ranks
    if culprit.ranks and rule.place == "host" and culprit.hosts and len(culprit.ranks) > 1:
        culprit = replace(culprit, ranks=())  # ranks of one host set it apart, not each other
    count = max(len(culprit.ranks), len(culprit.hosts))
    if rule.side == "own" and (alike or "ranks" not in rule.culprit) and _is_everybody(culprit.ranks, state):
        culprit = replace(culprit, scope="all", why="all-alike")
    elif count or culprit.gpus or culprit.peers:
        culprit = replace(culprit, scope="some" if count > 1 else "one", why=_reason(rule, speakers))
    else:
        culprit = replace(culprit, scope="not-told", why="only-reports" if rule.side == "seen" and heard else "")
    reporters = tuple(rank for rank in heard if rank not in culprit.ranks)[:MOST_NAMED]
    return replace(culprit, reporters=Reporters(reporters, len(reporters)))


def _is_everybody(ranks: Sequence[int], state: JobState) -> bool:
    """Return whether these are all ranks that the job can have."""
    return len(ranks) > 1 and len(ranks) >= state.places.min_world_size


def _reason(rule: Rule, speakers: Speakers) -> Ground:
    decisive = speakers.records[0]
    if decisive.format == "ledger":
        return "first-end" if decisive.kind.endswith("first_death") else "odd-one-out"
    if rule.culprit.get("hosts", "") in ("peer", "peer_host"):
        return "other-side"
    by_field = {rule.culprit.get(part, "nobody") for part in ("ranks", "hosts")} != {"nobody"}
    return "named" if by_field else "own-mouth"


def is_ordered(signature: str) -> bool:
    """Return whether a job with this failure was ended from outside."""
    return signature in ORDERED


def blame_matches(culprit: Culprit, matches: Sequence[Match], state: JobState) -> Culprit:
    """Replace the culprit's ranks and hosts by those that the matches name.

    What a symptom captured goes before the source of its line.
    """
    if culprit.scope == "nobody":
        return culprit
    ranks, hosts = captured_ranks(matches), captured_hosts(matches)
    if not ranks and not hosts:
        named = [e for e in (m.record for m in matches) if e.host or state.places.rank_of(e) is not None]
        ranks = tuple(dict.fromkeys(r for e in named for r in state.places.ranks_of(e)))
        hosts = tuple(dict.fromkeys(h for e in named if (h := state.places.host_of(e))))
    count = max(len(ranks), len(hosts))
    scope: Scope = "some" if count > 1 else "one" if count or culprit.gpus or culprit.peers else "not-told"
    why: Ground = "named" if count else culprit.why
    reporters = tuple(rank for rank in culprit.reporters.ranks if rank not in ranks)
    culprit = replace(culprit, scope=scope, why=why, probably=False, reporters=Reporters(reporters, len(reporters)))
    return replace(culprit, ranks=ranks[:MOST_NAMED], hosts=hosts[:MOST_NAMED])


def describe(culprit: Culprit) -> str:
    """Return ``rank 5 (node-b)`` or ``node-b``.

    The text is the same in every language.
    """
    ranks, hosts = compress(culprit.ranks), ", ".join(culprit.hosts)
    return f"rank {ranks}" + (f" ({hosts})" if hosts else "") if ranks else hosts
