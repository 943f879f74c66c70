"""The container's description: no root, nothing secret, everything pinned, and each of its steps works as written."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from hushcount.cli.main import main
from tests.architecture.sources import ROOT
from tests.deploy.shipped import DEPLOY, entrypoint, installed, instructions, run

LOCKS = {name: DEPLOY / "container" / f"{name}.lock" for name in ("requirements", "build")}
EXTRAS = ("server", "postgres", "metrics", "oidc")
_PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.MULTILINE)
_SECRET = re.compile(r"password|secret|token|key", re.IGNORECASE)


def pinned(path: Path) -> set[tuple[str, str]]:
    """The packages of a lock, with their versions."""
    return set(_PINNED.findall(path.read_text(encoding="utf-8")))


def plain(requirement: str) -> str:
    """The name of a required package."""
    return re.split(r"[\[<>=!~ ;]", requirement)[0].lower().replace("_", "-")


def words_of(instruction: str, stage: int | None = None) -> list[str]:
    """The words of every such instruction."""
    return [words for name, words in instructions(stage) if name == instruction]


def test_the_base_is_pinned_by_version():
    """Both stages start from one exact version of the Python that is asked for; the last without a compiler."""
    first, last = (words.split()[0] for words in words_of("FROM"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    found = re.fullmatch(r"docker\.io/library/python:(\d+\.\d+)\.\d+-slim-[a-z]+", last)
    assert found is not None
    assert first == last.replace("-slim", "")
    assert project["requires-python"] == f">={found[1]}"


def test_it_runs_without_root():
    """The last user is a number that is not root's, so that an orchestrator can tell; nothing is installed after it."""
    last = instructions(-1)
    places = [place for place, (name, _) in enumerate(last) if name == "USER"]

    assert last[places[-1]][1] == "10001:10001"
    assert not [name for name, _ in last[places[-1] :] if name in {"RUN", "COPY", "ADD"}]


def test_nothing_secret_is_in_it():
    """No variable, argument or copied file is a secret, and nothing is copied but what is named."""
    variables = " ".join(words_of("ENV") + words_of("ARG"))
    copied = [word for words in words_of("COPY") for word in words.split()[:-1] if not word.startswith("--")]

    assert not _SECRET.search(variables)
    assert not [word for word in copied if _SECRET.search(word) or word in {".", "/"}]
    assert not words_of("ADD")


def test_what_is_copied_is_there():
    """Every path that is copied from the repository exists in it."""
    copied = [word for words in words_of("COPY") if "--from" not in words for word in words.split()[:-1]]

    assert len(copied) >= 5
    assert not [word for word in copied if not (ROOT / word).exists()]


def test_nothing_else_is_sent_to_the_builder():
    """The list beside the Containerfile leaves out everything, and lets in exactly what is copied."""
    listed = (DEPLOY / "container" / "Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in listed if line and not line.startswith("#")]
    copied = {word for words in words_of("COPY") if "--from" not in words for word in words.split()[:-1]}

    assert rules[0] == "*"
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} == copied


def test_it_says_whether_it_lives():
    """The health check asks /healthz at the port that is shown, with a program that is in the image."""
    (check,) = words_of("HEALTHCHECK")
    program, *_, script = json.loads(check.partition("CMD ")[2])
    (port,) = words_of("EXPOSE")

    assert program == "python"
    assert f"http://127.0.0.1:{port}/healthz" in script
    compile(script, "health check", "exec")


def test_it_starts_what_there_is():
    """What the container runs is a command that there is, with options that it has."""
    program, verb, *options = entrypoint()
    known = {option for parameter in main.commands[verb].params for option in parameter.opts}

    assert program == "hushcount"
    assert {option for option in options if option.startswith("--")} <= known


def test_its_home_is_made():
    """On a read-only file system the home is the one place to write."""
    (variables,) = words_of("ENV", -1)
    said = dict(word.split("=", 1) for word in variables.split())
    made = " ".join(words_of("RUN", -1))

    assert said["HOME"] in made
    assert said["PATH"].split(":")[0] == "/opt/hushcount/bin"


