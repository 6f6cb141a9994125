"""The search for credentials, before anything is stored. History is append-only, so a secret that
gets into it must be rotated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..errors import AtlasError, Refused

# (what it is, a literal that must be there, the whole form). No entropy: hashes and ids are no
# secrets. Each form is looked for in time that grows with the length only: what is not bounded ends
# where no other can begin.
_KINDS: tuple[tuple[str, bytes, bytes], ...] = (
    ("an Anthropic API key", b"sk-ant-", rb"sk-ant-[A-Za-z0-9_-]{20,}"),
    (
        "an OpenAI API key",
        b"sk-",
        rb"\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|[A-Za-z0-9]{32,})",
    ),
    ("an OpenRouter API key", b"sk-or-", rb"\bsk-or-v1-[0-9a-f]{64}"),
    ("an AWS access key", b"AKIA", rb"\bAKIA[0-9A-Z]{16}\b"),
    ("a temporary AWS access key", b"ASIA", rb"\bASIA[0-9A-Z]{16}\b"),
    (
        "an AWS secret key",
        b"aws_secret",
        rb"(?i)aws_secret_access_key\W{1,5}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])",
    ),
    ("a GitHub token", b"gh", rb"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    ("a GitHub token", b"github_pat_", rb"\bgithub_pat_[A-Za-z0-9_]{40,}\b"),
    ("a GitLab token", b"glpat-", rb"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", b"xox", rb"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    (
        "a Slack webhook",
        b"hooks.slack.com",
        rb"hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}",
    ),
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
    (
        "a JSON web token",
        b"eyJ",
        rb"(?<![\w-])(?>[\w-]*?\beyJ)[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{20,}",
    ),
    (
        "a private key",
        b"PRIVATE KEY",
        rb"-----BEGIN (?:[A-Z0-9]{1,20} ){0,5}PRIVATE KEY(?: BLOCK)?-----",
    ),
    # (not what stands for one: `${TOKEN}`, `<password>`, `***`, `%s`, the word itself)
    (
        "a password in a URL",
        b"://",
        rb"(?i)\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,64}:"
        rb"(?!(?:pass(?:word|wd)?|pwd|x+|[*.]+)@)(?![${<\[]|%[s({])[^\s/:@]{3,256}@[^\s/@]",
    ),
)


# In the text of a record, where `\n` would pass for the end of a word.
_ESCAPE = re.compile(rb"\\.", re.DOTALL)


def find(data: bytes, known: Iterable[bytes] = ()) -> str | None:
    """The kind of credential that stands in the bytes but in none of the `known` texts; None if
    there is none."""
    already: set[bytes] | None = None
    for what, form in _forms(data):
        for match in form.finditer(data):
            if already is None:
                already = set(_matches(known))
            if match[0] not in already:
                return what
    return None


def _matches(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Everything in the texts that looks like a credential."""
    for text in texts:
        for _, form in _forms(text):
            for match in form.finditer(text):
                yield match[0]


def _forms(data: bytes) -> Iterator[tuple[str, re.Pattern[bytes]]]:
    """The forms whose literal stands in the bytes: only these can match."""
    lower = data.lower()
    for what, literal, form in _KINDS:
        if literal in data or literal in lower:
            yield what, re.compile(form)


def refusal(what: str, where: str = "the text") -> Refused:
    """The refusal of a credential. It does not repeat the credential."""
    return Refused(
        f"{where} holds what looks like {what}; nothing was stored",
        "take it out; if it is real it was already in this session's hands: rotate it",
        code="secret",
    )


def refuse(data: bytes, where: str = "the text") -> None:
    """Raises Refused if the bytes hold a credential."""
    if what := find(data):
        raise refusal(what, where)


def brought(data: bytes, known: Iterable[bytes]) -> str | None:
    """The kind of credential that the bytes hold, escaped or not, and that none of the known texts
    holds."""
    known = [form for text in known for form in readings(text)]
    return next((what for form in readings(data) if (what := find(form, known))), None)


def readings(data: bytes) -> Iterator[bytes]:
    """The bytes as they are, and without their escapes if they have any."""
    yield data
    if b"\\" in data:
        yield _ESCAPE.sub(b" ", data)


def kept_by(stop: AtlasError) -> str | None:
    """The kind of credential that a refusal would keep with what it carries: the user's own text,
    its merge, the command that submits it."""
    base, theirs, mine = stop.details.get("merge") or ("", "", "")
    own = [mine, *(stop.details.get(key) or "" for key in ("body", "merged", "submit"))]
    known = [base, theirs, stop.details.get("carried", "")]
    return brought(joined(own), [joined(known)])


def spoken(data: bytes, words: Iterable[str]) -> str | None:
    """The kind of credential in a text that was given, or in the command that it was given to."""
    return find(data) or find(joined(words))


def joined(texts: Iterable[str]) -> bytes:
    """The texts as bytes, a line each."""
    return "\n".join(texts).encode(errors="replace")
