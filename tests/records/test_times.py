"""Moments and durations: read exactly, written in one form, and refused where they are none."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_cli.errors import Usage
from atlas_cli.model import times

from .files import FEW, NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("2h", 7200),
        ("1h30m", 5400),
        ("45s", 45),
        ("7d", 604800),
        ("1d2h3m4s", 93784),
        ("10h", 36000),
        ("007m", 420),
    ],
)
def test_a_duration_is_read(text: str, seconds: int) -> None:
    assert times.duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "1",
        "NaN",
        "inf",
        "-1h",
        "1.5h",
        "2H",
        "h",
        "2 h",
        " 2h",
        "2h ",
        "2h\n",
        "1e3s",
        "0m",
        "0h0m",
        "36526d",
        "2hours",
        "٣h",
        "1h-30m",
        "9" * 5000 + "h",
        "\udcff",
        "\0",
    ],
)
def test_what_is_no_duration_is_refused_on_one_line(text: str) -> None:
    with pytest.raises(Usage) as stop:
        times.duration(text)
    assert "\n" not in stop.value.message and stop.value.hint == "write it like 90m, 2h or 1h30m"


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("2026-11-29T14:00:00Z", None),
        ("2026-11-29T14:00:00", "2026-11-29T14:00:00Z"),
        ("2026-11-29 14:00:00z", "2026-11-29T14:00:00Z"),
        ("2026-11-29T14:00:00+05:30", "2026-11-29T08:30:00Z"),
        ("2026-11-29T14:00:00-08:00", "2026-11-29T22:00:00Z"),
        ("2026-11-29T14:00:00.987654321Z", "2026-11-29T14:00:00Z"),
        ("2024-02-29T23:59:59Z", None),
        ("1969-12-31T23:59:59Z", None),
        ("9999-12-31T23:59:59Z", None),
        ("2026-11-29T00:00:00+00:00", "2026-11-29T00:00:00Z"),
    ],
)
def test_a_moment_is_read_and_written_in_utc(text: str, again: str | None) -> None:
    assert times.rfc3339(times.moment(text)) == (again or text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "1764424800",
        1764424800,
        1764424800.5,
        None,
        True,
        ["2026-11-29T14:00:00Z"],
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T23:59:60Z",
        "2026-11-29",
        "2026-11-29T14:00Z",
        "2026-11-29T14:00:00+5:30",
        "2026-11-29T14:00:00+99:99",
        "2026-11-29T14:00:00 UTC",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        "٢٠٢٦-11-29T14:00:00Z",
        "2026-11-29T14:00:00Z\n",
        " 2026-11-29T14:00:00Z",
        "29.11.2026 14:00",
    ],
)
def test_what_is_no_moment_is_named(text: object) -> None:
    with pytest.raises(ValueError):
        times.moment(text)


@FEW
@given(st.integers(times.FIRST + 1000 * 366 * 86400, times.LAST))
def test_every_moment_that_can_be_written_is_read_back(moment: int) -> None:
    assert times.moment(times.rfc3339(moment)) == moment


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (5400, "1 h 30 min"),
        (172799, "47 h 59 min"),
        (172800, "2 days"),
        (10**9, "11574 days"),
    ],
)
def test_a_span_is_said_in_two_units_at_most(seconds: int, text: str) -> None:
    assert times.span(seconds) == text


def test_a_moment_ahead_of_this_clock_is_said_to_be_so() -> None:
    assert times.ago(NOW - 720, NOW) == "12 min ago" and times.ago(NOW, NOW) == "0 s ago"
    assert times.ago(NOW + 7200, NOW) == "2 h ahead of this clock"


def test_since_takes_a_duration_a_day_and_a_moment() -> None:
    assert times.since("12h", NOW) == NOW - 43200
    assert times.since("2026-11-29", NOW) == NOW - 14 * 3600
    assert times.since("2026-11-29T13:00:00Z", NOW) == NOW - 3600
    found = times.since(
        "18:00", NOW
    )  # the local hour: today's, or yesterday's if that is still to come
    assert found is not None and NOW - 86400 < found <= NOW
    assert times.since("2026-11-29 13:00", NOW) == NOW - 3600
    for nonsense in (
        "",
        "soon",
        "25:00",
        "12:60",
        "2026-02-30",
        "1764424800",
        "-1h",
        "\udcff",
        "2026-11-29T14",
    ):
        assert times.since(nonsense, NOW) is None, nonsense


@pytest.fixture
def new_york() -> Iterator[None]:
    """The clock on the wall is New York's, where 2026-11-01 has 25 hours."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "EST5EDT,M3.2.0,M11.1.0"
    time.tzset()
    yield
    del os.environ["TZ"]
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.parametrize(
    ("text", "way", "moment"),
    [
        ("00:30", -1, "2026-11-01T04:30:00Z"),  # before the clocks went back
        ("01:30", -1, "2026-11-01T05:30:00Z"),  # the first of the two
        ("12:01", -1, "2026-10-31T16:01:00Z"),
        ("2026-11-01", -1, "2026-11-01T04:00:00Z"),
        ("2026-10-31", -1, "2026-10-31T04:00:00Z"),
        ("2026-11-01 03:00", -1, "2026-11-01T08:00:00Z"),
        ("2026-11-01T03:00:00Z", -1, "2026-11-01T03:00:00Z"),
        ("18:00", 1, "2026-11-01T23:00:00Z"),
        ("11:59", 1, "2026-11-02T16:59:00Z"),
        ("2026-11-05", 1, "2026-11-05T05:00:00Z"),
    ],
)
def test_a_time_without_a_zone_is_local_also_when_clocks_change(
    new_york: None, text: str, way: int, moment: str
) -> None:
    now = times.moment("2026-11-01T17:00:00Z")  # noon
    assert times.rfc3339(times.typed(text, now, way)) == moment


def test_a_moment_to_come_is_a_time_or_a_duration() -> None:
    assert times.ahead("2h", NOW) == NOW + 7200
    assert times.ahead("2026-12-29T13:00:00Z", NOW) == times.moment("2026-12-29T13:00:00Z")
    for nonsense in ("", "soon", "25:00", "2026-02-30", "-1h"):
        with pytest.raises(Usage, match="not a duration"):
            times.ahead(nonsense, NOW)
