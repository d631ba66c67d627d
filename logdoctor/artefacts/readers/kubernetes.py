"""Objects of Kubernetes as JSON: ``kubectl get pods|events|nodes|jobs -o json``.

A list, one object, or several one after another. A manifest, which has no status, is no such document.

Source: Kubernetes 1.22 to 1.34, cli-runtime/pkg/printers/json.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.artefacts.document import Document, Found
from logdoctor.artefacts.json_pieces import objects
from logdoctor.artefacts.kubernetes_objects import KEPT, Objects

KIND = "kubernetes"
# Strings, compiled at first use, because the readers are imported for each log.
_START = rb"\s*\{\s*\"(?:apiVersion|kind|items|metadata|status)\":"
_VERSION = rb"\"apiVersion\":\s*\"(?!audit\.)[\w./-]+\""
_LIVE = (
    rb"\"kind\":\s*\"\w*List\"|\"(?:uid|resourceVersion|creationTimestamp)\":\s*\"\w|\"status\":\s*\{"
    rb"|\"kubectl\.kubernetes\.io/last-applied-configuration\":"
)


def sniff(head: bytes) -> bool:
    return all(re.search(pattern, head) for pattern in (rb"\A" + _START, _VERSION, _LIVE))


def read(document: Document) -> Iterator[Found]:
    told = Objects()
    for piece in objects(document, "items", KEPT):
        yield from told.tell(piece)
    yield from told.events()
