"""A program as an ordinary user in a container: ``python container.py COMMAND…`` sets the filter that container engines
set by default, and runs COMMAND under it.

The filter refuses what Docker's documentation names as blocked for a container without capabilities. Rejected: a
container engine, which needs a service, an image and rights that most test machines do not give.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import os
import sys
from pathlib import Path

LIBRARY = ctypes.util.find_library("seccomp")
# Words in front of a command, which then runs as an ordinary user in a container: without further namespaces, with
# /dev/shm as engines mount it, and under the filter.
CONTAINER = (
    "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
    'mount -t tmpfs -o size=64m,noexec,nosuid,nodev shm /dev/shm; exec unshare --user --map-user=1000 '
    '--map-group=1000 "$@"', "sh", sys.executable, str(Path(__file__).resolve()),
)  # fmt: skip
_REFUSED = (
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module",
    "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms",
    "get_mempolicy", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl",
    "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mbind", "mount", "mount_setattr",
    "move_mount", "move_pages", "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open", "pivot_root",
    "query_module", "quotactl", "quotactl_fd", "reboot", "request_key", "set_mempolicy", "setdomainname",
    "sethostname", "setns", "settimeofday", "swapoff", "swapon", "syslog", "umount2", "unshare", "uselib",
    "userfaultfd", "ustat", "vhangup", "vmsplice",
)  # fmt: skip
_NEW_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)  # of clone
_NO_RANDOM_ADDRESSES = 0x0040000  # of personality
_ALLOW, _ERRNO, _EQUAL, _MASKED_EQUAL = 0x7FFF0000, 0x00050000, 4, 7


class _Argument(ctypes.Structure):
    """struct scmp_arg_cmp."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def _filter() -> None:
    library = ctypes.CDLL(LIBRARY, use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(_ALLOW)))

    def refuse(name: str, status: int = errno.EPERM, *arguments: _Argument) -> None:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            return  # a call of other processors, or one that this library does not know
        compared = (_Argument * len(arguments))(*arguments)
        action = ctypes.c_uint32(_ERRNO | status)
        error = library.seccomp_rule_add_array(context, action, number, len(arguments), compared)
        assert not error, (name, error)

    for name in _REFUSED:
        refuse(name)
    refuse("clone3", errno.ENOSYS)
    for bit in _NEW_NAMESPACES:
        refuse("clone", errno.EPERM, _Argument(0, _MASKED_EQUAL, bit, bit))
    refuse("personality", errno.EPERM, _Argument(0, _EQUAL, _NO_RANDOM_ADDRESSES, 0))
    assert not library.seccomp_load(context)


def main() -> None:
    """Does not return."""
    _filter()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
