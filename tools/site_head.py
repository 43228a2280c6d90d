"""What a page of the site says about itself to search engines, and in previews of shared links.

A title, a summary, a picture, its own address, and the address of the same page in the other language.
"""
import functools
import re
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path
from types import MappingProxyType

import chinese_texts
import matplotlib
import vl_convert
from chinese_site import FOLDER, LANGUAGE, switch
from contents import INDEX, read_contents
from repository import settings, site_address

CARD, DRAWN = "card.png", Path("docs/pictures/translation.svg")  # the picture: among the static files, and what it is made of


@functools.cache
def summaries(language: str) -> dict[str, str]:
    "What is said of the notebooks in the contents, and of the index in the README."
    readme = Path(chinese_texts.README_ZH if language == LANGUAGE else "README.md").read_text(encoding="utf-8")
    first = {INDEX: re.search(r"^\*\*(.+)\*\*$", readme, re.MULTILINE)[1]}
    if language == LANGUAGE:
        return first | {name: page["shows"] for name, page in chinese_texts.titles()["pages"].items()}
    return first | {page.notebook: page.shows for page in read_contents()}


def summary(page: str, language: str, paragraphs: list[str]) -> str:
    "One or two sentences; of a page that no list names, the beginning of its text, if it has any."
    text = summaries(language).get(page) or next((text for text in paragraphs if not text.startswith("Explained, tested")), "")
    text = " ".join(re.sub(r"[*`]", "", text).split())
    return text if len(text) <= 200 else text[:200].rpartition(" ")[0] + " …"


def title_of_the_index(language: str) -> str:
    "The book's name, and what it is."
    about = settings()
    what = "逐节读懂《Attention Is All You Need》" if language == LANGUAGE else about["description"].partition(":")[0]
    return f"{about['lib_name']}: {what}"


def tags(title: str, said: str, address: str, languages: Mapping[str, str] = MappingProxyType({})) -> str:
    "For the head of a page. Addresses stand behind that of the site; `languages`: of those that the page is written in."
    own = site_address()
    [heading] = re.findall(r"^<title>(.*?)</title>", DRAWN.read_text(encoding="utf-8"), re.MULTILINE)
    named = {"og:site_name": settings()["lib_name"], "og:type": "website", "og:title": title, "og:description": said,
             "og:url": own + address, "og:image": f"{own}_static/{CARD}"}
    lines = ['<meta name="twitter:card" content="summary_large_image">']
    lines += [f'<meta name="description" content="{escape(said)}">'] if said else []
    lines += [f'<meta property="{name}" content="{escape(text)}">' for name, text in named.items() if text]
    lines.append(f'<meta property="og:image:alt" content="{heading}">')
    lines.append(f'<link rel="canonical" href="{own}{address}">')
    lines += [f'<link rel="alternate" hreflang="{code}" href="{own}{path}">' for code, path in languages.items()]
    return "\n" + "\n".join(lines) + "\n"


def of_a_page(page: str, language: str, title: str, paragraphs: list[str]) -> str:
    "The tags of a page of Sphinx's; `title` may have markup."
    title, path = re.sub(r"<[^>]+>", "", title), "" if page == INDEX else f"{page}.html"
    here = f"{FOLDER}/{path}" if language == LANGUAGE else path
    return tags(unescape(title), summary(page, language, paragraphs), here,
                {"en": path, "zh": f"{FOLDER}/{path}"} if switch(page, language) else {})


def with_tags(text: str, address: str, title: str = "", said: str = "") -> str:
    "The text of a page that Sphinx does not write, with its tags, and this title and summary in place of its own."
    title = title or unescape(re.search(r"<title>(.*?)</title>", text)[1])
    if given := re.search(r'<meta name="description" content="(.*?)">\n', text):
        text, said = text.replace(given[0], ""), said or unescape(given[1])
    text = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", text)
    return text.replace("</head>", f"{tags(title, said, address).lstrip()}</head>", 1)


def card() -> bytes:
    "The picture, 1200 wide. Where links are shared no SVG is shown; its letters are those that Matplotlib brings."
    vl_convert.register_font_directory(str(Path(matplotlib.get_data_path(), "fonts", "ttf")))
    return vl_convert.svg_to_png(DRAWN.read_text(encoding="utf-8"), scale=1.36)


def not_found() -> str:
    "404.html, which GitHub shows in place of a page that is not there, at any address: its links are whole."
    own, name = site_address(), settings()["lib_name"]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>No such page - {name}</title>
</head>
<body style="font: 1.1em/1.5 system-ui, sans-serif; max-width: 40em; margin: 2em auto; padding: 0 1em">
<h1>No such page</h1>
<p>It may have another name now: <a href="{own}search.html">search the book</a>, or begin at
<a href="{own}">its first page</a>.</p>
<p lang="zh">没有这一页，它也许改了名：<a href="{own}zh/search.html">搜索本书</a>，或者从<a href="{own}zh/">首页</a>开始。</p>
</body>
</html>
"""
