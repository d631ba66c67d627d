"""BLAKE2b, by which contents are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # what hashlib gives too, without loading OpenSSL: 3 ms of each start
    except ImportError:
        from hashlib import blake2b

__all__ = ["blake2b"]
