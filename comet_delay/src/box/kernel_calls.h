/* The interface to sch_comet, the same box as a queueing discipline of the virtual-time kernel
 * (scenarios/virtual/comet). An open file of /proc is one box: it exists until the file is closed, takes packed
 * parameters (models_packed.h), and returns each direction's counters (struct direction_view). Disciplines are attached
 * to the interfaces of the box by rtnetlink; their options name the open file. Both sides run on one machine and are
 * built from one version. */
#ifndef COMET_KERNEL_CALLS_H
#define COMET_KERNEL_CALLS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define COMET_KERNEL_FILE "/proc/comet"
#define COMET_KERNEL_DISCIPLINE "comet"

/* Properties of the box that never change. `record`: the memory of a record file (0: none) that this process has
 * mapped, with the offsets of each direction's ring and slots in it. */
struct comet_kernel_open {
    __u64 seed, granularity_ns, memory_bytes;
    __u64 view_bytes; /* sizeof(struct direction_view): differs when the other side was built from other sources */
    __u64 record, record_bytes, ring_at[2], slots_at[2], slots_n, header_bytes;
};

/* A packed block for each direction, which applies from `now_ns` on; 0: from now on. */
struct comet_kernel_set {
    __u64 now_ns, block[2], len[2];
};

/* Writes the struct direction_view of both directions, one after the other, to `to`, and the time to `now_ns`. */
struct comet_kernel_view {
    __u64 to, now_ns;
};

#define COMET_KERNEL_OPEN _IOW('c', 1, struct comet_kernel_open)
#define COMET_KERNEL_SET _IOW('c', 2, struct comet_kernel_set)
#define COMET_KERNEL_VIEW _IOWR('c', 3, struct comet_kernel_view)

/* TCA_OPTIONS of the discipline: the box, and the direction whose packets leave at this interface. */
struct comet_kernel_attach {
    __s32 file;
    __u32 direction;
};

#endif
