"""Data structures that all packages share, and the errors for the user.

The data go one way: bytes -> `Line` -> `Record` -> `Finding` -> `Diagnosis` -> text.  All structures are frozen and
picklable.  An unknown value is ``None`` or an empty tuple, never a guess.  Only msgspec and the standard library are
imported.
"""

from __future__ import annotations

from logdoctor.model.answer import (
    SCHEMA,
    Cause,
    CollectiveState,
    Culprit,
    Decision,
    Diagnosis,
    Evidence,
    Finding,
    HostClock,
    JobSummary,
    MadeBy,
    Novel,
    Part,
    ProcessGroup,
    Progress,
    RankRow,
    Run,
    SymptomSeen,
    Verdict,
)
from logdoctor.model.comparison import COMPARISON_SCHEMA, Comparison, Difference, Topic
from logdoctor.model.coverage import Coverage, InputRead, NotJudged, unread, unusable
from logdoctor.model.errors import InputError, LogdoctorError, Problem, RuleError, RulesError
from logdoctor.model.log import (
    Candidate,
    Following,
    Job,
    Level,
    LifecycleSign,
    Line,
    Moment,
    Record,
    Source,
    Stream,
    Value,
    without_impossible_rank,
)
from logdoctor.model.rule import Action, Example, Role, Rule, Strength, Symptom, Words, pack_words

__all__ = [
    "COMPARISON_SCHEMA",
    "SCHEMA",
    "Action",
    "Candidate",
    "Cause",
    "CollectiveState",
    "Comparison",
    "Coverage",
    "Culprit",
    "Decision",
    "Diagnosis",
    "Difference",
    "Evidence",
    "Example",
    "Finding",
    "Following",
    "HostClock",
    "InputError",
    "InputRead",
    "Job",
    "JobSummary",
    "Level",
    "LifecycleSign",
    "Line",
    "LogdoctorError",
    "MadeBy",
    "Moment",
    "NotJudged",
    "Novel",
    "Part",
    "Problem",
    "ProcessGroup",
    "Progress",
    "RankRow",
    "Record",
    "Role",
    "Rule",
    "RuleError",
    "RulesError",
    "Run",
    "Source",
    "Stream",
    "Strength",
    "Symptom",
    "SymptomSeen",
    "Topic",
    "Value",
    "Verdict",
    "Words",
    "pack_words",
    "unread",
    "unusable",
    "without_impossible_rank",
]
