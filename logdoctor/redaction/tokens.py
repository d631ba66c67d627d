"""Tokens that are recognised by their own prefix and length.

The plugins of detect-secrets (1.5.0, May 2024) are not used. Importing them takes 0.4 s, because they load an HTTP
client to test secrets. They know no tokens of Hugging Face, W&B, NGC, Google or Databricks.
"""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.pack.regexes import later
from logdoctor.redaction.spans import Span, group_span

_MIXED = r"(?=[\w-]*[A-Z])(?=[\w-]*\d)"
"""Requires a capital and a digit, to exclude words with hyphens."""

TYPES = (
    ("private-key", "-----BEGIN", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*"),
    ("jwt", "eyJ", r"eyJ[\w-]{8,}\.eyJ[\w-]{4,}(?:\.[\w-]{4,})?"),
    ("aws-key-id", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"gh[opsur]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}"),
    (
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas|ffct)-[\w.-]{20,255}",
    ),
    ("slack-token", "xox xapp-", r"xox[abeoprs](?:\.xox[a-z])?-[\w-]{10,250}|xapp-\d-[\w-]{10,250}"),
    ("slack-webhook", "hooks.slack.com/", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/+-]{20,200}"),
    ("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,60}"),
    (
        "wandb-key",
        "wandb WANDB Wandb W&B local-",
        r"(?:(?<=(?i:wandb)[^\n]{0,60}\b(?i:key|login)\W[^\n]{0,24})|local-)[0-9a-f]{40}|wandb_v\d_\w{40,120}",
    ),
    ("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,200}"),
    ("openai-key", "sk-", rf"sk-{_MIXED}[\w-]{{20,250}}"),
    ("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    ("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,90}"),
    ("google-key", "AIza", r"AIza[\w-]{35}"),
    ("google-oauth", "ya29. GOCSPX- 1//0", r"ya29\.[\w-]{20,400}|GOCSPX-[\w-]{28}|1//0[\w-]{40,200}"),
    ("azure-storage-key", "==", r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{86}=="),
    ("azure-secret", "Q~", r"[\w~.-]{3}\dQ~[\w~.-]{31,34}"),
    ("nvidia-key", "nvapi-", r"nvapi-[\w-]{40,100}"),
    ("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("docker-token", "dckr_", r"dckr_[a-z]at_[\w-]{20,60}"),
    ("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("package-index-token", "pypi-AgE", r"pypi-AgE[\w-]{50,400}"),
    ("stripe-key", "sk_ rk_ whsec_", r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,250}"),
    ("sendgrid-key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    ("twilio-key", "SK", r"SK[0-9a-f]{32}"),
    ("telegram-token", ":AA", r"\d{8,10}:AA[\w-]{33}"),
    ("discord-token", ".", r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27,38}"),
    ("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,300}"),
    ("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,80}"),
    ("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("grafana-token", "glsa_ glc_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2}"),
    ("newrelic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("tailscale-key", "tskey-", r"tskey-[a-z]+-[\w-]{20,80}"),
    ("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    ("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("pinecone-key", "pcsk_", r"pcsk_\w{40,90}"),
    ("runpod-key", "rpa_", r"rpa_[A-Z0-9]{30,60}"),
    ("atlassian-token", "ATATT3", r"ATATT3[\w=-]{60,250}"),
    ("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}"),
    ("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)
"""Types of tokens as triples of name, hints and pattern.

A token contains at least one of the hints. The first match counts.
"""

_PATTERNS = tuple(
    (name, tuple(hints.split()), later(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"))
    for name, hints, pattern in TYPES
)
# A line of Base64 alone is the body of a private key or a certificate.
_KEY_BODY = later(
    r"^(?:\[[\w.-]{1,40}\]:? ?)?(?P<v>(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[A-Za-z0-9+/]{40,76}={0,2})\s*$"
)


def find_tokens(text: str) -> Iterator[Span]:
    """Yield the tokens and key bodies in ``text``."""
    for name, hints, pattern in _PATTERNS:
        if any(hint in text for hint in hints):
            for match in pattern.finditer(text):
                yield group_span(match, "secret", name)
    if body := _KEY_BODY.search(text):
        yield group_span(body, "secret", "private-key", "v")
