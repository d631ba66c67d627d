"""Data structures that all packages share, and the errors for the user.

The data go one way: bytes -> `Line` -> `Record` -> `Finding` -> `Diagnosis` -> text.  All structures are frozen and
picklable.  An unknown value is ``None`` or an empty tuple, never a guess.  Only msgspec and the standard library are
imported.
"""

from __future__ import annotations

from logdoctor.model.answer import (
    CALM,
    GROUNDS,
    SCHEMA,
    WITH_CAUSE,
    Cause,
    Change,
    Check,
    Checkpoint,
    CollectiveState,
    Culprit,
    Decision,
    Defect,
    Diagnosis,
    Evidence,
    Finding,
    FirstMover,
    Ground,
    HostClock,
    JobSummary,
    Location,
    MadeBy,
    Novel,
    Owner,
    Part,
    ProcessGroup,
    Progress,
    RankRow,
    Redacted,
    Refutation,
    Reporters,
    Run,
    Scope,
    Step,
    Suspect,
    SymptomSeen,
    Verdict,
)
from logdoctor.model.claims import CLAIMS, Claim, ClaimName
from logdoctor.model.comparison import COMPARISON_SCHEMA, Comparison, Difference, Topic
from logdoctor.model.coverage import Coverage, InputRead, NotJudged, unread, unusable
from logdoctor.model.errors import InputError, LogdoctorError, ManyJobsError, Problem, RuleError, RulesError
from logdoctor.model.facts import (
    ABSENCES,
    FACT_TYPES,
    Examination,
    Examinations,
    Fact,
    FactType,
    Kin,
    Place,
    Said,
    say_fact,
)
from logdoctor.model.inputs import Job, Stream
from logdoctor.model.log import (
    NO_SPAN,
    Candidate,
    Following,
    Level,
    Line,
    Moment,
    Record,
    Source,
    Span,
    Value,
    without_impossible_rank,
)
from logdoctor.model.mechanism import Arrow, FailureClass, Mechanism, Side, Where, Who
from logdoctor.model.rule import (
    LOOKS,
    MEASURED,
    ONCE,
    Action,
    Because,
    Confirmed,
    DecisionRow,
    DefectRow,
    Defects,
    Do,
    Example,
    NoHelp,
    OwnerRow,
    PackageRow,
    Role,
    Rule,
    StepWords,
    Strength,
    Symptom,
    Words,
    pack_words,
    split_thing,
)
from logdoctor.model.signs import Author, LifecycleSign, Mark, Origin, Reporter, Subject, Tell
