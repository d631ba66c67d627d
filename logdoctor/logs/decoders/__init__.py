"""Prefixes that need code: JSON, syslog programs, host names, quoted lines.

A format file names one of these functions by `decode`.
"""
