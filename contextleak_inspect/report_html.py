"""Tables and figures as one page that needs nothing beside it: no network, no script, no file."""

import base64
import html
from collections.abc import Sequence

from contextleak_inspect import __version__
from contextleak_inspect.report_drawing import Picture
from contextleak_inspect.report_formats import Table, as_html, clean

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 92rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
nav a { margin-right: 1rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .3rem .7rem; text-align: right; vertical-align: top; white-space: nowrap; }
th:first-child { text-align: left; } tbody th { font-weight: normal; }
thead th { border-bottom: 2px solid #8888; } tbody tr:nth-child(even) { background: #8881; }
small { opacity: .75; } ul { font-size: .85rem; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; background: white; }
figcaption { font-size: .85rem; max-width: 50rem; }
"""


def as_page(
    title: str, tables: Sequence[Table], pictures: Sequence[Picture], notes: Sequence[str]
) -> str:
    """The page as text; every name and note in it is escaped, every figure stands in it."""
    heading = html.escape(clean(title))
    links = "".join(
        f'<a href="#{slug}">{html.escape(name)}</a>'
        for slug, name in (*_sections(tables), ("figures", "Figures"), ("notes", "Notes"))
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">"
        f"<title>{heading}</title><style>{_STYLE}</style></head><body>\n<h1>{heading}</h1>\n"
        f"<nav>{links}</nav>\n{''.join(map(as_html, tables))}"
        f'<section id="figures"><h2>Figures</h2>\n{"".join(map(_figure, pictures))}</section>\n'
        f'<section id="notes"><h2>Notes</h2><ul>{"".join(map(_note, notes))}</ul>'
        f"<p>Made by inspect-dp {__version__}.</p></section></body></html>\n"
    )


def _sections(tables: Sequence[Table]) -> list[tuple[str, str]]:
    return [(table.slug, clean(table.title)) for table in tables]


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.image("svg")).decode()
    caption = html.escape(clean(picture.caption))
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{caption}">'
        f"<figcaption>{caption}</figcaption></figure>\n"
    )


def _note(note: str) -> str:
    return f"<li>{html.escape(clean(note))}</li>"
