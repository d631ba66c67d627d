"""One module for each format, with a function ``render(diagnosis, options) -> str``."""
