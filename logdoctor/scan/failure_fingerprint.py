"""What stays the same when the same failure comes again: in another job, on other hosts, at another time."""

from __future__ import annotations

import hashlib

from logdoctor.masking import template
from logdoctor.model import Diagnosis, Evidence

LONGEST = 300


def form_of(proof: Evidence) -> str:
    """The line without what changes from run to run: times, addresses, paths, names, numbers."""
    return template(proof.line.text)[:LONGEST]


def fingerprint(found: Diagnosis) -> str:
    """Equal for jobs that failed in the same way; empty for a healthy one.

    Two jobs fail in the same way where the signature and the form of the decisive line are the same; where no cause is
    known, the forms of the unexplained lines.
    """
    if found.causes:
        cause = found.causes[0]
        told = [cause.signature, *map(form_of, cause.evidence[:1])]
    else:
        told = sorted(set(map(form_of, found.unexplained)))
    if not told:
        return ""
    return hashlib.blake2b("\n".join(told).encode("utf-8", "replace"), digest_size=6).hexdigest()
