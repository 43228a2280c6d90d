"Sphinx's settings for `make site`; tools/build_site.py prepares what it reads."
import gettext
import inspect
import logging
import re
import sys
from pathlib import Path

from docutils import nodes
from fastcore.docments import docments
from sphinx.util.inspect import stringify_signature

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))  # for the function that names headings
import site_head  # noqa: E402
from chinese_site import LANGUAGE, OF_THE_THEME, switch  # noqa: E402
from repository import settings  # noqa: E402

logging.getLogger("jieba").setLevel(logging.WARNING)  # cuts Chinese into words for the search, and tells of it

about = settings()
home = f"https://github.com/{about['user']}/{about['repo']}"

project = html_title = about["lib_name"]
author, copyright, version = about["author"], about["copyright"], about["version"]
language = "en"
highlight_language = "none"  # a block that names no language is a command or a listing
smartquotes_action = "qD"  # quotation marks and dashes; three dots of a shape stay three
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]

# The notebooks are shown as they are committed. A link to a heading is Jupyter's: its text, with dashes for blanks.
nb_execution_mode = "off"
nb_merge_streams = True
nb_render_markdown_format = "gfm"  # tables in outputs
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "chinese_notebooks.anchor"
suppress_warnings = ["mystnb.unknown_mime_type"]

# MathJax from this site; without its menu, which would load more.
mathjax_path = "mathjax.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}, "tex": {"tagIndent": "0.4em"}}

html_theme = "furo"
html_favicon = "icon.svg"
html_static_path = [str(ROOT / "build/site/static")]
html_css_files = ["style.css"]
html_js_files = ["language.js", "figures.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": False,  # the arrow keys scroll long lines of code: they must not leave the page
    "top_of_page_buttons": [],
    "footer_icons": [
        {"name": "Repository", "url": home, "html": "Repository", "class": ""},
        {"name": "Licences", "url": f"{home}#licences", "html": "Licences", "class": ""},
    ],
}

# The reference: the names in the order of the source, one parameter to a line, with the comments that stand beside them.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = False
autodoc_default_options = {"inherited-members": "object"}  # of our own classes alone: see `not_for_the_reference`
maximum_signature_line_length = 60
add_module_names = False


def plain(text: str) -> str:
    "A docstring's text, in which only backticks mean something, as reStructuredText."
    parts = re.split(r"(`[^`]*`)", text)
    escaped = "".join(part if i % 2 else re.sub(r"([*_|\\])", r"\\\1", part) for i, part in enumerate(parts))
    return re.sub(r"^(?=\(?\w+[.)]( |$))", r"\\", escaped)  # `(S) tokens` and `(S)` begin no list


def with_fields(lines: list[str]) -> list[str]:
    "A docstring of the command line: its options (`Args:`, `More:`) as fields, its `Example:` as it is typed."
    found, section, fields = [], None, []
    for line in lines:
        heading = re.fullmatch(r"(Args|More|Example):", line)
        if heading:
            section = heading[1]
            found += ["Example::", ""] if section == "Example" else []
        elif section == "Example":
            found.append(line)
        elif section and line.strip():
            if re.match(r" {4}\w+: ", line):
                fields.append(":param " + line.strip())
            else:
                fields[-1] += " " + line.strip()
        elif not section:
            found.append(line)
    escaped = [line if line.startswith("    ") else plain(line) for line in found]
    return [*escaped, "", *map(plain, fields)] if fields else escaped


def is_foreign(subject) -> bool:
    "Whether another library has written this function, method or property."
    written = getattr(subject, "fget", None) or getattr(subject, "func", None) or subject  # behind a property
    return inspect.isroutine(written) and not (getattr(written, "__module__", None) or "").startswith(about["lib_name"])


def with_shapes(app, what, name, subject, options, lines):
    "Add to a docstring what the comments beside the parameters say."
    lines[:] = with_fields(lines)
    is_named_tuple = hasattr(subject, "_fields")
    takes = subject.__init__ if what == "class" and not is_named_tuple else subject
    if what not in ("function", "method", "class") or is_foreign(takes):  # Sphinx asks even for what will be left out
        return
    try:
        if is_named_tuple:
            comments = dict(re.findall(r"^ +(\w+): [^#\n]*# *(.+)$", inspect.getsource(subject), re.MULTILINE))
        else:
            comments = docments(subject)
    except (OSError, TypeError, ValueError):  # nothing to read it from
        return
    said = {parameter: " ".join(comment.split()) for parameter, comment in comments.items() if comment}
    returned = said.pop("return", None)
    if said or returned:
        lines.append("")
    lines += [f":param {parameter}: {plain(comment)}" for parameter, comment in said.items() if parameter != "self"]
    if returned:
        lines.append(f":returns: {plain(returned)}")
    lines.append("")


