"""The commits that continuous integration is about, as each service says it: one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class CiRange(NamedTuple):
    """The commits after `base` up to `head`, of a branch or on the way to one (`target`: that of a
    merge request). A field is None if the service does not say it. `depth` is the way to the whole
    history there."""

    name: str = ""
    base: str | None = None
    head: str | None = None
    branch: str | None = None
    target: str | None = None
    depth: str = "git fetch --unshallow"


# name, the variable that tells it, and the variables (each the first that is set) of: the commit
# that a merge request starts from, the commit before a push, the newest commit, the branch, a merge
# request's target; then the remedy.
_Row = tuple[str, str, str, str, str, str, str, str]
_TABLE: tuple[_Row, ...] = (
    (
        "GitHub Actions",
        "GITHUB_ACTIONS",
        "",
        "",
        "",
        "GITHUB_REF_NAME",
        "GITHUB_BASE_REF",
        "give actions/checkout `fetch-depth: 0`",
    ),
    (
        "GitLab CI",
        "GITLAB_CI",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA",
        "CI_COMMIT_BEFORE_SHA",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA CI_COMMIT_SHA",
        "CI_COMMIT_BRANCH",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
        "set the job's variable GIT_DEPTH to 0",
    ),
    (
        "Jenkins",
        "JENKINS_URL",
        "",
        "GIT_PREVIOUS_COMMIT",
        "GIT_COMMIT",
        "BRANCH_NAME GIT_BRANCH",
        "CHANGE_TARGET",
        "switch the shallow clone off in the job's clone behaviours",
    ),
    (
        "Buildkite",
        "BUILDKITE",
        "",
        "",
        "BUILDKITE_COMMIT",
        "BUILDKITE_BRANCH",
        "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
        "leave --depth out of BUILDKITE_GIT_CLONE_FLAGS",
    ),
    (
        "CircleCI",
        "CIRCLECI",
        "",
        "",
        "CIRCLE_SHA1",
        "CIRCLE_BRANCH",
        "",
        "give checkout `method: full`",
    ),
    (
        "Azure Pipelines",
        "TF_BUILD",
        "",
        "",
        "BUILD_SOURCEVERSION",
        "BUILD_SOURCEBRANCH",
        "SYSTEM_PULLREQUEST_TARGETBRANCH",
        "give checkout `fetchDepth: 0`",
    ),
    (
        "Bitbucket Pipelines",
        "BITBUCKET_BUILD_NUMBER",
        "BITBUCKET_PR_DESTINATION_COMMIT",
        "",
        "BITBUCKET_COMMIT",
        "BITBUCKET_BRANCH",
        "BITBUCKET_PR_DESTINATION_BRANCH",
        "give clone `depth: full`",
    ),
)


def ci_range(environ: Mapping[str, str], event: Mapping[str, Any]) -> CiRange:
    """The commits that these variables name. `event` is GitHub's, from the file that
    GITHUB_EVENT_PATH names."""
    for name, mark, base, before, head, branch, target, depth in _TABLE:
        if not environ.get(mark):
            continue
        onto = _branch(environ, target)
        ci = CiRange(
            name,
            _id(environ, base if onto else before),
            _id(environ, head),
            _branch(environ, branch),
            onto,
            depth,
        )
        return _github(ci, event) if mark == "GITHUB_ACTIONS" else ci
    return CiRange()


def _github(ci: CiRange, event: Mapping[str, Any]) -> CiRange:
    request, queue = event.get("pull_request") or {}, event.get("merge_group") or {}
    base, head = request.get("base") or {}, request.get("head") or {}
    ids = {
        "base": base.get("sha") or queue.get("base_sha") or event.get("before"),
        "head": head.get("sha") or queue.get("head_sha") or event.get("after"),
    }
    target = base.get("ref") or queue.get("base_ref") or ci.target
    return ci._replace(
        target=_short(target or "") or None, base=_id(ids, "base"), head=_id(ids, "head")
    )


def _id(values: Mapping[str, Any], keys: str) -> str | None:
    """The first of these that is set. A commit of zeros is none."""
    ids = (str(values.get(key) or "") for key in keys.split())
    return next((id for id in ids if id.strip("0")), None)


def _branch(environ: Mapping[str, str], keys: str) -> str | None:
    return next((_short(environ[key]) for key in keys.split() if environ.get(key)), None)


def _short(branch: str) -> str:
    return branch.removeprefix("refs/heads/").removeprefix("origin/")
