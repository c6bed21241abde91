"""Entry points of other distributions: found by name, and never a traceback."""

import sys
from collections.abc import Callable

import pytest

from rag.exceptions import RAGError, UsageError
from rag.query.registry import make_plugin, plugin_names

Install = Callable[..., None]
GROUP = "rag.steps"


def test_names_are_sorted_in_one_spelling_and_nothing_is_imported(install):
    install("fancy", {GROUP: {"Shout_Out": "loud:shout", "ask": "loud:ask"}}, loud="1 / 0")
    install("other", {"rag.transformers": {"xml": "loud:xml"}})
    assert plugin_names(GROUP) == ["ask", "shout-out"]
    assert "loud" not in sys.modules


@pytest.mark.parametrize("name", ["Shout_Out", "shout-out", "SHOUT_out", " shout-out "])
def test_a_plug_in_is_found_in_any_spelling(install, name):
    install("fancy", {GROUP: {"Shout_Out": "loud:shout"}}, loud="def shout(): return 7")
    assert make_plugin(GROUP, name) == 7


def test_an_unknown_name_is_a_usage_error_with_the_nearest_names(install):
    install("fancy", {GROUP: {"shout": "loud:shout", "whisper": "loud:whisper"}})
    with pytest.raises(UsageError, match=r"no plug-in of rag\.steps is named 'shuot'") as caught:
        make_plugin(GROUP, "shuot")
    with pytest.raises(UsageError, match="'SHUOT'") as shouted:
        make_plugin(GROUP, "SHUOT")
    assert shouted.value.hint == caught.value.hint
    assert caught.value.hint == "Did you mean shout? There are shout, whisper."
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("value", "source", "why"),
    [
        ("loud:shout", "import no_such_module", "No module named 'no_such_module'"),
        ("loud:shout", "def shout(:", "SyntaxError: "),
        ("loud:shout", "1 / 0", "ZeroDivisionError: division by zero"),
        ("loud:shout", "raise SystemExit(3)", "SystemExit: 3"),
        ("loud:shout", "", "has no attribute 'shout'"),
        ("absent:shout", "", "No module named 'absent'"),
        ("not a name", "", "AttributeError"),
    ],
)
def test_one_that_cannot_be_imported_is_named_with_its_distribution(install, value, source, why):
    install("fancy", {GROUP: {"shout": value}}, loud=source)
    with pytest.raises(RAGError) as caught:
        make_plugin(GROUP, "shout")
    assert caught.value.message == "the plug-in 'shout' of fancy cannot be used"
    assert why in caught.value.details
    assert "\n" not in str(caught.value)
    assert caught.value.hint.endswith(f"is {value}; update or remove it.")


class TestMaking:
    def test_what_it_makes_is_returned(self, install):
        install("fancy", {GROUP: {"add": "loud:add"}}, loud="def add(a, b): return a + b")
        assert make_plugin(GROUP, "add", 1, 2) == 3

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ("shout = 3", "TypeError: 'int' object is not callable"),
            ("def shout(): pass", "TypeError: shout() takes"),
            ("def shout(x): raise OSError('no file')", "OSError: no file"),
        ],
    )
    def test_what_fails_is_named(self, install, source, why):
        install("fancy", {GROUP: {"shout": "loud:shout"}}, loud=source)
        with pytest.raises(RAGError) as caught:
            make_plugin(GROUP, "shout", None)
        assert str(caught.value).startswith(f"the plug-in 'shout' of fancy cannot be used ({why}")