def own_signature(app, what, name, subject, options, signature, returned):
    "What a class takes, where a base class that takes anything hides it."
    if what == "class" and signature == "(*args, **kwargs)":
        first, *parameters = inspect.signature(subject.__init__).parameters.values()
        return stringify_signature(inspect.Signature(parameters), unqualified_typehints=True), returned


def not_for_the_reference(app, what, name, subject, skip, options):
    "A named tuple's fields stand in its signature already; what a class inherits from another library stands in its reference."
    if (getattr(subject, "__doc__", None) or "").startswith("Alias for field number"):
        return True
    return True if what == "class" and is_foreign(subject) else None


def as_written(app, doctree):
    "Equations as Jupyter gives them to MathJax: Sphinx would put several lines into a `split`, in which `\\tag` is an error."
    for equation in doctree.findall(nodes.math_block):
        if not (equation.get("no-wrap") or equation.get("nowrap")):
            text = rf"\begin{{equation*}}{equation.astext()}\end{{equation*}}"
            equation.replace_self(nodes.math_block(text, text, **equation.attributes | {"no-wrap": True, "nowrap": True}))
    for kind in (nodes.math, nodes.math_block):
        for formula in doctree.findall(kind):
            formula["classes"].append("no-search")  # nobody looks for LaTeX
    for formula in list(doctree.findall(nodes.math)):
        hold_together(formula)


def hold_together(formula):
    "No line ends between a formula and the bracket before it or the sign after it."
    parent, place = formula.parent, formula.parent.index(formula)
    before = parent[place - 1] if place and isinstance(parent[place - 1], nodes.Text) else ""
    after = parent[place + 1] if place + 1 < len(parent) and isinstance(parent[place + 1], nodes.Text) else ""
    opened, closed = re.search(r"[(“]*$", before)[0], re.match(r"[.,;:!?)”]*", after)[0]
    if opened or closed:
        held = nodes.inline("", "", nodes.Text(opened), formula, nodes.Text(closed), classes=["unbroken"])
        parent[place - bool(before):place + 1 + bool(after)] = [
            nodes.Text(before.removesuffix(opened)), held, nodes.Text(after.removeprefix(closed))]


def with_charts(app, page, template, context, doctree):
    "Vega's scripts go only where a chart is: they are large."
    if 'class="live-chart"' in context.get("body", ""):
        app.add_js_file("vega.js", priority=900)
        app.add_js_file("charts.js", priority=901)
    if page == "search":
        app.add_js_file("search.js", priority=901)


def with_other_language(app, page, template, context, doctree):
    "The way to the same page in the other language, where it has one."
    if found := switch(page, app.config.language):
        context["body"] = found + context["body"]


class OfTheTheme(gettext.NullTranslations):
    "The words of the theme that Sphinx's own Chinese has not."

    def gettext(self, message):
        return OF_THE_THEME.get(message, message)


def with_its_head(app, page, template, context, doctree):
    "What search engines and chats show of a page. Without `docstitle` the theme writes the title alone."
    if doctree is None:
        return
    if page == app.config.root_doc:
        context |= {"docstitle": "", "title": site_head.title_of_the_index(app.config.language)}
    paragraphs = [text.astext() for text in doctree.findall(nodes.paragraph) if isinstance(text.parent, nodes.section)]  # no cell
    context["metatags"] += site_head.of_a_page(page, app.config.language, context["title"], paragraphs)


def setup(app):
    if app.config.language == LANGUAGE:
        app.translator.add_fallback(OfTheTheme())
    app.connect("autodoc-process-docstring", with_shapes)
    app.connect("autodoc-process-signature", own_signature)
    app.connect("autodoc-skip-member", not_for_the_reference)
    app.connect("doctree-read", as_written)
    app.connect("html-page-context", with_charts)
    app.connect("html-page-context", with_other_language)
    app.connect("html-page-context", with_its_head)
