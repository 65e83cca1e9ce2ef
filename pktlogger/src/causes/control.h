/* The kind of a congestion control, looked up by its name in the kernel. Most controls bound the data in flight by a
 * window, which is in slow start below ssthresh. The kernel's pacing rate exceeds what such a window sends in a round
 * trip, so pacing never limits them. Others send at a rate that they set, and leave ssthresh at its initial value. One
 * of these is BBR, whose first version ignores ECN marks; later versions react to them. */
#ifndef PL_CONTROL_H
#define PL_CONTROL_H

#include <stddef.h>

enum pl_control { PL_CONTROL_UNKNOWN, PL_CONTROL_WINDOW, PL_CONTROL_RATE, PL_CONTROL_MARKED_RATE };

/* `name` has `len` characters. A name that is not in the table is PL_CONTROL_UNKNOWN. */
enum pl_control pl_control_named(const char *name, size_t len);

#endif
