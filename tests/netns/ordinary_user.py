"""A program as an ordinary user: no capability, nothing gained by exec, no way to become root, a fresh home.

``python ordinary_user.py UID HOME TUN FOLDER… -- COMMAND…``, as root and in a mount namespace of its own, arranges what
such a user has on a machine that was set up for several: the FOLDERs can be reached although they may lie below root's
home, ``/dev/net/tun`` has the mode that udev gives it (TUN is ``tun``) or is closed (``closed``), and ``sudo``, ``su``
and ``pkexec`` do nothing. Rejected: copying checkout and environment, which takes a gigabyte.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

UID = 61234  # nobody's; the first of a thousand
# Words in front of a command, which then runs as on a machine that forbids user namespaces: in a user namespace in
# which no further one can be made, as an ordinary user.
NO_NAMESPACES = (
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    'echo 1 > /proc/sys/user/max_user_namespaces; exec unshare --user --map-user=1000 --map-group=1000 "$@"',
    "sh",
)
_TUN, _TUN_NUMBER = Path("/dev/net/tun"), os.makedev(10, 200)


def command(argv: list[str], home: Path, folders: list[Path], *, tun: bool = True) -> list[str]:
    """Command line that runs ``argv`` as an ordinary user, the owner of ``home``, who can read the folders."""
    uid = str(home.stat().st_uid)
    own = [sys.executable, str(Path(__file__).resolve()), uid, str(home), "tun" if tun else "closed"]
    prefix = ["unshare", "--mount", "--propagation", "private", "--"]
    return [*prefix, *own, *(str(folder) for folder in folders), "--", *argv]


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True, stdin=subprocess.DEVNULL)


def _closed_ancestor(path: Path) -> Path | None:
    """The first parent folder of ``path`` that other users may not enter."""
    passed = [folder for folder in reversed([path, *path.parents]) if folder.is_dir()]
    return next((folder for folder in passed if not folder.stat().st_mode & stat.S_IXOTH), None)


def _open_ways(stage: Path, folders: list[Path]) -> None:
    """Replaces each folder that is closed to others by one that holds nothing but the paths to ``folders``."""
    closed: dict[Path, list[tuple[Path, Path]]] = {}
    for number, folder in enumerate(folders):
        if ancestor := _closed_ancestor(folder):
            if ancestor == folder:
                raise SystemExit(f"{folder}: closed to others itself")
            kept = stage / str(number)
            kept.mkdir()
            _mount("--bind", folder, kept)
            closed.setdefault(ancestor, []).append((folder, kept))
    for ancestor, ways in closed.items():
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", ancestor)
        for folder, kept in ways:
            folder.mkdir(parents=True, exist_ok=True)
            _mount("--bind", kept, folder)


def _tun_device(stage: Path, mode: int) -> None:
    node = stage / "tun"
    os.mknod(node, stat.S_IFCHR | mode, _TUN_NUMBER)
    node.chmod(mode)
    _mount("--bind", node, _TUN)


def main() -> None:
    """Does not return."""
    uid, home, tun, *rest = sys.argv[1:]
    split = rest.index("--")
    stage = Path(tempfile.mkdtemp(prefix="lfp-user-"))
    try:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", stage)
        _open_ways(stage, [Path(folder) for folder in rest[:split]])
        _tun_device(stage, 0o666 if tun == "tun" else 0o600)
        for name in ("sudo", "su", "pkexec"):
            if found := shutil.which(name):
                _mount("--bind", "/dev/null", found)
        _mount("--move", stage, "/mnt")  # so that the folder below can be removed
    finally:
        stage.rmdir()
    environment = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": f"{home}/tmp"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith(("LFP_", "PYTHONPATH"))}
    none = ["--clear-groups", "--no-new-privs", "--bounding-set", "-all", "--inh-caps", "-all"]
    os.chdir(home)
    argv = ["setpriv", "--reuid", uid, "--regid", uid, *none, *rest[split + 1 :]]
    os.execvpe(argv[0], argv, environment)


if __name__ == "__main__":
    main()
