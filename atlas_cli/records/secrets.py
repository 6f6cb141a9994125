"""Credentials are looked for before anything is stored: history is append-only, so a secret in it must be rotated."""

from __future__ import annotations

import re

from ..errors import Refused

# (what it is, a literal that must be there, the whole form). No entropy: hashes and ids are no secrets.
_KINDS: tuple[tuple[str, bytes, bytes], ...] = (
    ("an Anthropic API key", b"sk-ant-", rb"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("an OpenAI API key", b"sk-", rb"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}"),
    ("an AWS access key", b"AKIA", rb"\bAKIA[0-9A-Z]{16}\b"),
    ("a temporary AWS access key", b"ASIA", rb"\bASIA[0-9A-Z]{16}\b"),
    ("an AWS secret key", b"aws_secret", rb"(?i)aws_secret_access_key\W{1,5}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"),
    ("a GitHub token", b"gh", rb"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    ("a GitHub token", b"github_pat_", rb"\bgithub_pat_[A-Za-z0-9_]{40,}\b"),
    ("a GitLab token", b"glpat-", rb"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", b"xox", rb"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("a Slack webhook", b"hooks.slack.com", rb"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}"),
    ("a Stripe key", b"_live_", rb"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("an npm token", b"npm_", rb"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a PyPI token", b"pypi-", rb"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("a Google API key", b"AIza", rb"\bAIza[A-Za-z0-9_-]{35}\b"),
    ("a SendGrid key", b"SG.", rb"\bSG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{40,}"),
    ("a Twilio key", b"SK", rb"\bSK[0-9a-f]{32}\b"),
    ("a DigitalOcean token", b"do", rb"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("a Hugging Face token", b"hf_", rb"\bhf_[A-Za-z0-9]{34,}\b"),
    ("a Docker token", b"dckr_pat_", rb"\bdckr_pat_[A-Za-z0-9_-]{20,}"),
    ("a Shopify token", b"shp", rb"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("a Square token", b"sq0", rb"\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"),
    ("a Databricks token", b"dapi", rb"\bdapi[a-f0-9]{32}\b"),
    ("a JSON web token", b"eyJ", rb"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    ("a private key", b"PRIVATE KEY", rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    ("a password in a URL", b"://", rb"\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{1,64}:[^\s/:@]{3,256}@[^\s/@]"),
)


def find(data: bytes) -> str | None:
    """What kind of credential stands in the bytes; None for none of those listed."""
    lower = data.lower()
    for what, literal, form in _KINDS:
        if (literal in data or literal in lower) and re.search(form, data):
            return what
    return None


def refuse(data: bytes) -> None:
    """Refused for a credential; the message does not repeat it."""
    if found := find(data):
        raise Refused(
            f"the text holds what looks like {found}; nothing was stored",
            "take it out; if it is real it was already in this session's hands: rotate it",
            code="secret",
        )
