"""Values of a finding: each slot of a rule's words, and the function that provides it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from logdoctor.codes import explain
from logdoctor.model import Culprit, Examination, Finding, Rule, Value, say_fact
from logdoctor.model.numbers import format_size, number, say_value
from logdoctor.pack.regexes import compiled
from logdoctor.reasoning.findings.symptoms import Match
from logdoctor.reasoning.findings.who import describe, hosts_of, numbers, ranks_of, speaks_for_itself, with_seats
from logdoctor.reasoning.findings.wording import is_known
from logdoctor.reasoning.identity.addresses import bare_address, is_address, is_own_address, peer_of
from logdoctor.reasoning.job_state import JobState

OF_CULPRIT = ("rank", "host", "pid", "gpu")
OF_ONE = ("rank", "pid", "gpu", "device", "wanted", "free", "capacity", "visitor", "meant")
"""Slots that tell values of one rank. They are not told if several ranks show the failure."""
OF_EXAMINED = (
    "rank",
    "host",
    "pid",
    "device",
    "wanted",
    "free",
    "capacity",
    "beside",
    "crowded",
    "others",
    "huge",
    "refused",
    "unused",
    "remove",
    "keep",
    "keep_version",
)
"""Slots that the lines beside the proof tell, where its own do not."""
OF_STATES = ("all_had", "it_had", "one_had", "same_work", "same_group")
OF_CALL = ("op", "seq")
"""Slots of a call that the words tell of all ranks."""
POSSIBLE = {
    **dict.fromkeys(("rank", "local_rank", "peer_rank"), range(10**6)),
    **dict.fromkeys(("gpu", "device"), range(10**4)),
    "port": range(1, 2**16),
    "signal": range(1, 65),
    "pid": range(1, 2**31),
}
"""Numbers that a slot may tell. Another one is a sign of a mixed-up value, and no sentence tells it."""
Values = dict[str, Value]


class Shown(Struct, frozen=True):
    """The lines of a finding.

    - ``decisive``: the matches of the first symptom
    - ``matches``: those of all symptoms that make the rule hold
    - ``telling``: the lines whose values are told, the first goes before the others
    - ``blaming``: the lines that name the culprit
    - ``ranks``: the ranks that show the failure
    - ``states``: all lines that tell how far a rank has come in a process group
    """

    rule: Rule
    decisive: Sequence[Match]
    matches: Sequence[Match]
    telling: Sequence[Match]
    blaming: Sequence[Match]
    ranks: tuple[int, ...]
    states: Sequence[Match] = ()


def collect_values(shown: Shown, state: JobState) -> Values:
    """Return the values that the lines and the job tell. An empty value is not told."""
    values: Values = {}
    for provide in PROVIDERS:
        values |= provide(shown, values, state)
    return without(values, {name for name, value in values.items() if not _is_possible(name, value, shown.rule)})


def _is_possible(name: str, value: Value, rule: Rule) -> bool:
    """Return whether a sentence may tell this value: the guard of its rule and `POSSIBLE` hold."""
    guard, numbers_of = rule.guards.get(name), POSSIBLE.get(name)
    if guard and not isinstance(value, tuple) and not compiled(guard).fullmatch(str(value)):
        return False
    told = number(value) if isinstance(value, str) else value
    return numbers_of is None or not isinstance(told, int) or told in numbers_of


def _of_job(shown: Shown, _: Values, state: JobState) -> Values:
    """Provide ``last_progress``, ``nranks``, the versions, and the ``ranks`` that show the failure.

    ``resume_off`` is the setting by which the job resumes nothing, ``no_checkpoint`` tells that it found none.
    """
    progress, expected, start = state.last_progress(), state.processes.expected, state.from_zero
    key = start.fields.get("key") if start else None
    return {
        **{f"{product}_version": version for product, version in state.versions.first.items()},
        **({"last_progress": f"{progress.unit} {progress.value}".strip()} if progress else {}),
        **({"nranks": expected} if expected else {}),
        **({"resume_off": f"{key}: {start.fields['value']}"} if start and key else {}),
        **({"no_checkpoint": "yes"} if start and not key else {}),
        "ranks": shown.ranks,
    }


def _of_lines(shown: Shown, _: Values, state: JobState) -> Values:
    """Provide the fields and captured groups of the lines, and ``rank``, ``host`` and ``pid`` of their sources.

    A line that only adds values may be of another process.
    """
    values: Values = {}
    proofs = {m.record.order for m in (*shown.matches, *shown.blaming)}
    for m in reversed(shown.telling):
        pid = m.record.fields.get("pid") if m.record.is_about_others else m.record.pid
        source = {"rank": state.processes.rank_of(m.record), "host": state.processes.host_of(m.record), "pid": pid}
        if m.record.order not in proofs and state.processes.same(m.record, shown.decisive[0].record) != "yes":
            source = {}
        values |= {**m.record.fields, **m.captured, **{k: v for k, v in source.items() if v is not None}}
    return values


def _of_examined(shown: Shown, _: Values, state: JobState) -> Values:
    """Provide what other lines of the process tell beside the proof, where its own do not."""
    told = state.examined.get(shown.decisive[0].record.order, ())
    return {name: value for record in reversed(told) for name, value in record.fields.items() if name in OF_EXAMINED}


def _sizes(_: Shown, values: Values, __: JobState) -> Values:
    """Provide ``limit`` for ``limit_kb``."""
    sizes = {name.removesuffix("_kb"): n for name, n in values.items() if name.endswith("_kb") and isinstance(n, int)}
    return {name: format_size(n * 1024) for name, n in sizes.items() if name not in values}


def _members(shown: Shown, values: Values, _: JobState) -> Values:
    """Provide as ``group_ranks`` all members on one device of a host, because each line names only two of them.

    ``device_host`` is that host.
    """
    if not isinstance(values.get("group_ranks"), tuple) or "bus_id" not in values:
        return {}
    device = values["bus_id"], shown.matches[0].record.host
    same = (m.record.fields for m in shown.matches if (m.record.fields.get("bus_id"), m.record.host) == device)
    ranks = sorted({rank for fields in same for rank in numbers(fields.get("group_ranks"))})
    return {"group_ranks": tuple(ranks), **({"device_host": device[1]} if device[1] else {})}


def _call(shown: Shown, _: Values, state: JobState) -> Values:
    """Take back the call in which the ranks wait, or its number, if they wait in several."""
    apart: Values = {}
    for name in OF_CALL if shown.rule.failure_class == "waits in vain" else ():
        calls: dict[int | None, Value] = {}
        for m in shown.matches:
            if call := m.captured.get(name) or m.record.fields.get(name):
                calls.setdefault(state.processes.rank_of(m.record), call)
        if len({*map(str, calls.values())}) > 1:
            apart[name] = ()
    return apart


def _states(shown: Shown, values: Values, state: JobState) -> Values:
    """Provide how far the ranks had come: ``all_had``, ``it_had`` or ``one_had``, the number of the last call enqueued.

    All of them tell the same, or a single rank waits, or else the words tell it of one. ``same_work`` is the number in
    which all wait, if no line names the call, and ``same_group`` its group.
    """
    told: dict[tuple[Value | None, ...], set[int | None]] = {}
    for m in shown.states:
        same = tuple(m.record.fields.get(name) for name in ("work", "last_enqueued", "last_completed", "pg"))
        told.setdefault(same, set()).add(state.processes.rank_of(m.record))
    if not told:
        return {}
    (work, enqueued, _, group), ranks = next(iter(told.items()))
    alike = len(told) == 1 and ranks >= {*shown.ranks}
    had = "one_had" if not alike else "it_had" if len(shown.ranks) < 2 else "all_had"
    found: Values = {had: enqueued} if enqueued is not None else {}
    if alike and work is not None and not values.get("op") and not values.get("seq"):
        found |= {"same_work": work} | ({"same_group": group} if group is not None else {})
    return found


def _other_side(shown: Shown, values: Values, state: JobState) -> Values:
    """Provide ``peer``, ``peer_host``, ``towards``, and ``peer_name``, the host where the lines name only its address.

    All lines must name the same peer host. ``towards`` tells that several processes fail towards one peer, so that
    the fault is rather on its side than on theirs.
    """
    told: Values = {}
    if shown.blaming and "peer" in shown.blaming[0].record.fields:
        told["peer"] = shown.blaming[0].record.fields["peer"]
    peers = [m.record.fields.get("peer") for m in shown.decisive]
    if len({*peers}) == 1 and peers[0] and len({m.record.pid for m in shown.decisive}) > 1:
        told["towards"] = "one-peer"
    hosts = {state.processes.host_at(peer) for peer in peers if isinstance(peer, str) and peer}
    if len(hosts) == 1 and (host := hosts.pop()):
        told["peer_host"] = host
        if is_address(bare_address(next(p for p in peers if isinstance(p, str)))):
            told["peer_name"] = host
    asked = shown.rule.culprit.get("peers", "peer" if shown.rule.side == "seen" else "")
    if asked == "peer" and not (told | values).get("peer") and (peer := peer_of(shown.decisive[0].record)):
        told["peer"] = peer
    return told | ({"peer": ()} if is_own_address(str((values | told).get("peer"))) else {})


def _waits(shown: Shown, _: Values, __: JobState) -> Values:
    """Provide as ``group_rank`` and ``peer_rank`` all who wait and all they wait for, if the lines name both.

    ``last_awaited`` is the only one that is waited for and that no line shows waiting.
    """
    waits = [m.record.fields for m in shown.decisive if m.record.has("waits")]
    waiting, awaited = (
        {n for fields in waits if isinstance(n := fields.get(name), int)} for name in ("group_rank", "peer_rank")
    )
    if not waiting or not awaited:
        return {}
    last = awaited - waiting
    told: Values = {"group_rank": tuple(sorted(waiting)), "peer_rank": tuple(sorted(awaited))}
    return told | ({"last_awaited": last.pop()} if len(waiting) > 1 and len(last) == 1 else {})


PROVIDERS: Sequence[Callable[[Shown, Values, JobState], Values]] = (
    _of_job,
    _of_examined,
    _of_lines,
    _sizes,
    _members,
    _call,
    _states,
    _other_side,
    _waits,
)
"""A later one goes before an earlier one."""


def tell_culprit(values: Values, culprit: Culprit, shown: Shown, state: JobState) -> Values:
    """Return the values with ``blamed``, and without those of one rank if several show the failure."""
    if shown.blaming and (text := describe(culprit, "en")):
        values |= {"blamed": text}
    if shown.rule.side == "own" and not culprit.ranks and shown.rule.culprit.get("ranks") == "rank":
        return without(values, OF_ONE)  # the launcher names one of them
    return _towards_one(values, shown.decisive, state) if shown.rule.side == "seen" else values


def _towards_one(values: Values, matches: Sequence[Match], state: JobState) -> Values:
    """Return the values of all processes that fail towards one address, not those of the first that is heard."""
    named = [(m, m.captured.get("peer") or peer_of(m.record)) for m in matches if speaks_for_itself(m.record)]
    own = [m for m, peer in named if peer]
    peers = {str(peer) for _, peer in named if peer}
    addresses = {bare_address(peer) for peer in peers}
    ranks, hosts = sorted(ranks_of((m.record for m in own), state)), sorted(hosts_of((m.record for m in own), state))
    if len(addresses) != 1 or max(len(ranks), len(hosts)) < 2:
        return values
    told = [{**m.record.fields, **m.captured} for m in own]
    differ = {name for of_one in told for name, value in of_one.items() if value != told[0].get(name)}
    shared = without(values, {*OF_ONE, *differ}) | {"peer": peers.pop() if len(peers) == 1 else addresses.pop()}
    shared |= {"rank": tuple(ranks)} if ranks else {}
    return shared | ({"host": tuple(hosts) if len(hosts) > 1 else hosts[0]} if hosts else {})


def without(values: Mapping[str, Value], names: Collection[str]) -> Values:
    return {name: value for name, value in values.items() if name not in names}


class FindingValues(Mapping[str, Value]):
    """Slots of a finding.

    - captured groups and fields of the matched records, and what else `Finding.values` holds; times and sizes as
      people say them
    - ``field.column``: a column of the code tables
    - ``awaited``: ``rank 3`` or ``ranks 3,5``, the culprits of the finding that explains this one
    - ``rank``: all culprits if each of them shows the failure, and all who show it if none of them is a culprit
    - ``host``: all hosts of these ranks
    - ``claim.peer``: known if that claim is confirmed
    - ``size.wanted``: a fact of the lines around the proof, by type and role
    - ``denies.frames``: known if frames were looked for around the proof and not found
    - with ``state``, ``job``, and `OF_CULPRIT` if the finding has one culprit and no matched line names the value; the
      host may be that of the place
    """

    def __init__(
        self,
        finding: Finding,
        lang: str,
        state: JobState | None = None,
        *,
        explained_by: Finding | None = None,
        confirmed: Collection[str] = (),
        examined: Examination | None = None,
    ) -> None:
        self._finding, self._lang, self._state, self._confirmed = finding, lang, state, confirmed
        self._examined = examined or Examination()
        self._awaited = Culprit(explained_by.culprit.ranks) if explained_by else Culprit()
        self._hosts: tuple[str, ...] | None = None

    def __getitem__(self, name: str) -> Value:
        if name == "awaited" and self._awaited.ranks:
            return describe(self._awaited, self._lang)
        if name == "blamed" and name in self._finding.values:
            return describe(self._finding.culprit, self._lang)
        if name in OF_ONE and (ranks := self._alike()):
            return ranks if name == "rank" else ()  # none of them stands apart
        if name == "host" and len(hosts := self._hosts_alike()) > 1:
            return hosts
        field, _, column = name.partition(".")
        if field == "claim" and column in self._confirmed:
            return column
        if field == "denies" and column in self._examined.absent:
            return column
        if column and (fact := next((f for f in self._examined.facts if (f.type, f.role) == (field, column)), None)):
            return say_fact(fact, self._lang)
        value = self._finding.values.get(field)
        if not column:
            if value is None or not is_known(value):
                return self._read_state(name)
            return value if isinstance(value, tuple) else say_value(name, value, self._lang) or value
        entries = (explain(record.kind, field, value) for record in self._finding.records)
        entry = next((e for e in entries if e), None)
        if value is None or entry is None:
            raise KeyError(name)
        return entry.column(column, self._lang)

    def _alike(self) -> tuple[int, ...]:
        """Return the ranks that show the failure, if they are several and none of them is set apart."""
        ranks, culprits = self._finding.ranks, self._finding.culprit.ranks
        is_of_all = {*culprits} == {*ranks} if culprits else self._finding.rule.side == "own"
        return (culprits or ranks) if is_of_all and len(ranks) > 1 else ()

    def _hosts_alike(self) -> tuple[str, ...]:
        if self._hosts is None:
            self._hosts = self._state.processes.hosts_with(self._alike()) if self._state is not None else ()
        return self._hosts

    def _read_state(self, name: str) -> Value:
        if name == "job" and self._state is not None:
            return self._state.job_id or ()
        if name not in OF_CULPRIT or self._state is None:
            raise KeyError(name)
        finding = self._finding
        only_place = finding.rule.side == "own" and finding.culprit.scope == "not-told" and name == "host"
        named = with_seats(finding.place if only_place else finding.culprit, finding.rule, self._state)
        values: tuple[str, ...] | tuple[int, ...] = getattr(named, f"{name}s")
        return values if len(values) == 1 else ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._finding.values)

    def __len__(self) -> int:
        return len(self._finding.values)
