"""logdoctor: what went wrong first in a distributed-training job, on which rank, with proof, and what to do.

>>> import logdoctor
>>> diagnosis = logdoctor.diagnose("corpus/oom-kill/job.log")   # doctest: +SKIP
>>> diagnosis.verdict, diagnosis.causes[0].signature            # doctest: +SKIP
('failure', 'host.oom-kill')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logdoctor.version import __version__

if TYPE_CHECKING:
    from logdoctor.diagnosis import diagnose

__all__ = ["__version__", "diagnose"]


def __getattr__(name: str) -> Any:
    """Import `diagnose` when it is first asked for: ``logdoctor --help`` does not need it."""
    if name == "diagnose":
        from logdoctor.diagnosis import diagnose

        return diagnose
    raise AttributeError(name)
