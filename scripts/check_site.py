"""Checks that every link of the built site leads to a page that is there, and to a heading that is on it.

    python scripts/check_site.py target/site

Links to other sites are not followed; those to files of this repository are looked up in the checkout.
"""

from __future__ import annotations

import html.parser
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = (
    "https://github.com/veilwalk/veilwalk/blob/main/",
    "https://github.com/veilwalk/veilwalk/edit/main/",
)
MADE = {"docs/commands.md", "docs/proofs.md"}
"""Pages that follow from the code are not in the repository."""


class Page(html.parser.HTMLParser):
    """What a page links to, and what on it can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.names.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def problems(site: Path) -> list[str]:
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        if path.name in ("404.html", "toc.html"):
            # Their links are seen from other folders; the contents are on every page.
            continue
        for link in page.links:
            in_repository = next(
                (link.removeprefix(start) for start in REPOSITORY if link.startswith(start)), None
            )
            if in_repository is not None:
                file = in_repository.partition("#")[0]
                if file not in MADE and not (ROOT / unquote(file)).exists():
                    found.append(f"{path.name}: {link}: there is no {file} in the repository")
                continue
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or not target.is_relative_to(site):
                found.append(f"{path.name}: {link}: there is no such page")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                found.append(f"{path.name}: {link}: there is no such heading")
    return found


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    if found:
        sys.exit("\n".join(found))
    print(f"every link of {site.name} leads somewhere")


if __name__ == "__main__":
    main()
