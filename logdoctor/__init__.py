"""logdoctor: what went wrong first in a distributed-training job, on which rank, with proof, and what to do."""

__version__ = "0.1.0"
