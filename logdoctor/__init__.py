"""Find the first failure of a distributed-training job in its logs.

A diagnosis names the failure, its rank and host, its proof, and what to do.

>>> import logdoctor
>>> diagnosis = logdoctor.diagnose("corpus/oom-kill/job.log")   # doctest: +SKIP
>>> diagnosis.verdict, diagnosis.causes[0].signature            # doctest: +SKIP
('failed', 'host.oom-kill')
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from logdoctor.version import __version__

if TYPE_CHECKING:
    from logdoctor.api import explain, scan
    from logdoctor.diff import compare
    from logdoctor.model import Diagnosis, InputError, LogdoctorError
    from logdoctor.notebook import load_ipython_extension
    from logdoctor.pipeline.diagnosis import diagnose, events

_HOMES = {
    "compare": "logdoctor.diff",
    "diagnose": "logdoctor.pipeline.diagnosis",
    "events": "logdoctor.pipeline.diagnosis",
    "explain": "logdoctor.api",
    "load_ipython_extension": "logdoctor.notebook",
    "scan": "logdoctor.api",
    **dict.fromkeys(("Diagnosis", "InputError", "LogdoctorError"), "logdoctor.model"),
}
"""The module of each public name."""
__all__ = [
    "Diagnosis",
    "InputError",
    "LogdoctorError",
    "__version__",
    "compare",
    "diagnose",
    "events",
    "explain",
    "load_ipython_extension",
    "scan",
]


def __dir__() -> list[str]:
    """Name the public names too, although they are not imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name on demand, because ``logdoctor --help`` needs none."""
    if name in _HOMES:
        from importlib import import_module

        if name == "diagnose":
            _show_pages_in_notebook()
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(name)


def _show_pages_in_notebook() -> None:
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell:
        from logdoctor.notebook import load_ipython_extension

        load_ipython_extension(shell)
