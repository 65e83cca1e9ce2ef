"""Texts in several languages: a table of messages is in the folder whose pages show them (messages.toml), with a row
for each text, its key and the text in every language.

A text may have placeholders as str.format has them. tests/py/dashboard/test_dashboard_class.py compares the languages
with each other. Rejected: gettext, whose keys are English sentences, so that a better sentence loses its translation.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT = "en"
# A text before its language is chosen, as JSON keeps it: a key, and values that are texts or such messages themselves.
Said = list[Any]


@dataclass(frozen=True)
class Messages:
    """The texts of a table in one language."""

    language: str
    texts: Mapping[str, str]

    def __contains__(self, key: object) -> bool:
        return key in self.texts

    def __call__(self, key: str, **values: object) -> str:
        return self.texts[key].format(**values)

    def count(self, key: str, number: int, **values: object) -> str:
        """The message of a count: `KEY.one` or `KEY.many`, with the number as `{n}`."""
        return self.of(counted(key, number, **values))

    def of(self, said: Said) -> str:
        """The text of a message that is given by keys."""
        key, values = said
        return self(
            key, **{name: self.of(value) if isinstance(value, list) else value for name, value in values.items()}
        )


def counted(key: str, number: int, **values: object) -> Said:
    """The message of a count; see `Messages.count`."""
    return [f"{key}.{'one' if number == 1 else 'many'}", {"n": f"{number:,}"} | values]


def load(file: Path, english: Mapping[str, str] | None = None) -> dict[str, Messages]:
    """The texts of a table by language, English first. `english`: texts that are English elsewhere, by their keys."""
    rows = tomllib.loads(file.read_text(encoding="utf-8"))
    for key, text in (english or {}).items():
        rows[key] = {DEFAULT: text} | rows.get(key, {})
    languages = sorted({name for row in rows.values() for name in row}, key=lambda name: (name != DEFAULT, name))
    return {name: Messages(name, {key: row[name] for key, row in rows.items() if name in row}) for name in languages}
