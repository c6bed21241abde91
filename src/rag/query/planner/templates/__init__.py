"""What models are asked while a plan is made: a file for each stage and language.

A file holds the rules, a line `=====`, and the message with the query in it. `$name` stands for
what is filled in. Whatever comes from a query or an index is data: it stands between two lines
with a code that none of it holds.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from rag.query.transforms.prompts import Prompt
from rag.text.messages import fenced, unused_code
from rag.text.scripts import is_japanese

_PARTS = "\n=====\n"
_LONGEST = 4000  # characters of a query that a model is shown


def build(name: str, query: str, rules: dict[str, str] | None = None, **data: str) -> Prompt:
    """Return what a model is asked, in the language of the query.

    :param name: of the files: `route`, `hyde`, `query_transformation`.
    :param rules: what is filled in as it is.
    :param data: what is shown as data.
    """
    shown = {"query": query[:_LONGEST], **data}
    code = unused_code(shown.values())
    values = {key: fenced(text, code) for key, text in shown.items()} | (rules or {})
    system, user = _template(name, "ja" if is_japanese(query) else "en")
    return Prompt(system.substitute(values).strip(), user.substitute(values).strip(), code)


@cache
def _template(name: str, language: str) -> tuple[Template, Template]:
    text = files(__package__).joinpath(f"{name}.{language}.md").read_text("utf-8")
    system, _, user = text.partition(_PARTS)
    return Template(system), Template(user)
