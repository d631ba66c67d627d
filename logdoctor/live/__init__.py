"""Jobs that still run: follow their files, or start their command, and answer the moment something fails.

The answer is that of `diagnose` on the same bytes, because it is `diagnose` that is asked.
"""
