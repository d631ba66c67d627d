"""Slots: the values that the words of a rule can name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from logdoctor.codes import explain
from logdoctor.model import Finding, Value
from logdoctor.reasoning.findings.culprits import culprit_of
from logdoctor.reasoning.findings.wording import compress, is_known
from logdoctor.reasoning.job_state import JobState

OF_CULPRIT = ("rank", "host", "pid", "gpu")
OF_ONE = ("rank", "pid", "gpu", "device", "wanted", "free", "capacity")
"""Slots that tell values of one rank. They are not told if several ranks show the failure."""


class FindingValues(Mapping[str, Value]):
    """Slots of a finding.

    - captured groups and fields of the matched records, and what else `Finding.values` holds
    - ``field.column``: a column of the code tables
    - ``awaited``: ``rank 3`` or ``ranks 3,5``, the culprits of the finding that explains this one
    - ``rank``: all culprits if each of them shows the failure, and all who show it if none of them is a culprit
    - ``host``: all hosts of these ranks
    - ``claim.peer``: known if that claim is confirmed
    - with ``state``, ``job``, and `OF_CULPRIT` if the finding has one culprit and no matched line names the value
    """

    def __init__(
        self,
        finding: Finding,
        lang: str,
        state: JobState | None = None,
        *,
        explained_by: Finding | None = None,
        explained: Sequence[Finding] = (),
        confirmed: Collection[str] = (),
    ) -> None:
        self._finding, self._lang, self._state, self._confirmed = finding, lang, state, confirmed
        self._explained = explained
        self._awaited = explained_by.culprit.ranks if explained_by else ()

    def __getitem__(self, name: str) -> Value:
        if name == "awaited" and self._awaited:
            several = len(self._awaited) > 1 and self._lang == "en"
            return f"rank{'s' if several else ''} {compress(self._awaited)}"
        if name in OF_ONE and (ranks := self._alike()):
            return ranks if name == "rank" else ()  # none of them stands apart
        if name == "host" and len(hosts := self._hosts_alike()) > 1:
            return hosts
        field, _, column = name.partition(".")
        if field == "claim" and column in self._confirmed:
            return column
        value = self._finding.values.get(field)
        if not column:
            return value if value is not None and is_known(value) else self._read_state(name)
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
        return self._state.places.hosts_with(self._alike()) if self._state is not None else ()

    def _read_state(self, name: str) -> Value:
        if name == "job" and self._state is not None:
            return self._state.job_id or ()
        if name not in OF_CULPRIT or self._state is None:
            raise KeyError(name)
        culprit = culprit_of(self._finding, self._explained, self._state)
        values: tuple[str, ...] | tuple[int, ...] = getattr(culprit, f"{name}s")
        return values if len(values) == 1 else ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._finding.values)

    def __len__(self) -> int:
        return len(self._finding.values)
