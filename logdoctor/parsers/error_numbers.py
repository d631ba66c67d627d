"""Error texts of the C library -> Linux error numbers (glibc errlist, English; UCX status.c for its own words)."""

from __future__ import annotations

from collections.abc import Mapping

ERRNO: Mapping[str, int] = {
    "Operation not permitted": 1,
    "No such file or directory": 2,
    "Input/output error": 5,
    "Bad file descriptor": 9,
    "Resource temporarily unavailable": 11,
    "Cannot allocate memory": 12,
    "Permission denied": 13,
    "Bad address": 14,
    "Device or resource busy": 16,
    "No such device": 19,
    "Invalid argument": 22,
    "Too many open files": 24,
    "No space left on device": 28,
    "Broken pipe": 32,
    "Protocol not supported": 93,
    "Operation not supported": 95,
    "Address family not supported by protocol": 97,
    "Address already in use": 98,
    "Cannot assign requested address": 99,
    "Network is down": 100,
    "Network is unreachable": 101,
    "Software caused connection abort": 103,
    "Connection reset by peer": 104,
    "Connection reset by remote peer": 104,
    "Transport endpoint is not connected": 107,
    "Connection timed out": 110,
    "Connection refused": 111,
    "Host is down": 112,
    "Destination is unreachable": 113,
    "No route to host": 113,
    "Remote I/O error": 121,
    "Operation canceled": 125,
}
"""Texts of strerror on Linux, and UCX's own for the same."""


def errno_of(text: str) -> int | None:
    """The error number whose wording stands in ``text``; None where there is none or more than one."""
    found = {number for words, number in ERRNO.items() if words in text}
    return found.pop() if len(found) == 1 else None
