"""plotly.js for the pages and the report: the script that Python's plotly brings, made to start faster.

At its start the script initialises all of its 47 kinds of trace; figures here use three. It is also compiled
twice: in the background, where a browser skips the bodies of functions, and again when the page runs it. Three edits
change this. Two leave out the other kinds (`scatter` is part of the script's core) and the modules that only they need,
half of the script. One marks the outermost function as one that is called at once, so that a browser compiles it in the
background. An edit whose text does not occur exactly once is left out: with another version of plotly the pages are
slower, and otherwise the same.

Rejected: the smaller bundles of plotly's makers (npm). They take longer to start than this one, because they make all
of their kinds ready, and a machine would need npm.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

from plotly.offline import get_plotlyjs

from dashboard.core.unreached import without_unreached

KINDS = ("heatmap", "box")  # the kinds that figures use besides `scatter`
_LISTED = re.compile(r"\.register\(\[((?:[\w$]+\(\),?)+)\]\)")
_DEFINED = re.compile(r'([\w$]+)=[\w$]+\(\([^()]*\)=>\{"use strict";')
_HEAD, _TAIL = ' : this, () => {\n"use strict";', "return Plotly;\n}));"


@cache
def script() -> str:
    """The whole script."""
    return _called_at_once(without_unreached(_of_kinds(get_plotlyjs(), KINDS)))


@cache
def fingerprint() -> str:
    """A name unique to this version of the script, because browsers cache it."""
    return hashlib.sha256(script().encode()).hexdigest()[:16]


def _of_kinds(text: str, kinds: tuple[str, ...]) -> str:
    """The script without the traces that are not of `kinds`."""
    listed = _LISTED.findall(text)
    calls = [f"{_module(text, kind)}()" for kind in kinds]
    if len(listed) != 1 or not set(calls) <= set(listed[0].split(",")):
        return text
    return text.replace(f".register([{listed[0]}])", f".register([{','.join(calls)}])")


def _module(text: str, kind: str) -> str:
    """The name by which the script's list of traces calls one kind; empty when it is not found. The script has
    `inner=W((a,b)=>{"use strict";b.exports={…name:"heatmap"…`, and for the name in its list
    `listed=W((a,b)=>{"use strict";b.exports=inner()})`."""
    inner = _defined_before(text, f'moduleType:"trace",name:"{kind}"')
    return _defined_before(text, f".exports={inner}()}})") if inner else ""


def _defined_before(text: str, words: str) -> str:
    """The name of the module that has the script's only occurrence of `words`."""
    before = text[: text.find(words)][-2000:] if text.count(words) == 1 else ""
    names: list[str] = _DEFINED.findall(before)
    return names[-1] if names else ""


def _called_at_once(text: str) -> str:
    """The script with its outermost function in parentheses, which marks it as a function that is called at once."""
    if text.count(_HEAD) != 1 or not text.rstrip().endswith(_TAIL):
        return text
    start = text.rindex(_TAIL)
    return text[:start].replace(_HEAD, _HEAD.replace("() =>", "(() =>")) + _TAIL.replace("}));", "})));") + "\n"
