"""Parser for report pages: tags, attributes, links, texts, style and script."""

from __future__ import annotations

import re
from html.parser import HTMLParser

OUR_TAGS = set(
    "html head meta title style body header main section nav footer figure figcaption div p span strong mark code pre a "
    "h1 h2 h3 ul ol li dl dt dd table caption thead tbody tr th td details summary label input script "
    "svg defs circle path line rect text use".split()
)
OUR_ATTRIBUTES = set(
    "aria-hidden aria-label charset class content d focusable height href http-equiv id lang name r rel role rx scope "
    "tabindex type viewport width x x1 x2 y y1 y2 data-copy data-copied data-unfold data-fold data-filter data-found".split()
)
_VOID = {"meta", "input", "hr", "br", "img"}


class Page(HTMLParser):
    """The parts of a page. Every tag must be closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.links, self.ids = set(), set(), [], []
        self.text, self.order, self.open = "", [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.order.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name in {"href", "src"}]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in _VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.text += data


def parse(text):
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open
    return page


def own_code(text):
    return tuple(re.findall(r"<(style|script)\b[^>]*>(.*?)</\1>", text, re.DOTALL))
