/* What is known of a congestion control by its name, as the kernel has it. Most bound what is in flight by a window, of
 * which slow start is the part below ssthresh; the kernel's pacing rate is above what such a window sends in a round
 * trip, so it never limits. Others send at a rate that they set, and leave ssthresh as it was at first. Of those BBR heeds
 * no marks of ECN, and later versions of it do. */
#ifndef PL_CONTROL_H
#define PL_CONTROL_H

#include <stddef.h>

enum pl_control { PL_CONTROL_UNKNOWN, PL_CONTROL_WINDOW, PL_CONTROL_RATE, PL_CONTROL_MARKED_RATE };

/* `name` has `len` characters. Of a name that is not in the table nothing is known. */
enum pl_control pl_control_named(const char *name, size_t len);

#endif
