"""Fingerprints that are equal if two jobs failed in the same way."""

from __future__ import annotations

import hashlib

from logdoctor.model import Diagnosis, Evidence
from logdoctor.pipeline.masking import to_template

MAX_TEMPLATE = 300
"""Characters of a line template."""


def line_template(evidence: Evidence) -> str:
    """Return the line with times, addresses, paths, names and numbers masked.

    ``lost node17 at 10:00:01`` gives ``lost <name> at <time>``.
    """
    return to_template(evidence.line.text)[:MAX_TEMPLATE]


def fingerprint(diagnosis: Diagnosis) -> str:
    """Return the fingerprint of a failure, empty for a job without one.

    Host, time and numbers do not change the fingerprint.  It is made of the signature and the template of the decisive
    line.  If no cause is known, it is made of the templates of the unexplained lines.
    """
    cause = diagnosis.answer
    if cause is not None:
        parts = [cause.signature, *map(line_template, cause.evidence[:1])]
    else:
        parts = sorted(set(map(line_template, diagnosis.unexplained)))
    if not parts:
        return ""
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=6).hexdigest()
