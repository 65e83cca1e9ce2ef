/* The sandbox (nc_sandbox.h) for a Python process, which calls the one function of liblfp-sandbox.so by ctypes
 * (netcommon/sandbox.py). So C and Python share one filter and one landlock ruleset.
 * Rejected: a program that confines itself and then starts Python; its sandbox would have to allow starting
 * programs. */
#ifndef NC_CONFINE_H
#define NC_CONFINE_H

#include <stddef.h>

/* Confines this process, which must have one thread. `request` is a JSON object: {"capabilities":["dac_read_search"],
 * "reads":[path, …],"writes":[folder, …],"user":name or null,"off":false}. `answer` becomes the state that
 * nc_sandbox_enter returns, as JSON, or one line with the reason of a failure. Returns 0 or an exit status. */
int nc_confine(const char *request, char *answer, size_t size) __attribute__((visibility("default")));

#endif
