"""The ``lfp`` command. Each verb is a file in ``commands`` that is loaded when used; other packages add verbs by entry
points.

Every expected failure is one line on stderr and has the contract's exit status: 0 done, 1 the measurement failed, 2
usage, 3 the machine lacks something, 128 + n ended by signal n (130: Ctrl-C).
"""

from __future__ import annotations

import importlib
import os
import sys

import click

from netcommon import unprivileged
from netcommon.errors import EXIT_INTERRUPTED, EXIT_USAGE, LfpError
from scenarios.run import plugins
from scenarios.run.interrupt import Interrupted, orderly

# numpy's and scipy's libraries start a thread for each core, which spin for a while: 50 ms of CPU time at every start.
# No verb multiplies matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

VERBS = (
    "list", "new", "explain", "run", "show", "legs", "compare", "gate", "history", "virtual", "schedule", "bench",
    "trc", "papers", "doctor", "clean",
)  # fmt: skip


class LazyGroup(click.Group):
    """Loads a verb's module when the verb is used, so that ``lfp list`` does not wait for Mininet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our own verbs, then those of other packages."""
        return [*VERBS, *sorted(set(plugins.commands()) - set(VERBS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's click command, or None."""
        if cmd_name in VERBS:
            command: click.Command = importlib.import_module(f"scenarios.commands.{cmd_name}").command
            return command
        point = plugins.commands().get(cmd_name)
        loaded: click.Command | None = point.load() if point else None
        return loaded


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lfp", message="lfp %(version)s")
def lfp() -> None:
    """Testbed and measurements for TCP over long fat pipes."""


def main() -> None:
    """Console script."""
    try:
        sys.exit(run(sys.argv[1:]))
    except unprivileged.Outside:
        unprivileged.enter(unprivileged.own_command_line())


def run(arguments: list[str]) -> int:
    """Runs ``lfp`` with these arguments; returns the exit status."""
    try:
        with orderly():
            result = lfp.main(arguments, prog_name="lfp", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except LfpError as error:
        click.echo(f"lfp: {error}", err=True)
        return error.status
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_USAGE
    except click.ClickException as error:
        hint = getattr(error, "ctx", None)
        where = f" (see '{hint.command_path} --help')" if hint else ""
        click.echo(f"lfp: {error.format_message()}{where}", err=True)
        return EXIT_USAGE
    except (click.Abort, Interrupted) as abort:  # click turns a KeyboardInterrupt into Abort
        interrupted = abort if isinstance(abort, Interrupted) else abort.__cause__
        click.echo(f"lfp: {interrupted or 'aborted'}", err=True)
        return interrupted.status if isinstance(interrupted, Interrupted) else EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone, so a message would reach nobody
        return 1


if __name__ == "__main__":
    main()
