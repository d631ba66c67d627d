"""One module a format: ``NAME`` and ``render(diagnosis, page) -> str``; `logdoctor.render` finds it by itself."""
