"""Credentials of a listed kind are refused before anything is stored; what only looks long or
random is not."""

from __future__ import annotations

import hashlib
import time
import uuid
from re import _parser as sre_parse  # type: ignore[attr-defined]
from typing import Any

import pytest

from atlas_cli.errors import Refused
from atlas_cli.model import secrets


def letters(count: int, of: str = "aB3dE5gH7jK9mN1pQ4rS6tV8wX2yZ0") -> str:
    """So many characters that look random; none of these keys was ever valid, and none stands here
    whole."""
    return (of * 9)[:count]


HEX, UPPER = "0123456789abcdef", "A1B2C3D4E5F6G7H8"
# what it is called: the samples, put together here
SAMPLES = {
    "an Anthropic API key": ["sk-ant-" + "api03-" + letters(93)],
    "an OpenAI API key": [
        "sk-" + letters(48),
        "sk-" + "proj-" + letters(60),
        "sk-" + "svcacct-" + letters(40),
    ],
    "an AWS access key": ["AKIA" + letters(16, UPPER)],
    "a temporary AWS access key": ["ASIA" + letters(16, UPPER)],
    "an AWS secret key": [
        "aws_secret_" + "access_key = " + letters(40),
        "AWS_SECRET_" + "ACCESS_KEY='" + letters(38) + "/+'",
    ],
    "a GitHub token": [f"gh{kind}_" + letters(36) for kind in "pousr"]
    + ["github_" + "pat_" + letters(22) + "_" + letters(59)],
    "a GitLab token": ["glpat-" + letters(20)],
    "a Slack token": [f"xox{kind}-" + "123456789012-" + letters(24) for kind in "abp"],
    "a Slack webhook": ["https://hooks.slack.com/" + "services/T00000000/B00000000/" + letters(24)],
    "a Stripe key": ["sk_" + "live_" + letters(24), "rk_" + "live_" + letters(24)],
    "an npm token": ["npm_" + letters(36)],
    "a PyPI token": ["pypi-" + "AgEIcHlwaS5vcmc" + letters(60)],
    "a Google API key": ["AIza" + letters(35)],
    "a SendGrid key": ["SG." + letters(22) + "." + letters(43)],
    "a Twilio key": ["SK" + letters(32, HEX)],
    "a DigitalOcean token": [f"do{kind}_v1_" + letters(64, HEX) for kind in "opr"],
    "a Hugging Face token": ["hf_" + letters(34)],
    "a Docker token": ["dckr_" + "pat_" + letters(27)],
    "a Shopify token": ["shp" + "at_" + letters(32, HEX)],
    "a Square token": ["sq0" + "atp-" + letters(22), "sq0" + "csp-" + letters(43)],
    "a Databricks token": ["dapi" + letters(32, HEX)],
    "a JSON web token": ["eyJ" + letters(20) + ".eyJ" + letters(30) + "." + letters(43)],
    "a private key": [
        f"-----BEGIN {kind}PRIVATE KEY{end}-----"
        for kind, end in (("", ""), ("RSA ", ""), ("OPENSSH ", ""), ("PGP ", " BLOCK"))
    ],
    "a password in a URL": [
        "https://user:" + "s3cret" + "@example.com/x",
        "postgres://app:" + "pa55word" + "@db:5432/app",
        "redis://:" + "s3cret" + "@cache:6379",
        "HTTPS://user:" + "s3cret" + "@example.com",
    ],
    "an OpenRouter API key": ["sk-" + "or-v1-" + letters(64, HEX)],
}
PROSE = """The parser is done, the cache is open. Ask the task-runner (risk-free) about desk-4 and the sk-ip list; see
https://example.com:8080/a/b?c=d@e and git@github.com:owner/name.git and user@host. The keys AKIA and ghp_ are prefixes.
"""
BENIGN = [
    hashlib.sha1(b"x").hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    hashlib.sha512(b"x").hexdigest(),
    str(uuid.UUID(int=2**127 + 5)),
    PROSE,
    "sk-short",
    "SK" + "G" * 32,
    "https://user:${TOKEN}@example.com",
    "https://user:<password>@example.com",
    "postgres://app:password@db:5432/app",
    "mysql://app:***@db",
    "postgres://%s:%s@%s/app",
    "sk-" + "a-slug-of-words-that-is-longer-than-a-key",
    "npm_config_registry=https://registry.npmjs.org",
    "AIzaXX",
    "hf_hub_download",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "aws_secret_access_key = ${AWS_SECRET}",
    "http://localhost:8080/@scope/name",
    "ssh://git@host:22/x",
    "eyJ.eyJ.x",
    "status:main@12~3f9c01ab77de",
    "data:image/png;base64," + letters(300),
    "diff --git a/x b/x\nindex 83db48f..bf2a7c1 100644\n@@ -1,2 +1,2 @@\n-a\n+b\n",
    "https://[::1]:8080/x",
    "mailto:a@b.c",
    "shpat_",
    "Atlas-Change: " + letters(64, HEX),
    "",
]


