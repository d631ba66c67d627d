"""Readers of multi-line records.

Formats name them. They also read lines whose fields need more than a pattern.
"""
