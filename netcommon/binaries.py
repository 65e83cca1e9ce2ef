"""Finds the C tools: override → build of this checkout → scripts of this environment → PATH.

With this order a developer's fresh build wins over an installed one, and an explicit choice wins over both.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from functools import cache
from pathlib import Path

from netcommon.errors import MissingError

CHECKOUT = Path(__file__).resolve().parent.parent


class MissingBinary(MissingError):
    """A tool was not found; the message names every place that was searched."""


def override_variable(name: str) -> str:
    """Environment variable that overrides the search for ``name``: ``LFP_COMET_DELAY`` for ``comet-delay``."""
    return "LFP_" + name.upper().replace("-", "_")


def find(name: str) -> Path:
    """Path of an executable; MissingBinary when there is none."""
    variable = override_variable(name)
    override = os.environ.get(variable)
    if override:
        if _executable(Path(override)):
            return Path(override)
        raise MissingBinary(f"{name}: {variable}={override} is not an executable file; unset it or correct it")
    places = [CHECKOUT / f"build/release/bin/{name}", _scripts() / name]
    for place in places:
        if _executable(place):
            return place
    on_path = shutil.which(name)
    if on_path:
        return Path(on_path)
    looked = ", ".join(str(place.parent) for place in places)
    raise MissingBinary(
        f"{name}: not found ({variable} is unset, looked in {looked} and PATH); build it with "
        "'cmake --preset release && cmake --build --preset release' or install the package that has it"
    )


def find_library(name: str) -> Path:
    """Path of a shared library that Python loads; MissingBinary when there is none."""
    file = f"lib{name}.so"
    places = [CHECKOUT / "build/release/lib", Path(sysconfig.get_path("platlib")) / "netcommon"]
    for place in places:
        if (place / file).is_file():
            return place / file
    looked = ", ".join(map(str, places))
    raise MissingBinary(
        f"{file}: not found (looked in {looked}); build it with "
        "'cmake --preset release && cmake --build --preset release' or install the package that has it"
    )


@cache
def _scripts() -> Path:
    """The environment's folder of scripts. It is cached: sysconfig takes 3 ms, and a plan of 10,000 trials asks for
    tools a hundred thousand times."""
    return Path(sysconfig.get_path("scripts"))


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
