"""Steps that still make sense for the job: none that was done, was read, or needs hosts that the job does not have."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from logdoctor.model import Step
from logdoctor.model.catalogue import Catalogue
from logdoctor.reasoning.job_state import JobState

LOGS = (".log", ".out", ".err", ".txt")
"""Ends of the names of logs."""


def fitting_steps(steps: Sequence[Step], state: JobState, words: Catalogue) -> tuple[Step, ...]:
    """Return the steps without those that the job has no use for. If none is left, return all."""
    several = () if _may_have_hosts(state) else tuple(words("steps.several-hosts").split("|"))
    kept = (
        step
        for step in steps
        if not (_is_set(step, state) or _was_read(step, state) or any(phrase in step.text for phrase in several))
    )
    return tuple(kept) or tuple(steps)


def settings_in(text: str) -> set[tuple[str, str]]:
    """Return the settings that a step names: ``NAME=VALUE``."""
    words = (word.strip(".,;:()") for word in text.replace("`", " ").split())
    parts = (word.partition("=") for word in words)
    return {(name, value) for name, _, value in parts if value and name.isupper() and name.isascii()}


def _is_set(step: Step, state: JobState) -> bool:
    """Return whether the job reports all settings that the step sets."""
    settings = settings_in(step.text)
    return bool(settings) and all(setting in state.environment for setting in settings)


def _was_read(step: Step, state: JobState) -> bool:
    """Return whether the step only asks for a file that is among the inputs, or for a kernel log that is."""
    words = (word.strip("\"'.,;:()<>") for command in step.commands or _quoted(step) for word in command.split())
    names = {posixpath.basename(word) for word in words if word.endswith(LOGS)}
    if names & {posixpath.basename(file) for file in state.lives.line_counts}:
        return True
    is_kernel = bool(step.commands) and all("dmesg" in command for command in step.commands)
    return is_kernel and not _may_have_hosts(state) and _has_kernel_log(state)


def _quoted(step: Step) -> Sequence[str]:
    """Return the parts in backticks."""
    return step.text.split("`")[1::2]


def _has_kernel_log(state: JobState) -> bool:
    is_kernel = any(kind.startswith("kernel.") for kind in state.lives.kinds)
    return is_kernel and any(map(state.lives.is_machine_log, state.lives.line_counts))


def _may_have_hosts(state: JobState) -> bool:
    """Return whether the job may run on several hosts. NCCL counts the nodes; otherwise nobody knows."""
    return state.processes.communicators.nodes != 1 or len(state.processes.hosts) > 1
