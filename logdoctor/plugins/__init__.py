"""Plug-ins for other programs, each a few lines on the Python surface."""
