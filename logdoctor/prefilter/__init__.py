"""The scan: ONE pass of all patterns over large windows finds the few lines that anyone cares about.

Python never touches the other lines.  What comes in: scan forms (`scan_form`) and a ``readinto``; what goes out:
`logdoctor.model.Candidate`, in file order.
"""

from __future__ import annotations

from logdoctor.prefilter.prefilter import Pattern, Prefilter

__all__ = ["Pattern", "Prefilter", "scan_form", "whole_form"]


def scan_form(regex: str) -> str:
    """See `logdoctor.prefilter.scanform.scan_form` (imported on first need)."""
    from logdoctor.prefilter import scanform

    return scanform.scan_form(regex)


def whole_form(regex: str) -> str:
    """See `logdoctor.prefilter.scanform.whole_form` (imported on first need)."""
    from logdoctor.prefilter import scanform

    return scanform.whole_form(regex)
