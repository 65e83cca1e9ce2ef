/* The seccomp filter of a daemon; nc_sandbox.h explains its use. */
#ifndef NC_CALLS_H
#define NC_CALLS_H

#include <stdbool.h>

/* From now on this process and its children may make only the system calls that every daemon needs and those of `more`
 * (NULL-terminated). They may create TCP, UDP and Unix sockets, and with `diagnoses` those of sock_diag(7); memory
 * never becomes executable. An interpreter (`interpreted`) may map shared objects, because nobody can write to that
 * code, but not create sockets. Starting a program fails with EPERM instead of killing it, because libraries look for
 * programs. Returns 0, or -1 if the kernel has no seccomp. */
int nc_calls_confine(const char *const *more, bool diagnoses, bool interpreted);

#endif
