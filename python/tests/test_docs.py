"""Runs what the documentation shows: the commands of README and docs/, in order, a page at a time.

A block marked `console` (or `text`, if it begins with a command) is run in a folder of its page's own, with
the files of `docs/samples/PAGE` in it. What stands behind a command is what it has to print, whatever its
line breaks; `…` stands for anything. `cat FILE` before a file is there makes the file of what is shown. A
comment before a block says what is special about it:

    <!-- exits with 1 -->       the command fails, as the page says
    <!-- drawn anew -->         every run prints something else, so the output is not compared
    <!-- not run: WHY -->       it cannot be run here
    <!-- needs PATH -->         data beside the checkout; skipped where they are not
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT, built

MADE = {"commands.md", "proofs.md"}
"""Pages of the site that follow from the code, made when it is built."""
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name not in MADE)]
REPOSITORY = "https://github.com/veilwalk/veilwalk/blob/main/"
SHARED = ROOT.parent / "shared" / "data"
OTHERS = {
    "git",
    "cargo",
    "pip",
    "curl",
    "openssl",
    "./scripts/test",
    "bench/roads/privacy/run",
    "mosquitto_pub",
    "mosquitto_sub",
    "nats",
    "tail",
}
"""Programs that are not ours: what they are shown for is tested elsewhere."""

BLOCK = re.compile(
    r"(?:^<!-- (?P<note>.*?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass
class Shown:
    """A command of a page, and what is shown of its output."""

    command: str
    output: str
    note: str
    line: int


def commands(page: Path) -> list[Shown]:
    text = page.read_text()
    found = []
    for block in BLOCK.finditer(text):
        body = block["text"]
        if block["language"] not in ("console", "text") or not body.startswith("$ "):
            continue
        line = text.count("\n", 0, block.start("text")) + 1
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*", part)
            assert command
            rest = part[command.end() :].strip("\n")
            found.append(Shown(command[0], rest, block["note"] or "", line))
            line += part.count("\n")
    return found


def program(command: str) -> str:
    return command.split(maxsplit=1)[0]


def squeezed(text: str) -> str:
    return " ".join(text.split())


def differs(shown: str, printed: str) -> str | None:
    """The first part of what is shown that was not printed."""
    printed, rest = squeezed(printed), 0
    for part in map(squeezed, shown.split("…")):
        place = printed.find(part, rest)
        if place < 0:
            return part
        rest = place + len(part)
    return None


def run(shown: Shown, folder: Path, path: str) -> None:
    if program(shown.command) == "cat" and shown.output and not (folder / shown.command[4:]).exists():
        (folder / shown.command[4:]).write_text(shown.output + "\n")
        return
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shown.command],
        cwd=folder,
        env={**os.environ, "PATH": path + os.pathsep + os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    wanted = re.search(r"exits with (\d+)", shown.note)
    assert done.returncode == (int(wanted[1]) if wanted else 0), done.stdout
    if shown.output and "drawn anew" not in shown.note:
        missing = differs(shown.output, done.stdout)
        assert missing is None, f"not printed: {missing}\n\nprinted:\n{done.stdout}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_page(page: Path, tmp_path: Path) -> None:
    path = str(built("-p", "veilwalk-cli"))
    samples = ROOT / "docs" / "samples" / page.stem
    if samples.is_dir():
        shutil.copytree(samples, tmp_path, dirs_exist_ok=True)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lacking = set()
    for shown in commands(page):
        name = program(shown.command)
        assert name in {"veilwalk", "cat", "head", *OTHERS}, f"{page.name}:{shown.line}: what is {name}?"
        needed = re.search(r"needs (\S+)", shown.note)
        if needed and not (SHARED / needed[1]).exists():
            lacking.add(needed[1])
        if lacking or name in OTHERS or shown.note.startswith("not run"):
            continue
        if needed and not (tmp_path / Path(needed[1]).name).exists():
            (tmp_path / Path(needed[1]).name).symlink_to(SHARED / needed[1])
        try:
            run(shown, tmp_path, path)
        except AssertionError as error:
            raise AssertionError(f"{page.name}:{shown.line}: $ {shown.command}\n{error}") from None
    if lacking:
        pytest.skip(f"not beside the checkout: {', '.join(sorted(lacking))}")


def anchors(page: Path) -> set[str]:
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M
    )
    plain = (re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).replace("`", "") for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that follow from the code."""
    into = tmp_path_factory.mktemp("made")
    program = built("-p", "veilwalk-cli") / "veilwalk"
    maker = ROOT / "scripts" / "make_pages.py"
    subprocess.run([sys.executable, maker, "--program", program, "--into", into], check=True)
    return into


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path, made: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        in_repository = target.startswith(REPOSITORY)
        if re.match(r"\w+:", target) and not in_repository:
            continue
        name, _, anchor = target.removeprefix(REPOSITORY).partition("#")
        folder = made if name in MADE and page.parent.name == "docs" else page.parent
        folder = ROOT if in_repository else folder
        # The site has the pages of docs/ and nothing else.
        assert in_repository or page.parent.name != "docs" or ".." not in name, f"{page.name}: {target}"
        file = (folder / unquote(name)).resolve() if name else page
        assert file.exists(), f"{page.name}: {target}: there is no {file}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.name}: {target}: no such heading in {file.name}"


def test_every_page_is_in_the_book() -> None:
    summary = (ROOT / "docs" / "SUMMARY.md").read_text()
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", summary))
    pages = {page.name for page in PAGES if page.parent.name == "docs"} - {"SUMMARY.md"}
    assert pages | MADE == listed


def test_every_command_is_on_its_page(made: Path, command: Callable[..., str]) -> None:
    page = (made / "commands.md").read_text()
    names = re.findall(r"^  ([a-z]+)  ", command("--help"), re.MULTILINE)
    assert len(names) > 10
    for name in set(names) - {"help"}:
        assert f"\n## veilwalk {name}\n" in page
    assert "\n### veilwalk chain fit\n" in page


def test_proofs_are_readable(made: Path) -> None:
    page = (made / "proofs.md").read_text()
    assert page.count("### Privacy") > 12
    assert "](super" not in page
    assert "](crate" not in page
    assert "[`" not in page.replace("[`crates/", "")


def test_links_of_the_site_are_checked(tmp_path: Path) -> None:
    """That a link which leads nowhere is found, in each of the ways it can."""
    (tmp_path / "index.html").write_text(
        '<h1 id="here">x</h1><a href="other.html#there">good</a><a href="#here">good</a>'
        f'<a href="{REPOSITORY}README.md#install">good</a><a href="https://elsewhere.example">not ours</a>'
    )
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    check = [sys.executable, str(ROOT / "scripts" / "check_site.py"), str(tmp_path)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for bad in (
        "gone.html",
        "other.html#gone",
        "../outside.html",
        f"{REPOSITORY}gone.md",
        "pictures/gone.svg",
    ):
        (tmp_path / "other.html").write_text(f'<h1 id="there">x</h1><a href="{bad}">x</a>')
        done = subprocess.run(check, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert bad in done.stderr


def test_samples_are_those_that_are_made_up(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "make_samples.py", tmp_path], check=True)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) == 4
    for path in made:
        kept = ROOT / "docs" / "samples" / path.relative_to(tmp_path)
        assert path.read_text() == kept.read_text(), f"run scripts/make_samples.py: {kept} differs"
