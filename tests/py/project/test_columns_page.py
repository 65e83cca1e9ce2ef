"""docs/reference/columns.md is generated from the table of columns, without changes by hand."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from scenarios.plan.columns import COLUMNS

TOOL = Path(__file__).resolve().parents[3] / "tools" / "columns-page"


def test_the_page_is_what_the_table_says() -> None:
    loader = SourceFileLoader("columns_page", str(TOOL))
    spec = spec_from_loader("columns_page", loader)
    assert spec
    tool = module_from_spec(spec)
    loader.exec_module(tool)
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page == tool.page(), "run: make tables"
    assert all(f"| `{name}` |" in page for name in COLUMNS)
