"""Tools that run the job, known by the formats of its records: scheduler, launcher, framework, MPI library."""

from __future__ import annotations

from collections.abc import Collection, Mapping

TOOLS: Mapping[str, Mapping[str, str]] = {
    "scheduler": {
        "slurm": "slurm",
        "kubernetes": "kubernetes",
        "flux": "flux",
        "flux_broker": "flux",
        "yarn": "yarn",
        "grid_engine": "grid_engine",
    },
    "launcher": {"elastic": "torchrun", "openmpi": "mpirun", "mpich": "mpiexec", "slurm": "srun", "ray": "ray"},
    "framework": {
        "c10d": "pytorch",
        "c10d_store": "pytorch",
        "c10d_usage": "pytorch",
        "elastic": "pytorch",
        "torch_compile": "pytorch",
        "lightning": "pytorch",
        "xla": "xla",
        "ray": "ray",
        "dask": "dask",
    },
    "mpi": {"openmpi": "openmpi", "mpich": "mpich", "msmpi": "msmpi", "poe": "poe"},
}
"""For each kind of tool: format -> tool, the most telling format first.

``mpich`` stands for Intel MPI and MVAPICH too.
"""

Tools = Mapping[str, Collection[str]]
"""Kind of tool -> the tools that the job uses. A kind without a tool is not known."""


def tools_of(formats: Collection[str]) -> Tools:
    """Return the tools that printed records of ``formats``."""
    return {
        kind: tuple(dict.fromkeys(tool for log_format, tool in table.items() if log_format in formats))
        for kind, table in TOOLS.items()
    }
