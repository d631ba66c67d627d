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
    from logdoctor.notebook import load_ipython_extension
    from logdoctor.pipeline.diagnosis import diagnose

__all__ = ["__version__", "diagnose", "load_ipython_extension"]


def __dir__() -> list[str]:
    """Name the public functions too, although they are not imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public function on demand, because ``logdoctor --help`` needs none."""
    if name == "diagnose":
        from logdoctor.pipeline.diagnosis import diagnose

        _show_pages_in_notebook()
        return diagnose
    if name == "load_ipython_extension":
        from logdoctor.notebook import load_ipython_extension

        return load_ipython_extension
    raise AttributeError(name)


def _show_pages_in_notebook() -> None:
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell:
        from logdoctor.notebook import load_ipython_extension

        load_ipython_extension(shell)
