"""What each CI says of the commits that it is about."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_cli.checks.ci import CiRange, ci_range

A, B, ZERO = "a" * 40, "b" * 40, "0" * 40
GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REF_NAME": "main"}
CASES: list[tuple[dict[str, str], dict[str, Any], tuple[str | None, ...]]] = [
    ({}, {}, (None, None, None, None)),
    ({"GITHUB_REF_NAME": "x", "CI": "true"}, {"before": A}, (None, None, None, None)),
    (GITHUB, {"before": A, "after": B}, (A, B, "main", None)),
    (GITHUB, {"before": ZERO, "after": B}, (None, B, "main", None)),
    (
        GITHUB | {"GITHUB_BASE_REF": "main"},
        {"pull_request": {"base": {"sha": A, "ref": "main"}, "head": {"sha": B}}},
        (A, B, "main", "main"),
    ),
    (
        GITHUB,
        {"merge_group": {"base_sha": A, "head_sha": B, "base_ref": "refs/heads/main"}},
        (A, B, "main", "main"),
    ),
    (GITHUB, {"pull_request": None}, (None, None, "main", None)),  # a schedule
    (
        {
            "GITLAB_CI": "true",
            "CI_COMMIT_BEFORE_SHA": A,
            "CI_COMMIT_SHA": B,
            "CI_COMMIT_BRANCH": "main",
        },
        {},
        (A, B, "main", None),
    ),
    (
        {
            "GITLAB_CI": "true",
            "CI_COMMIT_BEFORE_SHA": ZERO,
            "CI_COMMIT_SHA": "c",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": A,
            "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": B,
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        },
        {},
        (A, B, None, "main"),
    ),
    (
        {
            "JENKINS_URL": "x",
            "GIT_PREVIOUS_COMMIT": A,
            "GIT_COMMIT": B,
            "GIT_BRANCH": "origin/main",
        },
        {},
        (A, B, "main", None),
    ),
    (
        {
            "JENKINS_URL": "x",
            "GIT_PREVIOUS_COMMIT": A,
            "GIT_COMMIT": B,
            "BRANCH_NAME": "PR-1",
            "CHANGE_TARGET": "main",
        },
        {},
        (None, B, "PR-1", "main"),
    ),
    (
        {
            "BUILDKITE": "true",
            "BUILDKITE_COMMIT": B,
            "BUILDKITE_BRANCH": "x",
            "BUILDKITE_PULL_REQUEST_BASE_BRANCH": "",
        },
        {},
        (None, B, "x", None),
    ),
    ({"CIRCLECI": "true", "CIRCLE_SHA1": B, "CIRCLE_BRANCH": "main"}, {}, (None, B, "main", None)),
    (
        {
            "TF_BUILD": "True",
            "BUILD_SOURCEVERSION": B,
            "BUILD_SOURCEBRANCH": "refs/pull/1/merge",
            "SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main",
        },
        {},
        (None, B, "refs/pull/1/merge", "main"),
    ),
    (
        {
            "BITBUCKET_BUILD_NUMBER": "1",
            "BITBUCKET_COMMIT": B,
            "BITBUCKET_BRANCH": "x",
            "BITBUCKET_PR_DESTINATION_COMMIT": A,
            "BITBUCKET_PR_DESTINATION_BRANCH": "main",
        },
        {},
        (A, B, "x", "main"),
    ),
]


@pytest.mark.parametrize(("environ", "event", "wanted"), CASES)
def test_the_range_is_what_the_variables_say(
    environ: dict[str, str], event: dict[str, Any], wanted: tuple[str | None, ...]
) -> None:
    found = ci_range(environ, event)
    assert (found.base, found.head, found.branch, found.target) == wanted
    assert found.depth and (bool(found.name) == (found != CiRange()))
