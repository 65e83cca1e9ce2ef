"""The Dash application. Each page has an address and is built from the files on every visit, so that a run under way
can be watched.

`/` all runs · `/run/<name>` one run, with `?x=…` another figure of it · `/run/<name>/certificate` that run by the Land
Speed Record's rules · `/run/<name>/trial/<n>` one trial, and `…/reverse` what its receivers sent ·
`/compare/<base>/<run>` two runs · `/history` a metric over all runs · `/class` demonstrations for a class · `/gateway`
and `/box` running tools. A name in an address is only looked up among the existing runs; it never becomes a path.
"""

from __future__ import annotations

import re
from pathlib import Path

from dash import ClientsideFunction, Input, Output, dcc, html

from dashboard.certificate import page as certificate_page
from dashboard.classroom import page as class_page
from dashboard.compare import page as compare_page
from dashboard.core import elements, run_files
from dashboard.core.choice import of_search
from dashboard.core.runs import REVERSE, Run, list_runs, load_run
from dashboard.history import page as history_page
from dashboard.live import box_page, gateway_page
from dashboard.live.live import Live
from dashboard.run import page as run_page
from dashboard.run import under_way_part as run_under_way
from dashboard.runs import page as runs_page
from dashboard.runs import tags_bar as run_tags
from dashboard.server.changes import Changes, Offered
from dashboard.server.document import RUN_ADDRESS, Application
from dashboard.timeline import views as timeline_view
from dashboard.trial import page as trial_page
from netcommon.errors import LfpError

CERTIFICATE_ADDRESS = re.compile(r"^/run/(?P<run>[^/]+)/certificate/?$")
COMPARE_ADDRESS = re.compile(r"^/compare/(?P<base>[^/]+)/(?P<run>[^/]+)/?$")


class Runs:
    """The runs directory, as pages see it."""

    def __init__(self, directory: Path, read_only: bool = False) -> None:
        self.directory = directory
        self.read_only = read_only

    def has_timeline(self, name: str, number: int, back: bool) -> bool:
        """Whether there is such a trial, and its packets were captured. `back`: the packets with its receivers'
        data."""
        known = self.directory.is_dir() and any(entry.name == name for entry in self.directory.iterdir())
        tables = self.directory / name / "trials" / f"{number:04d}" / (REVERSE if back else "")
        return known and (tables / "segments.parquet").is_file()

    def all(self) -> list[Run]:
        return list_runs(self.directory)

    def named(self, name: str) -> Run:
        """The run of that name. Raises LfpError when there is none."""
        if not self.directory.is_dir() or not any(entry.name == name for entry in self.directory.iterdir()):
            raise LfpError(f"no run named {name} in {self.directory}", 2)
        return load_run(self.directory / name)


NOTHING_LIVE = Live()


def make_app(
    runs_dir: Path, *, read_only: bool = False, live: Live = NOTHING_LIVE, changes: Offered | None = None
) -> Application:
    """The application for all runs in `runs_dir`. Everything that it serves comes from this machine. `read_only`:
    nothing can be deleted, started or changed. `live`: running tools, which have pages, too. `changes`: who deletes,
    tags and starts; this process by default."""
    runs, changes = Runs(runs_dir, read_only), changes or Changes(runs_dir)
    app = Application(
        runs.has_timeline,
        title="lfp",
        update_title="",
        serve_locally=True,
        eager_loading=True,
        suppress_callback_exceptions=True,
        assets_folder=str(Path(__file__).parent.parent / "assets"),
    )
    app.index_string = app.index_string.replace("<html>", '<html lang="en">')
    app.layout = html.Div(
        [
            dcc.Location(id="url", refresh="callback-nav"),
            html.Header(html.Nav(_links(live)), className="top", lang="en"),
            html.Main(id="page"),
        ]
    )

    def show(pathname: str | None, search: str | None) -> html.Div:
        return page_or_problem(runs, pathname or "/", search or "", live)

    app.callback(Output("page", "children"), Input("url", "pathname"), Input("url", "search"))(show)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("access", "named"), Input("page", "children"), prevent_initial_call=True
    )
    runs_page.register(app, runs.all, None if read_only else changes.delete)
    run_tags.register(app, runs.all, None if read_only else changes.tag)
    run_files.register(app, runs.named)
    compare_page.register(app)
    history_page.register(app)
    run_page.register(app, runs.named)
    run_under_way.register(app, runs.named, lambda name, search: page_or_problem(runs, f"/run/{name}", search, live))
    trial_page.register(app)
    timeline_view.register(app, runs.named)
    class_page.register(app, changes.demonstrations, runs.named, read_only=read_only)
    if live.gateway:
        gateway_page.register(app, live.gateway, read_only=read_only)
    if live.box:
        box_page.register(app, live.box, read_only=read_only)
    return app


def _links(live: Live) -> list[dcc.Link]:
    """The links at the top of every page."""
    pages = {"TCP over long fat pipes": "/", "History": "/history", "Class": "/class"}
    pages |= {"Gateway": "/gateway"} if live.gateway else {}
    pages |= {"Delay box": "/box"} if live.box else {}
    return [dcc.Link(name, href=address) for name, address in pages.items()]


def page_or_problem(runs: Runs, pathname: str, search: str, live: Live = NOTHING_LIVE) -> html.Div:
    """The page of an address, or one that says in a line why there is none. A table may be damaged, or be deleted while
    it is read, and in somebody else's run any value may be of any type."""
    try:
        return page_at(runs, pathname, search, live)
    except LfpError as error:
        return elements.problem(str(error))
    except Exception as error:
        why = next(iter(str(error).splitlines()), "") if isinstance(error, OSError | ValueError) else repr(error)
        return elements.problem(f"{pathname}: not readable ({why})")


def page_at(runs: Runs, pathname: str, search: str = "", live: Live = NOTHING_LIVE) -> html.Div:
    """The page of an address. `search`: its part from `?` on, a choice for a run's figure. Raises LfpError for a run or
    trial that does not exist."""
    if pathname == "/":
        return runs_page.page(runs.all(), read_only=runs.read_only)
    if pathname.rstrip("/") == "/history":
        return history_page.page(runs.directory, search)
    if pathname.rstrip("/") == "/class":
        return class_page.page(search, read_only=runs.read_only)
    if pathname.rstrip("/") in ("/gateway", "/box"):
        return _live_page(pathname.strip("/"), live, runs.read_only)
    if pair := COMPARE_ADDRESS.match(pathname):
        return compare_page.page(runs.named(pair["base"]), runs.named(pair["run"]), of_search(search))
    if certified := CERTIFICATE_ADDRESS.match(pathname):
        return certificate_page.page(runs.named(certified["run"]))
    found = RUN_ADDRESS.match(pathname)
    if found is None:
        return elements.problem(f"no page at {pathname}")
    run = runs.named(found["run"])
    if found["trial"] is None:
        return run_page.page(run, of_search(search))
    return trial_page.page(run, run.trial(int(found["trial"])), search, back=bool(found["back"]))


def _live_page(name: str, live: Live, read_only: bool) -> html.Div:
    if name == "gateway" and live.gateway:
        return gateway_page.page(live.gateway, read_only=read_only)
    if name == "box" and live.box:
        return box_page.page(live.box, read_only=read_only)
    return elements.problem(f"No such tool is watched here. Start the dashboard with --{name} SOCKET.")
