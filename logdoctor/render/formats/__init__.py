"""One module a format, called like it: ``render(diagnosis, page) -> str``; `logdoctor.render` finds it by itself."""
