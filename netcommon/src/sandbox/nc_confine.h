/* The sandbox (nc_sandbox.h) for a Python process, which calls this by ctypes (netcommon/sandbox.py): the one function
 * of liblfp-sandbox.so. So C and Python have one filter and one use of landlock.
 * Rejected: a program that confines itself and then starts Python. It would have to be allowed to start a program. */
#ifndef NC_CONFINE_H
#define NC_CONFINE_H

#include <stddef.h>

/* Confines this process, which must have one thread. `request` is a JSON object: {"capabilities":["dac_read_search"],
 * "reads":[path, …],"writes":[folder, …],"user":name or null,"off":false}. `answer` takes the state that
 * nc_sandbox_enter gives, as JSON, or one line that says why not. Returns 0 or an exit status. */
int nc_confine(const char *request, char *answer, size_t size) __attribute__((visibility("default")));

#endif
