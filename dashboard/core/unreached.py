"""A script that esbuild made of modules, without those that nothing reaches.

A module is written as `name=W((exports,module)=>{…})`, or as `name=Ea(()=>{…})` with its functions before it. It counts
as reached if its name occurs anywhere in reached code. So a name with two meanings may keep a module that is not
needed. Modules of the first form are emptied where the next module follows at once. A script of another shape stays as
it is.

Rejected: a parser of JavaScript. It could empty the second form, too, for a dependency and a slower start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

_COMMON = re.compile(r"var ([\w$]+)=\(\w,\w\)=>\(\)=>\{?(?:try\{)?return \w\|\|\w\(\(\w=\{exports:\{\}\}\)")
_LAZY = re.compile(r"var ([\w$]+)=\(\w,\w,\w\)=>\(\)=>\{if\(\w\)throw")
_START = r"(?<=[,\s])(?P<name>[\w$]+)=(?P<form>%s|%s)\((?:\([\w$,]*\)|[\w$]+)=>\{"
_NAME = re.compile(r"[\w$]+")
_END = re.compile(r"\}\)(,|;var )$")


@dataclass(frozen=True)
class _Module:
    name: str
    form: str
    text: str  # the module's text, up to where the next module starts


def without_unreached(text: str) -> str:
    """The script with the unreached modules emptied. A module is reached from the code before the first module, or from
    the last module, which is followed by the rest of the script."""
    forms = [found.findall(text) for found in (_COMMON, _LAZY)]
    if any(len(names) != 1 for names in forms):
        return text
    common, lazy = (names[0] for names in forms)
    starts = list(re.finditer(_START % (re.escape(common), re.escape(lazy)), text))
    modules = [
        _Module(start["name"], start["form"], text[start.start() : end])
        for start, end in zip(starts, [start.start() for start in starts[1:]] + [len(text)], strict=True)
    ]
    if not modules or len({module.name for module in modules}) < len(modules):
        return text
    head = text[: starts[0].start()]
    reached = _reached(head, modules, lazy)
    shown = [
        module.text if module.name in reached or not module.form == then.form == common else _emptied(module)
        for module, then in pairwise(modules)
    ]
    return "".join([head, *shown, modules[-1].text])


def _reached(head: str, modules: list[_Module], lazy: str) -> set[str]:
    """The names of modules that the script can reach. The code before a module of the lazy form belongs to it."""
    parts = {module.name: module.text for module in modules}
    for before, module in pairwise(modules):
        if module.form == lazy:
            parts[module.name] += before.text
    last = modules[-1].name
    found, new = {last}, {last} | (parts.keys() & _NAME.findall(head))
    while new:
        found |= new
        new = {name for one in new for name in parts.keys() & _NAME.findall(parts[one])} - found
    return found


def _emptied(module: _Module) -> str:
    """The module without its content; the whole module if its end is not directly before the next one."""
    end = _END.search(module.text)
    return f"{module.name}={module.form}(()=>{{}}){end[1]}" if end else module.text
