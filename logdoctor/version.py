"""The version, in the one place that packaging, caches and reports read."""

__version__ = "0.2.0"
