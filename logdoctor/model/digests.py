"""The BLAKE2b hash function."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # the same as in hashlib, but OpenSSL is not loaded, which takes 3 ms
    except ImportError:
        from hashlib import blake2b

__all__ = ["blake2b"]