def test_the_lists_of_packages_are_the_projects():
    """Each package has the version and the hashes that are tested here, and none is missing."""
    tested = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    hashes = re.findall(r"sha256:[0-9a-f]{64}", LOCKS["requirements"].read_text(encoding="utf-8"))

    assert pinned(LOCKS["requirements"]) <= pinned(ROOT / "requirements.lock")
    assert pinned(LOCKS["build"]) <= pinned(ROOT / "requirements.lock")
    assert {plain(one) for one in wanted} <= {name for name, _ in pinned(LOCKS["requirements"])}
    assert len(hashes) > 100
    assert not [one for one in hashes if one not in tested]


def test_what_does_not_run_there_is_not_there():
    """Neither Spark nor what tests and draws is in the image."""
    names = {name for name, _ in pinned(LOCKS["requirements"])}

    assert not names & {"pyspark", "pandas", "pytest", "matplotlib", "hatchling", "schemathesis", "hypothesis"}


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Path:
    """A fresh environment made by the Containerfile's own steps, but for the packages that are fetched.

    Those are this environment's, which has the same versions: see the test of the lists above.
    """
    build = tmp_path_factory.mktemp("image")
    for words in words_of("COPY", 0):
        for name in words.split()[:-1]:
            kept = ROOT / name
            if kept.is_dir():
                shutil.copytree(kept, build / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif "container/" not in name:
                shutil.copy(kept, build / name)
    venv.create(build / "venv", symlinks=True)
    python = build / "venv" / "bin" / "python"
    (packages,) = (build / "venv" / "lib").glob("python*/site-packages")
    (packages / "tested.pth").write_text("\n".join(_without_editable(site.getsitepackages(), build)), encoding="utf-8")
    (steps,) = [words for words in words_of("RUN", 0) if "pip wheel" in words]
    for step in steps.split("&&"):
        if "pip wheel" in step or "pip install" in step:
            line = re.sub(r"/opt/build/bin/python", sys.executable, step.strip())
            line = re.sub(r"/opt/hushcount/bin/python -m pip", f"{sys.executable} -m pip --python {python}", line)
            done = run(["/bin/sh", "-c", line], cwd=build, env=_bare())
            assert done.returncode == 0, done.stderr
    return build / "venv"


def _without_editable(folders: list[str], build: Path) -> list[str]:
    """Folders of links to all packages, but not to the one that is under test."""
    linked = build / "tested"
    linked.mkdir()
    for folder in folders:
        for entry in Path(folder).iterdir():
            if "hushcount" not in entry.name and entry.suffix != ".pth":
                (linked / entry.name).symlink_to(entry)
    return [str(linked)]


def _bare() -> dict[str, str]:
    """The environment without what would lead to the sources."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}


def test_the_steps_work_as_written(image, tmp_path):
    """The wheel is built, installed and started by the container's own words; it reads the shipped configuration."""
    config = installed("container", tmp_path)
    words = [str(config) if word == "/etc/hushcount/hushcount.toml" else word for word in entrypoint()]
    places = {**_bare(), "PATH": f"{image}/bin:/usr/bin:/bin"}
    done = run([image / "bin" / words[0], *words[1:], "--check"], cwd=tmp_path, env=places)

    assert done.returncode == 0, done.stderr
    assert "It listens at 0.0.0.0:8443 with 2 workers" in done.stdout
    assert done.stdout.rstrip().endswith("Nothing was started.")


def test_the_wheel_is_whole(image):
    """What is imported is the wheel and not the sources, with every package and file of theirs."""
    (packages,) = (image / "lib").glob("python*/site-packages")
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*") if path.is_file()]
    missing = [path for path in files if "__pycache__" not in path.parts and not (packages / path).exists()]
    said = run([image / "bin" / "python", "-c", "import hushcount; print(hushcount.__file__)"], env=_bare())

    assert not missing
    assert said.stdout.startswith(str(packages))
