"""A tool of this checkout, built again from a changed source file.

It compiles one changed copy with the command line of the release build, and links it in front of the tool's libraries,
where it replaces the member of the same name. The build tree stays as it is.
Rejected: a script that prints another table. It would show that lfp asks for the table, not what the tool itself does.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
_TIMEOUT_S = 120


def changed_tool(folder: Path, tool: str, source: str, pattern: str, replacement: str) -> Path:
    """Builds ``tool`` into ``folder`` from a ``source`` (relative to the root) in which ``pattern``, which must match
    once, is replaced."""
    text, matches = re.subn(pattern, replacement, (ROOT / source).read_text(encoding="utf-8"))
    assert matches == 1, f"{source}: {pattern} matches {matches} times"
    changed = folder / Path(source).name
    changed.write_text(text, encoding="utf-8")
    commands = _run("ninja", "-t", "commands", f"bin/{tool}").splitlines()
    compile_words = shlex.split(next(line for line in commands if line.endswith(f" -c {ROOT / source}")))
    link_words = [word for word in shlex.split(commands[-1]) if word not in (":", "&&")]
    made, program = changed.with_suffix(".o"), folder / tool
    compile_words[-1] = str(changed)
    _put(compile_words, "-o", made)
    _put(compile_words, "-MF", made.with_suffix(".d"))
    link_words.insert(next(i for i, word in enumerate(link_words) if word.endswith(".o")), str(made))
    _put(link_words, "-o", program)
    _run(*compile_words)
    _run(*link_words)
    return program


def _put(words: list[str], option: str, path: Path) -> None:
    words[words.index(option) + 1] = str(path)


def _run(*words: str) -> str:
    """The output of a command in the build folder; an error with the command's output if it fails."""
    done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout
