/* The seccomp filter of a daemon (nc_sandbox.h says when it is entered and what it is for). */
#ifndef NC_CALLS_H
#define NC_CALLS_H

#include <stdbool.h>

/* From now on this process and its children may make the calls that any daemon makes and those of `more`
 * (NULL-terminated). Sockets are those of TCP, UDP and Unix, and of sock_diag(7) where it `diagnoses`;
 * memory never becomes executable. An interpreter (`interpreted`) may map shared objects, because nobody can write to
 * that code. It may not create sockets. Starting a program fails with EPERM instead of killing it, because libraries
 * look for programs. Returns 0, or -1 where the kernel has no seccomp. */
int nc_calls_confine(const char *const *more, bool diagnoses, bool interpreted);

#endif
