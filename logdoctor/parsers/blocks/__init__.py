"""Readers of records of several lines, and of lines whose fields take more than a pattern; the dialects name them."""
