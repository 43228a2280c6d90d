"Find links of a built site that lead nowhere: to a missing page, or to a place that its page does not have. `make site` does it."
import functools
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    "What a page links to and asks for, and the places in it that a link can name."

    def __init__(self, text: str):
        super().__init__()
        self.links, self.resources, self.places = [], [], set()
        self.feed(text)

    @classmethod
    @functools.cache
    def of(cls, path: Path) -> "Links":
        "Those of a file, read once."
        return cls(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places.add(attributes.get("id"))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag in ("script", "img", "iframe") and attributes.get("src"):
            self.resources.append(attributes["src"])
        if tag == "link" and attributes.get("rel") not in ("index", "search", "next", "prev", "canonical", "alternate"):
            self.resources.append(attributes["href"])


def dead(page: Path) -> list[str]:
    "The links of a page into its own site that lead nowhere."
    found = []
    for link in dict.fromkeys(Links.of(page).links):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        path = page.parent.joinpath(unquote(parts.path)).resolve() if parts.path else page
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file() or parts.fragment and unquote(parts.fragment) not in Links.of(path).places:
            found.append(link)
    return found


def dead_links(site: Path) -> list[str]:
    "One line for each dead link of a site."
    return [f"{page.relative_to(site.resolve())}: {link} leads nowhere"
            for page in sorted(site.resolve().rglob("*.html")) for link in dead(page)]
