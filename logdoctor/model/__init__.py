"""The nouns every room shares, and the errors a user sees.  Standard library only.

One direction: bytes -> `Line` -> `Event` -> `Finding` -> `Diagnosis` -> text.  Everything here is frozen, slotted and
picklable; what is not known is ``None`` or an empty tuple, never a guess.
"""

from __future__ import annotations

from logdoctor.model.answer import (
    SCHEMA,
    Cause,
    Coverage,
    Culprit,
    Decision,
    Diagnosis,
    Evidence,
    Finding,
    HostClock,
    JobPicture,
    MadeBy,
    Moment,
    Novel,
    Part,
    ProcessGroup,
    Progress,
    RankRow,
    Run,
    Standing,
    SymptomSeen,
    Verdict,
)
from logdoctor.model.comparison import COMPARISON_SCHEMA, Comparison, Difference, Topic
from logdoctor.model.errors import InputError, LogdoctorError, Problem, RuleError, RulesError
from logdoctor.model.log import Candidate, Event, Following, Job, Level, Line, Meaning, Speaker, Stream, Value
from logdoctor.model.rule import Action, Example, Role, Rule, Strength, Symptom, Words

__all__ = [
    "COMPARISON_SCHEMA",
    "SCHEMA",
    "Action",
    "Candidate",
    "Cause",
    "Comparison",
    "Coverage",
    "Culprit",
    "Decision",
    "Diagnosis",
    "Difference",
    "Event",
    "Evidence",
    "Example",
    "Finding",
    "Following",
    "HostClock",
    "InputError",
    "Job",
    "JobPicture",
    "Level",
    "Line",
    "LogdoctorError",
    "MadeBy",
    "Meaning",
    "Moment",
    "Novel",
    "Part",
    "Problem",
    "ProcessGroup",
    "Progress",
    "RankRow",
    "Role",
    "Rule",
    "RuleError",
    "RulesError",
    "Run",
    "Speaker",
    "Standing",
    "Stream",
    "Strength",
    "Symptom",
    "SymptomSeen",
    "Topic",
    "Value",
    "Verdict",
    "Words",
]
