"""The name of the distribution, and which packages are installed only with one of its extras.

pip reads `pyproject.toml`; tests/py/project/test_distribution.py compares its extras with this table. A verb that needs
an extra calls `require` before it begins, so that a run does not fail at its last step.
"""

from __future__ import annotations

import importlib.util

from netcommon.errors import MissingError

DISTRIBUTION = "lfp-testbed"
BENCHES = "bench"  # a package that only a checkout has; the wheel leaves it out

# Extra → the modules that it brings. A module that several extras list belongs to the first of them in this table.
EXTRAS: dict[str, tuple[str, ...]] = {
    "statistics": ("scipy",),
    "history": ("duckdb", "scipy"),
    "dashboard": ("dash", "dash_ag_grid", "duckdb", "jinja2", "plotly", "scipy", "tsdownsample", "waitress"),
    "cluster": ("distributed",),
    "mininet": ("mininet", "setuptools"),
    "pictures": ("kaleido",),
    "notebook": ("jupytext", "notebook", "pandas", "polars"),
}


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def missing(extra: str) -> str | None:
    """The first module of an extra that is not installed; None if all are."""
    return next((module for module in EXTRAS[extra] if importlib.util.find_spec(module) is None), None)


def require(extra: str, what: str) -> None:
    """Raises MissingError when a module of the extra is not installed. ``what``: the verb or option that needs it."""
    if module := missing(extra):
        raise _missing(what, module, extra)


def explained(error: ModuleNotFoundError, what: str) -> MissingError | None:
    """The error to show for a module that only an extra or a checkout brings; None for any other module."""
    module = (error.name or "").partition(".")[0]
    if module == BENCHES:
        return MissingError(f"{what}: the benches are not in the installed package; run it in a checkout: make bench")
    extra = next((name for name, modules in EXTRAS.items() if module in modules), None)
    return _missing(what, module, extra) if extra else None


def _missing(what: str, module: str, extra: str) -> MissingError:
    return MissingError(f"{what}: the package '{module}' is not installed; {install(extra)}")
