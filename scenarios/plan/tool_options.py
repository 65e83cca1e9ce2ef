"""The tool's option behind each key of a scenario, with its bounds and choices.

Bounds and choices belong to the tool's table of options and to nothing else. The installed tool is asked for them when
a value is validated (once, ``netcommon.options`` keeps the answer), so the tool does not refuse a value in a trial, and
a tool with other bounds needs no change here. Without the tool there are no bounds: the trial would not start either.
Rejected: bounds in the scenario's model, which differed from the tools' in three places.
"""

from __future__ import annotations

from dataclasses import dataclass

from netcommon import options
from netcommon.errors import LfpError


@dataclass(frozen=True)
class Source:
    """An option of a tool; ``verb`` None: the tool has no verbs."""

    tool: str
    verb: str | None
    name: str

    def option(self) -> options.Option | None:
        """The option as the installed tool describes it; None without the tool, or when the tool does not answer: then
        the trial says what is wrong with it. ValueError when the tool lacks the option."""
        try:
            known = options.options(self.tool, self.verb)
        except LfpError:
            return None
        if self.name not in known:
            raise ValueError(f"the installed {self.tool} has no option --{self.name}; build it again")
        return known[self.name]


def source_of(table: str, key: str) -> Source:
    """The option behind a key of [path], [transfer], [gateway], [capture] or [run]."""
    tool, verb = _TOOLS[table]
    return Source(tool, verb, _NAMES.get((table, key)) or key.replace("_", "-"))


_TOOLS: dict[str, tuple[str, str | None]] = {
    "path": ("comet-delay", "run"),
    "run": ("comet-delay", "run"),
    "transfer": ("rttcp", None),
    "gateway": ("lft-gateway", "run"),
    "capture": ("pktlogger", "capture"),
}
_NAMES = {("run", "lateness"): "lateness-limit"}


def check_amount(source: Source, number: int, *, zero: bool) -> None:
    """ValueError when a number in base units is outside the option's bounds. ``zero``: 0 is allowed whatever the bounds
    are, and means none."""
    option = source.option()
    if option is None or (zero and number == 0):
        return
    try:
        option.check(number)
    except ValueError as error:
        raise ValueError(f"{error}, or 0 for none" if zero else str(error)) from None


def check_choice(source: Source, text: str) -> None:
    """ValueError when a word is not one of the option's choices."""
    if option := source.option():
        option.parse(text)
