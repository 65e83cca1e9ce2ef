"""Which programs a trial's gateways are, by content. status.json has them, so that a gate knows what ran.

A path in a command line, or in an environment variable, may name another file tomorrow, or another one than the user
meant. The files are read before and after the trial, by whoever starts it. Rejected: the manifest's hashes alone, which
were made at the run's beginning.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

from netcommon import binaries
from scenarios.plan import gateway_commands
from scenarios.plan.model import Scenario
from scenarios.trial import gateways

CHANGED = "changed during the trial"


def files(setting: Scenario) -> dict[str, Path]:
    """The programs of a setting's gateways by name: lft-gateway, or the first words of command lines and the programs
    that the scenario names in addition. A program that does not exist or cannot be read is left out."""
    paths: dict[str, Path] = {}
    for site in gateways.sites(setting):
        gateway = site.setting.gateway
        if gateway.kind == "lft":
            paths["lft-gateway"] = binaries.find("lft-gateway")
        paths |= {name: path for name, path in gateway_commands.programs(gateway).items() if os.access(path, os.R_OK)}
    return paths


def hashes(setting: Scenario) -> dict[str, str]:
    """The SHA-256 of each of `files`."""
    return {name: sha256(path) for name, path in files(setting).items()}


def after(before: dict[str, str], setting: Scenario) -> dict[str, str]:
    """The hashes of programs that are what they were before the trial; `CHANGED` instead of the others' hashes."""
    now = hashes(setting)
    return {name: digest if now.get(name) == digest else CHANGED for name, digest in before.items()}


def sha256(path: Path) -> str:
    """A file's SHA-256. It is read again only when it has changed: a run has thousands of trials."""
    known = path.stat()
    return _sha256(path, known.st_ino, known.st_size, known.st_mtime_ns)


@functools.lru_cache(64)
def _sha256(path: Path, *_identity: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
