"""The ``lfp`` command. Each verb is a file in ``commands`` that is loaded when used; other packages add verbs by entry
points.

Every expected failure is one line on stderr and has the contract's exit status: 0 done, 1 the measurement failed, 2
usage, 3 the machine lacks something, 128 + n ended by signal n (130: Ctrl-C).
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys

import click

from netcommon import extras, unprivileged
from netcommon.errors import EXIT_INTERRUPTED, EXIT_USAGE, LfpError
from netcommon.printable import printable
from scenarios.run import plugins
from scenarios.run.interrupt import Interrupted, orderly

# numpy's and scipy's libraries start a thread for each core, which spin for a while: 50 ms of CPU time at every start.
# No verb multiplies matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The help lines of `lfp --help`. They are repeated here, because loading all verbs takes half a second. Verbs of other
# packages follow these groups.
GROUPS = {
    "Measure": {
        "list": "The scenarios of the library.",
        "new": "Write a scenario file to start from.",
        "schema": "The JSON Schema of scenario files, for editors.",
        "explain": "What a scenario will do: settings, trials, time, memory.",
        "run": "Run scenarios.",
        "import": "Make a run from captures of other programs.",
        "trc": "Search for the best rate at which to pace TCP.",
        "conformance": "Test a pair of gateways, case by case.",
        "papers": "Run the scenarios that measure the papers' rows.",
        "virtual": "Run any command in virtual time.",
        "schedule": "Show which process ran when, from a recording of virtual time.",
    },
    "Results": {
        "show": "The trials of a run.",
        "legs": "Delay and losses of each leg between capture points.",
        "compare": "Compare two runs, or two values inside one run.",
        "gate": "Run a scenario and compare it with a baseline.",
        "history": "A metric over all runs, by commit.",
    },
    "Machine": {
        "doctor": "Is this machine ready, and what is it good for?",
        "metrics": "Serve the metrics of running tools for Prometheus.",
        "bench": "Benches of the tools.",
        "clean": "Remove what crashed runs left behind.",
    },
}
VERBS = tuple(verb for group in GROUPS.values() for verb in group)


class LazyGroup(click.Group):
    """Loads a verb's module when the verb is used, so that ``lfp list`` does not wait for Mininet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our own verbs, then those of other packages."""
        return [*VERBS, *sorted(set(plugins.commands()) - set(VERBS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's click command, or None."""
        if cmd_name in VERBS:
            command: click.Command = importlib.import_module(f"lfp.commands.{cmd_name}").command
            return command
        point = plugins.commands().get(cmd_name)
        loaded: click.Command | None = point.load() if point else None
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs in their groups, without loading our own."""
        others = {name: point.load().get_short_help_str(limit=90) for name, point in sorted(plugins.commands().items())}
        for title, verbs in (GROUPS | {"More": others}).items():
            if verbs:
                with formatter.section(title):
                    formatter.write_dl(list(verbs.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the verb as click does, and adds a suggestion for a misspelt one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            for near in difflib.get_close_matches(args[0], self.list_commands(ctx), 1):
                raise click.UsageError(f"{error.message} Did you mean '{near}'?", ctx) from None
            raise


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=extras.DISTRIBUTION, message="lfp %(version)s")
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
        return _say(error)
    except ModuleNotFoundError as error:
        if (explained := extras.explained(error, _verb(arguments))) is None:
            raise
        return _say(explained)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_USAGE
    except click.ClickException as error:
        hint = getattr(error, "ctx", None)
        where = f" (see '{hint.command_path} --help')" if hint else ""
        click.echo(printable(f"lfp: {error.format_message()}{where}"), err=True)
        return EXIT_USAGE
    except (click.Abort, Interrupted) as abort:  # click turns a KeyboardInterrupt into Abort
        interrupted = abort if isinstance(abort, Interrupted) else abort.__cause__
        click.echo(f"lfp: {interrupted or 'aborted'}", err=True)
        return interrupted.status if isinstance(interrupted, Interrupted) else EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output has exited, so a message would be lost
        return 1


def _say(error: LfpError) -> int:
    """Prints an error's line; returns its exit status."""
    click.echo(f"lfp: {error}", err=True)
    return error.status


def _verb(arguments: list[str]) -> str:
    return next((one for one in arguments if not one.startswith("-")), "lfp")


if __name__ == "__main__":
    main()
