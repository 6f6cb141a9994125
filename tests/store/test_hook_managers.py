"""Beside the real managers of hooks, from their registries: both run, in both orders, after the
other's second installation, and after either is gone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ..conftest import ROOT, Atlas, Git

FRAMEWORK = """\
repos:
- repo: local
  hooks:
  - {id: mine, name: mine, entry: sh -c 'echo ran >>"$LOG"', language: system, always_run: true,
     pass_filenames: false, stages: [pre-commit, pre-push]}
"""
TYPES = "-t pre-commit -t prepare-commit-msg -t commit-msg -t pre-push"
LEFTHOOK = "".join(
    f'{name}: {{commands: {{mine: {{run: echo ran >>"$LOG"}}}}}}\n'
    for name in ("pre-commit", "pre-push")
)


class Manager(NamedTuple):
    """A manager of hooks: its files in a project, and how it is installed and taken out."""

    files: dict[str, str]
    install: str
    uninstall: str
    managed: bool = False  # Atlas goes into its files, on request


MANAGERS = {
    "pre-commit": Manager(
        {".pre-commit-config.yaml": FRAMEWORK},
        f"pre-commit install {TYPES}",
        f"pre-commit uninstall {TYPES}",
    ),
    "prek": Manager(
        {".pre-commit-config.yaml": FRAMEWORK},
        f"prek install {TYPES}",
        f"prek uninstall {TYPES}",
    ),
    "lefthook": Manager(
        {"lefthook.yml": LEFTHOOK}, "lefthook install", "lefthook uninstall", managed=True
    ),
    "husky": Manager(
        {
            "package.json": "{}\n",
            ".husky/pre-commit": 'echo ran >>"$LOG"\n',
            ".husky/pre-push": 'echo ran >>"$LOG"\n',
        },
        "husky",
        "git config --unset core.hooksPath",
        managed=True,
    ),
}
pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folders of the managers' programs, for PATH. Skips where no registry is reached."""
    folder = tmp_path_factory.mktemp("managers")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    wanted = ["pre-commit", "prek", "lefthook"]
    steps = [[folder / "venv/bin/pip", "install", "-q", *wanted]]
    if shutil.which("npm"):
        (folder / "package.json").write_text("{}\n")
        steps.append(["npm", "install", "--silent", "--prefix", folder, "husky@9"])
    for step in steps:
        if subprocess.run(step, capture_output=True, check=False).returncode:
            pytest.skip("no registry can be reached")
    return f"{folder / 'venv/bin'}{os.pathsep}{folder / 'node_modules/.bin'}"


class Project:
    """A project with a store and a session, whose hooks a manager keeps as well."""

    def __init__(self, repo: Path, env: dict[str, str], tools: str, name: str) -> None:
        self.repo, self.name, self.manager = repo, name, MANAGERS[name]
        self.log = repo.parent / "LOG"
        self.env = env | {"PATH": f"{env['PATH']}{os.pathsep}{tools}", "LOG": str(self.log)}
        self.env["HUSKY"] = "1"
        if shutil.which(self.manager.install.split()[0], path=self.env["PATH"]) is None:
            pytest.skip(f"there is no {name}")
        for file, text in self.manager.files.items():
            (repo / file).parent.mkdir(exist_ok=True)
            (repo / file).write_text(text)
        self.run("git init -q --bare ../hub.git")
        self.run("git remote add origin ../hub.git")
        self.run("git add .")
        self.run("git commit -qm files")
        self.run("git push -q origin main")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command.split(),
            cwd=self.repo,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done)
        return done

    def atlas_in(self) -> None:
        """Puts Atlas in, as its own stop says."""
        self.run("git atlas hooks install --write")
        if self.name == "lefthook":
            self.run(self.manager.install)

    def went(self) -> tuple[int, int]:
        """How often the manager's own hook ran for a commit and a push, and whether Atlas signed
        the commit."""
        self.log.unlink(missing_ok=True)
        with (self.repo / "src/x.py").open("a") as file:
            file.write("#\n")
        self.run("git commit -qam x")
        signed = "Atlas-Session: " in self.run("git log -1 --format=%B").stdout
        self.run("git push -q origin main")
        return (self.log.read_text().count("ran") if self.log.exists() else 0, int(signed))

    def states(self) -> set[str]:
        rows = self.run("git atlas hooks status").stdout
        return set(re.findall(r"^│ (?:pre|post|commit)\S+ +(\w+(?: \S+)?)(?:  |$)", rows, re.M))


