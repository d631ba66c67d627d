"""The zstd library that inputs are unpacked with: of Python from 3.14 on, before that a package."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKAGE = zstd.__name__.partition(".")[0]
compress = zstd.compress
