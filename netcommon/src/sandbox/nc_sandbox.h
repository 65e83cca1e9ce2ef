/* Least privilege: a daemon drops its privileges once it has opened what it needs. Each daemon has one constant table
 * of what it keeps; its manual page lists the same in its section SECURITY, and tests/netns/test_sandbox.py compares
 * the running process with the page.
 *
 * In this order it drops or sets: the user, the groups and all capabilities except the table's; no new privileges and
 * no core dumps; landlock (files, TCP connections); a seccomp filter. A call that the filter does not allow fails with
 * ENOSYS, which libraries take for an old kernel: a run of weeks must not end because a new library version uses
 * another call. A call that starts a program or inspects another process kills this process.
 *
 * When the machine lacks something (seccomp, landlock, or a second user in the user namespace), the daemon logs one
 * line to stderr, lists it in the state and continues. Sanitizers trace their own process, so a build with one drops
 * only user and capabilities. */
#ifndef NC_SANDBOX_H
#define NC_SANDBOX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"

#define NC_SANDBOX_USER "nobody" /* the user that a daemon becomes when it was started as root */

struct nc_sandbox {
    uint64_t capabilities;     /* capabilities to keep if the process has them: 1 << CAP_NET_ADMIN | … */
    const char *const *calls;  /* system calls in addition to those of every daemon, NULL-terminated */
    const char *const *reads;  /* files and folders that may still be read, NULL-terminated */
    const char *const *writes; /* folders in which files may be made, changed and removed, NULL-terminated */
    bool connects;             /* whether it opens TCP connections */
    bool diagnoses;            /* whether it asks the kernel about sockets (sock_diag(7)) */
    /* whether it is an interpreter, which uses only sockets that it has already opened (nc_confine.h) */
    bool interpreted;
};

/* The user's choices: the values of a tool's options --user and --no-sandbox. */
struct nc_sandbox_choice {
    const char *user; /* NULL: NC_SANDBOX_USER when root, otherwise no change; "root": keeps user and capabilities */
    bool off;
};

/* The rows of these two options for a tool's option table; `member` is the struct nc_sandbox_choice in its settings. */
#define NC_SANDBOX_ROWS(member)                                                                                        \
    NC_STRING("user", member.user, "NAME",                                                                             \
              "become this user once everything is open; default nobody when started as root; root: keep user and "    \
              "capabilities"),                                                                                         \
        NC_FLAG("no-sandbox", member.off,                                                                              \
                "keep user, capabilities, files and all system calls, for debuggers and profilers")

/* Enters the sandbox. The process must have one thread. *state becomes the resulting state, for the `ready` event and
 * the control socket:
 * {"user":"nobody","capabilities":[…],"no_new_privs":true,"seccomp":true,"landlock":true,"missing":[…]}. Returns 0, or
 * -1 with an error and *state NULL: an unknown user, or one that this process may not become. */
int nc_sandbox_enter(const struct nc_sandbox *sandbox, const struct nc_sandbox_choice *choice, json_t **state,
                     struct nc_error *error);

/* Drops all other capabilities of this process and of the programs that it starts. */
void nc_sandbox_limit(uint64_t capabilities);

#endif
