"""Objects of Kubernetes as YAML: ``kubectl get pods|events|nodes|jobs -o yaml``.

A manifest, which has no status, is no such document.

Source: Kubernetes 1.22 to 1.34, cli-runtime/pkg/printers/yaml.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.artefacts.document import CutOff, Document, Found
from logdoctor.artefacts.kubernetes_objects import KEPT, Objects
from logdoctor.artefacts.yaml_pieces import objects

KIND = "kubernetes-yaml"
HAS_NO_END = True
# Strings, compiled at first use, because the readers are imported for each log.
_START = rb"(?:---\s+)?(?:apiVersion|kind|items|metadata):[ \r\n]"
_VERSION = rb"(?:\A|[\n -])apiVersion: \"?(?!audit\.)[\w./-]+\"?\r?\n"
_LIVE = (
    rb"(?:\A|\n)(?:kind: \w*List|status:)\s|\n +(?:uid|resourceVersion|creationTimestamp): [\"\w]"
    rb"|\n +kubectl\.kubernetes\.io/last-applied-configuration:"
)


def sniff(head: bytes) -> bool:
    return all(re.search(pattern, head) for pattern in (rb"\A" + _START, _VERSION, _LIVE))


def read(document: Document) -> Iterator[Found]:
    told = Objects()
    for piece in objects(document, "items", KEPT):
        if not piece.where and "kind" not in piece.value:  # kubectl writes the kind of a list behind its items
            raise CutOff(f"it ends within a list that begins on line {piece.line}")
        yield from told.tell(piece)
    yield from told.events()
