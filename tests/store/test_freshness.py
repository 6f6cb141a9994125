"""How old a copy an answer may be read from before it says so: a table of cases."""

from __future__ import annotations

import pytest

from atlas_cli.sharing.freshness import Copy, line

HAD, NEWER = "known here: what hub had", "atlas sync brings what is newer"
AWAY = ", and it gave no answer since"


@pytest.mark.parametrize(
    ("seconds", "silent", "nothing", "fresh", "said"),
    [
        (0, False, True, 60, ""),
        (10, False, True, 60, ""),
        (11, False, True, 60, f"{HAD} 11 s ago; {NEWER}"),
        (11, False, False, 60, ""),
        (60, False, False, 60, ""),
        (61, False, False, 60, f"{HAD} 1 min ago; {NEWER}"),
        (6, False, True, 5, f"{HAD} 6 s ago; {NEWER}"),
        (1, True, False, 60, f"{HAD} 1 s ago{AWAY}; {NEWER}"),
        (1, True, True, 60, f"{HAD} 1 s ago{AWAY}; {NEWER}"),
        (None, False, True, 60, ""),
        (
            None,
            True,
            False,
            60,
            "hub gave no answer yet: what others have published is not known here",
        ),
    ],
)
def test_the_age_is_said_where_it_matters(
    seconds: int | None, silent: bool, nothing: bool, fresh: int, said: str
) -> None:
    assert line(Copy(seconds, silent, fresh, "hub"), nothing) == said
