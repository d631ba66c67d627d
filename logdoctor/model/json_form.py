"""JSON form of a diagnosis (``logdoctor.diagnosis/1``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logdoctor.model.answer import (
    SCHEMA,
    Cause,
    Coverage,
    Culprit,
    Decision,
    Diagnosis,
    Evidence,
    JobPicture,
    Progress,
    RankRow,
    Run,
    Standing,
    SymptomSeen,
)
from logdoctor.model.errors import Problem
from logdoctor.model.escape import escape_all
from logdoctor.model.log import Moment
from logdoctor.model.times import iso_time


def diagnosis_to_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Give ``diagnosis`` as JSON-ready data; logdoctor/render/diagnosis.schema.json describes it."""
    told = escape_all(diagnosis)
    return {
        "schema": SCHEMA,
        "verdict": told.verdict,
        "decision": _decision(told.decision),
        "causes": [_cause(one) for one in told.causes],
        "symptoms": [_symptom(one) for one in told.symptoms],
        "unexplained": _evidences(told.unexplained),
        "novel": [{"template": n.template, "count": n.count, "evidence": _evidence(n.evidence)} for n in told.novel],
        "advice": list(told.advice),
        "job": {"name": told.job, **_picture(told.picture), "runs": [_run(one) for one in told.runs]},
        "coverage": _coverage(told.coverage, told.problems),
        "problems": [_problem(one) for one in told.problems],
        "made_by": {
            "version": told.made_by.version,
            "rules": told.made_by.rules,
            "rules_digest": told.made_by.digest,
        },
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "signature": cause.signature,
        "title": cause.title,
        "summary": cause.summary,
        "confidence": round(cause.confidence, 4),
        "by": cause.by,
        "rule": cause.rule or None,
        "culprit": _culprit(cause.culprit),
        "action": cause.action,
        "remedy": list(cause.remedy),
        "references": list(cause.references),
        "evidence": _evidences(cause.evidence),
        "explains": list(cause.explains),
    }


def _culprit(who: Culprit) -> dict[str, Any]:
    return {"ranks": list(who.ranks), "hosts": list(who.hosts), "gpus": list(who.gpus), "peers": list(who.peers)}


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "action": decision.action,
        "hosts": list(decision.hosts),
        "reason": decision.reason,
        "attempts": decision.attempts,
    }


def _symptom(symptom: SymptomSeen) -> dict[str, Any]:
    return {
        "signature": symptom.signature,
        "title": symptom.title,
        "explained_by": symptom.explained_by,
        "ranks": list(symptom.ranks),
        "count": symptom.count,
        "evidence": _evidences(symptom.evidence),
    }


def _evidences(evidence: Sequence[Evidence]) -> list[dict[str, Any]]:
    return [_evidence(one) for one in evidence]


def _evidence(evidence: Evidence) -> dict[str, Any]:
    around = [{"line": one.number, "text": one.text} for one in evidence.around]
    return {
        "file": evidence.line.file,
        "line": evidence.line.number,
        "text": evidence.line.text,
        "rank": evidence.rank,
        "host": evidence.host,
        "time": iso_time(evidence.time),
        "why": evidence.why,
        **({"around": around} if around else {}),
    }


def _moment(moment: Moment | None) -> dict[str, Any] | None:
    if moment is None:
        return None
    return {"file": moment.file, "line": moment.line, "time": iso_time(moment.time)}


def _picture(picture: JobPicture) -> dict[str, Any]:
    return {
        "ranks_expected": picture.ranks_expected,
        "ranks_seen": list(picture.ranks_seen),
        "hosts": list(picture.hosts),
        "versions": dict(picture.versions),
        "launcher": picture.launcher,
        "first_failure": _evidence(picture.first_failure) if picture.first_failure else None,
        "first_death": _evidence(picture.first_death) if picture.first_death else None,
        "last_progress": _progress(picture.last_progress) if picture.last_progress else None,
        "attempts": picture.attempts,
        "truncated": picture.truncated,
        "started": iso_time(picture.started),
        "ended": iso_time(picture.ended),
        "nodes": picture.nodes,
        "ranks_per_node": picture.ranks_per_node,
        "groups": [{"name": one.name, "size": one.size, "ranks": list(one.ranks)} for one in picture.groups],
        "versions_apart": [{"product": p, "version": v, "ranks": list(who)} for p, v, who in picture.versions_apart],
        "rank_table": [_rank_row(one) for one in picture.rank_table],
        "environment": [{"name": name, "value": value} for name, value in picture.environment],
        "standings": [_standing(one) for one in picture.standings],
        "clocks": [
            {"host": one.host, "of": one.of, "ahead_s": round(one.ahead, 3), "events": one.events}
            for one in picture.clocks
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "kind": run.kind,
        "verdict": run.verdict,
        "signature": run.signature,
        "title": run.title or None,
        "told": run.told,
        "file": run.file,
        "lines": [run.first_line, run.last_line],
        "evidence": _evidences(run.evidence),
        "culprit": _culprit(run.culprit),
        "last_progress": _progress(run.last_progress) if run.last_progress else None,
    }


def _rank_row(row: RankRow) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "role": row.role,
        "host": row.host,
        "local_rank": row.local_rank,
        "pid": row.pid,
        "gpu": row.gpu,
        "bus_id": row.bus_id,
        "last_progress": row.last_progress or None,
        "failure": row.failure or None,
        "first_failure": _evidence(row.first_failure) if row.first_failure else None,
        "waits_for": row.waits_for or None,
        "never_started": row.never_started or None,
        "busy_with": row.busy_with or None,
        "progressed": _moment(row.progressed),
        "heard": _moment(row.heard),
    }


def _standing(one: Standing) -> dict[str, Any]:
    return {
        "group": one.group,
        "rank": one.rank,
        "waits": one.waits,
        "op": one.op or None,
        "started": one.started,
        "completed": one.completed,
        "at": _moment(one.at),
    }


def _progress(progress: Progress) -> dict[str, Any]:
    seen = _evidence(progress.evidence)
    return {
        "unit": progress.unit,
        "value": progress.value,
        "epoch": progress.epoch or None,
        "time": seen["time"],
        "evidence": seen,
    }


def _coverage(coverage: Coverage, problems: Sequence[Problem]) -> dict[str, Any]:
    return {
        "files": coverage.files,
        "bytes": coverage.bytes,
        "lines": coverage.lines,
        "events": coverage.events,
        "not_read": [{"where": one.where, "why": one.why or one.what} for one in problems],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"what": problem.what, "where": problem.where, "why": problem.why, "help": problem.help}
