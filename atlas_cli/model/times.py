"""Moments and durations. In memory a moment is whole seconds since 1970 UTC; in records it is RFC
3339 UTC (`…Z`)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ..errors import Usage

FIRST, LAST = -62135596800, 253402300799  # the seconds that RFC 3339 can name
# seconds by which a machine's clock may be wrong: a holder stops so much early, another starts so
# much late
SKEW = 60
LONGEST = 36525 * 86400  # seconds of a duration
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LOCAL = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?"
_DURATION = re.compile(r"(?:[0-9]{1,9}[smhd])+\Z")
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt"
    r" ](\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:([Zz])|([+-])([01]\d|2[0-3]):([0-5]\d))?\Z",
    re.ASCII,
)


def rfc3339(moment: int) -> str:
    """A moment as text: `2026-11-29T14:00:00Z`."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: object) -> int:
    """The seconds since 1970 of a time. A time without a zone is read as UTC. Raises ValueError if
    the text is not a time."""
    match = _MOMENT.match(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a time (2026-11-29T14:00:00Z)")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    when = int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
    if match[8]:
        shift = int(match[9]) * 3600 + int(match[10]) * 60
        when -= shift if match[8] == "+" else -shift
    if not FIRST <= when <= LAST:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999")
    return when


def duration(text: str) -> int:
    """The seconds of `90m`, `2h`, `1h30m`, `45s` or `7d`. Raises Usage for any other text, and for
    more than a hundred years."""
    if not _DURATION.match(text):
        raise Usage(f"{text[:40]!r} is not a duration", "write it like 90m, 2h or 1h30m")
    total = sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([smhd])", text))
    if total == 0:
        raise Usage(f"{text!r} is no time at all", "write it like 90m, 2h or 1h30m")
    if total > LONGEST:
        raise Usage(f"{text!r} is more than a hundred years", "write it like 90m, 2h or 1h30m")
    return total


def span(seconds: int) -> str:
    """A duration for people, in two units at most: `1 h 30 min`."""
    seconds = max(0, seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 48 * 3600:
        minutes = seconds % 3600 // 60
        return f"{seconds // 3600} h" + (f" {minutes} min" if minutes else "")
    return f"{seconds // 86400} days"


def ago(then: int, now: int) -> str:
    """A moment for people, seen from now: `12 min ago`."""
    return f"{span(now - then)} ago" if now >= then else f"{span(then - now)} ahead of this clock"


def since(text: str, now: int) -> int | None:
    """The moment that lies behind, named by `18:00`, `12h`, `2026-11-29` or a full time; None if
    the text is none of these. A time without a zone is local."""
    if _DURATION.match(text):
        return now - duration(text)
    try:
        return typed(text, now, -1)
    except ValueError:
        return None


def ahead(text: str, now: int) -> int:
    """The moment to come, named by `18:00`, `2h` from now, `2026-11-29` or a full time. A time
    without a zone is local. Raises Usage if the text is none of these."""
    try:
        return typed(text, now, 1)
    except ValueError:
        return now + duration(text)


def typed(text: str, now: int, way: int) -> int:
    """The moment of a time as people write it, local if it has no zone: a time of day is the last
    one before now (`way` -1) or the next (1). Raises ValueError if it is none."""
    if re.fullmatch(_LOCAL, text, re.ASCII):
        return _local(datetime.fromisoformat(text))
    if not re.fullmatch(r"\d\d:\d\d", text, re.ASCII):
        return moment(text)
    today = datetime.fromtimestamp(now)
    hour, minute = (int(part) for part in text.split(":"))
    then = today.replace(hour=hour, minute=minute, second=0, fold=0)
    if (_local(then) - now) * way < 0:  # (the clock's day, which may have 23 or 25 hours)
        then += timedelta(days=way)
    return _local(then)


def _local(wall: datetime) -> int:
    """The moment at which the clock on the wall shows a time, the first one if it does so twice."""
    try:
        return int(wall.timestamp())
    except OverflowError:
        raise ValueError(f"{wall} is out of range") from None