@pytest.mark.parametrize("first", ["manager", "atlas"])
@pytest.mark.parametrize("name", list(MANAGERS))
def test_both_run_in_both_orders_and_each_goes_alone(
    name: str, first: str, repo: Path, env: dict[str, str], tools: str
) -> None:
    project = Project(repo, env, tools, name)
    manager = project.manager
    if first == "manager":
        project.run(manager.install)
        project.atlas_in()
    else:
        project.run("git atlas hooks install")
        project.run(manager.install)
        if manager.managed:  # it has moved ours aside, and that is said
            assert "atlas hooks install --write" in project.run("git atlas begin --goal g").stderr
            project.atlas_in()
    project.run("git atlas begin --goal g")
    assert project.went() == (2, 1)
    assert "foreign" not in project.states() and "absent" not in project.states()
    project.run(manager.install)  # once more, as a set-up script does
    told = project.run("git atlas begin").stderr
    if "git hooks" in told:  # it has written over ours: said, and mended by what is printed
        assert not manager.managed
        project.run("git atlas hooks install")
    assert project.went() == (2, 1)
    project.run("git atlas hooks remove")
    if name == "lefthook":
        project.run(manager.install)
    assert project.went() == (2, 0)
    project.run(manager.uninstall)
    assert project.went() == (0, 0)
    assert not [
        file for file in (repo / ".git/hooks").iterdir() if b">>> atlas" in file.read_bytes()
    ]


def test_the_framework_runs_atlas_by_the_lines_of_the_page(
    repo: Path, env: dict[str, str], tools: str
) -> None:
    project = Project(repo, env, tools, "pre-commit")
    page = (ROOT / "atlas_cli/help/commits.md").read_text()
    lines = page.split("```yaml\n")[1].split("```")[0]
    (repo / ".pre-commit-config.yaml").write_text(FRAMEWORK + lines)
    project.run("git add .")
    project.run("git commit -qm lines --no-verify")
    project.run(f"{project.manager.install} -t pre-merge-commit")
    project.run("git atlas begin --goal g")
    assert "by pre-commit" in project.states()
    project.run("git atlas status write -m w --section s")
    other = project.env | {"CODEX_THREAD_ID": "another"}
    begun = ["git", "atlas", "begin", "--goal", "h"]
    subprocess.run(begun, cwd=repo, env=other, check=True, capture_output=True)
    (repo / "src/x.py").write_text("print('y')\n")
    warned = ["git", "atlas", "status", "write", "-m", "leave x.py alone", "--section", "x"]
    subprocess.run([*warned, "--on", "src/x.py"], cwd=repo, env=other, check=True)
    stop = subprocess.run(
        ["git", "commit", "-qam", "x"], cwd=repo, env=project.env, capture_output=True, text=True
    )
    assert (stop.returncode, "stop 5 (read first)" in stop.stdout + stop.stderr) == (1, True), stop
    assert project.went()[0] == 2


@pytest.mark.skipif(shutil.which("git-lfs") is None, reason="there is no git-lfs")
@pytest.mark.parametrize("first", ["lfs", "atlas"])
def test_git_lfs_uploads_its_objects_beside_atlas(
    first: str, bare_project: Path, atlas: Atlas, git: Git, tmp_path: Path
) -> None:
    hub = tmp_path / "hub.git"
    git("init", "-q", "--bare", str(hub))
    git("remote", "add", "origin", str(hub))
    if first == "lfs":
        git("lfs", "install", "--local")
        assert atlas("init").code == 0
    else:
        assert atlas("init").code == 0
        manual = git("lfs", "update", "--manual")  # (it will not install over the hooks of others)
        for name, text in re.findall(r"hooks/([a-z-]+)':\n\n(\t.*?)(?=\n\n|\Z)", manual, re.DOTALL):
            file = bare_project / ".git/hooks" / name
            lines = [line.removeprefix("\t") for line in text.split("\n")]
            with file.open("a") as hook:
                hook.write("\n".join(lines if not file.stat().st_size else lines[1:]) + "\n")
            file.chmod(0o755)
        assert "git lfs pre-push" in (bare_project / ".git/hooks/pre-push").read_text()
        git("lfs", "install", "--local", "--skip-repo")
    assert atlas("begin", "--goal", "g").code == 0
    git("lfs", "track", "*.bin")
    (bare_project / "a.bin").write_bytes(b"\0" * 1000)
    git("add", ".")
    git("commit", "-qm", "x")
    assert "Atlas-Session: " in git("log", "-1", "--format=%B")
    git("push", "-q", "origin", "main")
    assert list((hub / "lfs/objects").rglob("*")), "no object was uploaded"
    assert atlas("hooks", "remove").code == 0
    (bare_project / "a.bin").write_bytes(b"\1" * 1000)
    git("commit", "-qam", "y")
    git("push", "-q", "origin", "main")
    assert len([file for file in (hub / "lfs/objects").rglob("*") if file.is_file()]) == 2


@pytest.mark.skipif(shutil.which("stg") is None, reason="there is no StGit")
def test_stgit_keeps_the_trailers(
    begun: str, repo: Path, atlas: Atlas, git: Git, env: dict[str, str]
) -> None:
    assert atlas("hooks", "install").code == 0
    (repo / "src/x.py").write_text("print('y')\n")
    git("commit", "-qam", "x")
    for step in ("init", "uncommit -n 1", "pop", "push", "commit"):
        done = subprocess.run(
            ["stg", *step.split()], cwd=repo, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (step, done)
    assert git("log", "-1", "--format=%B").count(f"Atlas-Session: {begun}") == 1
