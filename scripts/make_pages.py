"""Makes the pages of the site that follow from the code: every command's help, and the proofs of the modules.

    scripts/make_pages.py [--program target/debug/veilwalk] [--into docs]

They are not kept in the repository: `scripts/site` makes them before it builds the site.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PROOFS = [
    ("The family", "veilwalk/src/mechanism/mod.rs"),
    ("The exponential rule", "veilwalk/src/mechanism/exponential.rs"),
    ("Permute-and-flip", "veilwalk/src/mechanism/permute_and_flip.rs"),
    ("Scales", "veilwalk/src/mechanism/scale.rs"),
    ("Cells", "veilwalk/src/mechanism/cell/mod.rs"),
    ("Blocks", "veilwalk/src/mechanism/block/mod.rs"),
    ("A private start", "veilwalk/src/mechanism/first_state.rs"),
    ("Observations", "veilwalk/src/mechanism/observation.rs"),
    ("Responses over all states", "veilwalk/src/mechanism/response/mod.rs"),
    ("Tight weights", "veilwalk/src/mechanism/response/tight/mod.rs"),
    ("Believed candidates", "veilwalk/src/mechanism/believed.rs"),
    ("Keys, ids and repeated runs", "veilwalk/src/random/source.rs"),
    ("Walks that are released live", "veilwalk-live/src/lib.rs"),
    ("Noisy counts of a chain", "veilwalk/src/chain/private_fit/mod.rs"),
    ("What a ledger adds up", "veilwalk-ledger/src/lib.rs"),
    ("The loss of one replaced state", "veilwalk/src/guarantee/price.rs"),
]

PROOFS_INTRODUCTION = """\
# The proofs

Why each mechanism keeps its promise, in the words of the module that implements it. `scripts/make_pages.py` makes this page of
the code's documentation. [In pictures](concepts.md) is the gentle way in.

Three things are shared by all of them. Probabilities are compared as real numbers, and the program keeps to them exactly: what
decides a release is made of whole numbers, fractions and exact coins. The chain, the mechanism and its parameters are public, so
nothing needs proof that looks at them alone. And every proof has a test that computes losses exactly, by enumeration where that is possible.
"""

COMMANDS_INTRODUCTION = """\
# Commands

What `veilwalk COMMAND --help` says, for every command. `scripts/make_pages.py` makes this page.
"""


def module_docs(source: str) -> list[str]:
    """The documentation at the head of a module."""
    lines = [line for line in source.splitlines() if line.startswith("//!")]
    return [line[3:].removeprefix(" ") for line in lines]


def sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Headings and what stands below them; the first has no heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        if line.startswith("# ") and not fenced:
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def without_code_links(text: str) -> str:
    """Links to items of the code, as their names."""
    text = re.sub(r"\[([^\[\]]+)\]\([^)\s]*::[^)\s]*\)", r"\1", text)
    text = re.sub(r"\[([^\[\]]+)\]\((?:fn@)?\w+(?:\(\))?\)", r"\1", text)
    return re.sub(r"\[(`[^`\]]+`)\](?!\()", r"\1", text)


def without_tests(text: str) -> str:
    """Examples are for those who read the code."""
    return re.sub(r"^```\n.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL)


def proofs() -> str:
    parts = [PROOFS_INTRODUCTION]
    for title, path in PROOFS:
        lines = module_docs((ROOT / "crates" / path).read_text())
        found = sections(lines)
        assert any(name == "Privacy" for name, _ in found), f"{path} has no section on privacy"
        body = [f"## {title}", ""]
        for name, text in found:
            if name not in ("", "Privacy"):
                continue
            if name:
                body += ["### Privacy", ""]
            body += [re.sub(r"^##+ ", "#### ", line) for line in text]
        parts.append(without_code_links(without_tests("\n".join(body).strip() + "\n")))
        parts.append(
            f"*From [`crates/{path}`](https://github.com/veilwalk/veilwalk/blob/main/crates/{path}).*\n"
        )
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def help_of(program: Path, words: list[str]) -> str:
    # Help is as wide as the terminal, which is not one here.
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        [program, *words, "--help"], capture_output=True, text=True, check=True, env=environment
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def subcommands(text: str) -> list[str]:
    block = re.search(r"^Commands:\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    names = re.findall(r"^  (\w[\w-]*)", block[1], re.MULTILINE) if block else []
    return [name for name in names if name != "help"]


def commands(program: Path) -> str:
    parts = [COMMANDS_INTRODUCTION]

    def add(words: list[str]) -> None:
        text = help_of(program, words)
        parts.append(f"{'#' * (len(words) + 1)} veilwalk {' '.join(words)}".rstrip() + "\n")
        parts.append(f"```text\n{text}\n```\n")
        for name in subcommands(text):
            add([*words, name])

    text = help_of(program, [])
    parts.append(f"```text\n{text}\n```\n")
    for name in subcommands(text):
        add([name])
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "debug" / "veilwalk")
    parser.add_argument("--into", type=Path, default=ROOT / "docs")
    wanted = parser.parse_args()
    (wanted.into / "proofs.md").write_text(proofs())
    (wanted.into / "commands.md").write_text(commands(wanted.program))


if __name__ == "__main__":
    main()