@pytest.mark.parametrize(
    ("what", "sample"),
    [(what, sample) for what, found in SAMPLES.items() for sample in found],
    ids=[f"{what}-{n}" for what, found in SAMPLES.items() for n in range(len(found))],
)
def test_a_credential_is_refused_and_the_message_does_not_repeat_it(what: str, sample: str) -> None:
    for around in (
        "{}",
        "token: {}\n",
        'export KEY="{}"',
        "a line\n{}\nanother\n",
        "x" * 1000 + " {} " + "y" * 1000,
    ):
        with pytest.raises(Refused) as stop:
            secrets.refuse(around.format(sample).encode())
        assert stop.value.code == "secret" and what in stop.value.message
        said = " ".join(
            (stop.value.message, stop.value.hint, str(stop.value.details), str(stop.value.blocks))
        )
        assert (
            not any(sample[at : at + 10] in said for at in range(8, len(sample) - 9))
            or "PRIVATE KEY" in sample
        )


@pytest.mark.parametrize("text", BENIGN)
def test_what_is_no_credential_passes(text: str) -> None:
    assert secrets.find(text.encode()) is None
    secrets.refuse(f"see {text}\n".encode())


def test_every_listed_kind_has_a_sample() -> None:
    assert set(SAMPLES) == {what for what, _, _ in secrets._KINDS}


def test_bytes_of_any_kind_and_length_are_looked_through() -> None:
    assert (
        secrets.find(b"\xff\0" * 1000 + SAMPLES["a GitLab token"][0].encode() + b"\xff")
        == "a GitLab token"
    )


# Beginnings of each form, which the text repeats: none may be looked at again from each of its own
# places.
BEGINNINGS = [
    "-eyJ",
    "eyJa.",
    ".eyJ",
    "eyJ-eyJ.",
    "sk-",
    "a-",
    "a.",
    "a.b://",
    "://x:",
    "AKIA",
    "ghp_",
    "ghp_a",
    "glpat-",
    "xoxb-",
    "hooks.slack.com/services/T",
    "SG.",
    "-SG.",
    "aaaaaaaaaaaaaaaaaaaaaaa.",
    "-----BEGIN ",
    "-----BEGIN A ",
    "A ",
    "aws_secret_access_key ",
    "hf_",
    "shpat_",
    "sq0atp-",
    "pypi-AgE",
    "\\",
]


@pytest.mark.parametrize("part", BEGINNINGS)
@pytest.mark.parametrize("tail", ["", ".eyJ_://@x"])
def test_no_text_costs_more_than_its_length(part: str, tail: str) -> None:
    """The bound is only there so that it cannot hang: what is looked for anew from each place takes
    minutes."""
    head = " ".join(
        literal.decode() for _, literal, _ in secrets._KINDS
    )  # so that every form is looked for
    assert secrets.find(f"{head} eyJ ".encode()) is None
    text = f"{head} eyJ {part * (2**18 // len(part))}{tail}".encode()
    began = time.process_time()
    secrets.find(text)
    assert time.process_time() - began < 5


def test_what_stood_there_before_is_not_brought_along() -> None:
    one, other = SAMPLES["a GitHub token"][0], SAMPLES["a GitHub token"][1]
    assert secrets.find(f"a {one} b".encode(), [f"x\n{one}\n".encode()]) is None
    assert secrets.find(f"a {one} {other}".encode(), [one.encode()]) == "a GitHub token"
    assert secrets.find(f"{one}X".encode(), [one.encode()]) == "a GitHub token", (
        "a longer one is another"
    )


def test_a_form_has_no_open_repetition_within_another() -> None:
    """(Nested, they would try each way to share the text among them.)"""
    for what, _, form in secrets._KINDS:
        assert _open_within(sre_parse.parse(form)) is False, what


def _open_within(parsed: Any, inside: bool = False) -> bool:
    """Whether a repetition without an end stands inside of another."""
    for name, value in parsed:
        again = str(name) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
        endless = again and value[1] == sre_parse.MAXREPEAT
        if endless and inside:
            return True
        parts = [value[2]] if again else value[1] if str(name) == "BRANCH" else []
        parts = [value[-1]] if str(name) in ("SUBPATTERN", "ATOMIC_GROUP") and not again else parts
        parts = [value] if str(name) == "ATOMIC_GROUP" else parts
        if any(_open_within(part, inside or endless) for part in parts):
            return True
    return False
