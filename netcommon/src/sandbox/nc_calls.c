#include "nc_calls.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* System calls that libc, event loops, sockets, threads and clocks need. Names that the architecture or this libseccomp
 * does not know are skipped. */
static const char *const common[] = {
    /* descriptors and files */
    "read", "readv", "pread64", "write", "writev", "pwrite64", "close", "close_range", "lseek", "fcntl", "dup", "dup2",
    "dup3", "fstat", "newfstatat", "stat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    "open", "openat", "pipe2", "ftruncate", "fallocate", "memfd_create", "unlink", "unlinkat", "umask", "getcwd",
    "getdents64", "fadvise64", "flock", "fsync", "fdatasync", "rename", "renameat", "renameat2", "statfs", "fstatfs",
    /* waiting */
    "poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2",
    "eventfd2", "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime", "nanosleep", "clock_nanosleep",
    "pause", "restart_syscall", "sched_yield",
    /* use of existing sockets; calls that create one are below */
    "listen", "accept", "accept4", "shutdown", "getsockname", "getpeername", "getsockopt", "setsockopt", "sendto",
    "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg",
    /* memory; mmap and mprotect are below */
    "brk", "munmap", "mremap", "madvise", "mincore", "msync", "mlock", "mlock2", "munlock", "membarrier",
    /* threads, signals, itself */
    "fork", "vfork", "set_robust_list", "get_robust_list", "rseq", "futex", "futex_waitv", "exit", "exit_group",
    "wait4", "waitid", "kill", "tgkill", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
    "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "getpid", "gettid", "getppid", "getpgrp", "getpgid", "getsid",
    "getuid", "geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid", "capget", "arch_prctl",
    "set_tid_address", "prctl", "prlimit64", "getrlimit", "setrlimit", "getrusage", "times", "uname", "sysinfo",
    "getcpu", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_getscheduler",
    "sched_get_priority_max", "sched_get_priority_min", "clock_gettime", "clock_getres", "gettimeofday", "time",
    "getrandom", "set_mempolicy_home_node", NULL};

/* Calls that create sockets; socket itself is in add_checked. */
static const char *const sockets[] = {"socketpair", "bind", "connect", NULL};

/* Calls that only an attacker who controls the process would make. */
static const char *const deadly[] = {"execve",
                                     "execveat",
                                     "ptrace",
                                     "process_vm_readv",
                                     "process_vm_writev",
                                     "pidfd_getfd",
                                     "kcmp",
                                     "mount",
                                     "umount2",
                                     "move_mount",
                                     "open_tree",
                                     "fsopen",
                                     "fsmount",
                                     "fsconfig",
                                     "pivot_root",
                                     "chroot",
                                     "setns",
                                     "unshare",
                                     "bpf",
                                     "perf_event_open",
                                     "userfaultfd",
                                     "add_key",
                                     "request_key",
                                     "keyctl",
                                     "init_module",
                                     "finit_module",
                                     "delete_module",
                                     "kexec_load",
                                     "kexec_file_load",
                                     "reboot",
                                     "swapon",
                                     "swapoff",
                                     "open_by_handle_at",
                                     "name_to_handle_at",
                                     "io_uring_setup",
                                     "setuid",
                                     "setreuid",
                                     "setresuid",
                                     "setgid",
                                     "setregid",
                                     "setresgid",
                                     "setgroups",
                                     "capset",
                                     "acct",
                                     "settimeofday",
                                     "clock_settime",
                                     "adjtimex",
                                     "clock_adjtime",
                                     "ioperm",
                                     "iopl",
                                     "quotactl",
                                     "syslog",
                                     "sethostname",
                                     "setdomainname",
                                     "personality",
                                     "modify_ldt",
                                     "mknod",
                                     "mknodat",
                                     NULL};

static int add(scmp_filter_ctx filter, uint32_t action, const char *const *names)
{
    int status = 0;
    for (; status == 0 && names && *names; names++) {
        int number = seccomp_syscall_resolve_name(*names);
        if (number != __NR_SCMP_ERROR && number >= 0)
            status = seccomp_rule_add(filter, action, number, 0);
    }
    return status;
}

/* Calls that are allowed with some arguments only. A filter cannot inspect the arguments of clone3; libc falls back to
 * clone when clone3 fails. */
static int add_checked(scmp_filter_ctx filter, bool interpreted)
{
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    static const int mapping[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
    static const scmp_datum_t requests[] = {TCGETS, FIONREAD, FIONBIO, FIOCLEX, TIOCOUTQ};
    const scmp_datum_t namespaces =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    int status =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
    for (size_t i = 0; i < sizeof requests / sizeof requests[0] && status == 0; i++)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, requests[i], 0));
    for (size_t i = 0; i < sizeof families / sizeof families[0] && status == 0 && !interpreted; i++)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0));
    for (size_t i = 0; i < sizeof mapping / sizeof mapping[0] && status == 0; i++)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, mapping[i], 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (status == 0 && interpreted)
        status = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC | PROT_WRITE, PROT_EXEC));
    return status;
}

/* No mitigation of speculative stores: it would slow everything down, and no foreign code runs in this process. */
int nc_calls_confine(const char *const *more, bool diagnoses, bool interpreted)
{
    const uint32_t attack = interpreted ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!filter)
        return -1;
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (diagnoses)
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK, 0),
                         SCMP_A2(SCMP_CMP_EQ, NETLINK_SOCK_DIAG, 0));
    bool good = add(filter, attack, deadly) == 0 && add(filter, SCMP_ACT_ALLOW, common) == 0 &&
                add(filter, SCMP_ACT_ALLOW, interpreted ? NULL : sockets) == 0 &&
                add(filter, SCMP_ACT_ALLOW, more) == 0 && add_checked(filter, interpreted) == 0 &&
                seccomp_load(filter) == 0;
    seccomp_release(filter);
    return good ? 0 : -1;
}
