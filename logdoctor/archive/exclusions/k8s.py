"""A patch in JSON, which is YAML too, that keeps the pods of a template away from the hosts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from logdoctor.archive.bad_hosts import BadHost
from logdoctor.archive.exclusions import names

LABEL = "kubernetes.io/hostname"


def render(hosts: Sequence[BadHost]) -> str:
    away = {"key": LABEL, "operator": "NotIn", "values": names(hosts)}
    terms = [{"matchExpressions": [away]}] if hosts else []
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    affinity = {"affinity": {"nodeAffinity": required}} if hosts else {}
    return json.dumps({"spec": {"template": {"spec": affinity}}}, indent=1) + "\n"
