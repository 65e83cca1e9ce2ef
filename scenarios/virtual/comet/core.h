/* One direction of the delay box as the kernel sees it. The kernel's headers and the C library's cannot be read by one
 * file, so sch_comet.c (the kernel's) and core.c (the box's code) meet here, in types that both have. */
#ifndef COMET_CORE_H
#define COMET_CORE_H

typedef unsigned char comet_byte;
typedef unsigned long long comet_ns, comet_count;

enum {
    COMET_VNET_LEN = 12,          /* of the virtio-net header in front of a frame */
    COMET_FRAME_MAX = 65536 + 256 /* DIRECTION_FRAME_MAX */
};
#define COMET_NEVER (~0ULL)

struct comet_core;

/* A frame that is due: its virtio-net header and rewritten headers, then the rest. */
struct comet_frame {
    const comet_byte *head, *payload;
    unsigned head_len, payload_len;
};

/* NULL: no memory. */
struct comet_core *comet_core_open(unsigned index, comet_count seed, comet_ns granularity_ns, comet_count memory_bytes);
void comet_core_close(struct comet_core *core);

/* Applies a packed block of parameters (models_packed.h). False: the block is not from these sources. */
int comet_core_set(struct comet_core *core, const void *block, unsigned long len, comet_ns now_ns);

/* Starts recording; to be called before the first comet_core_set. `ring` and `slots` are as in recorder.h, in memory that
 * stays until comet_core_close. */
void comet_core_record(struct comet_core *core, void *ring, void *slots, comet_count n, comet_count header_bytes);

/* These call direction_reserve, direction_take and direction_refuse. */
comet_byte *comet_core_reserve(struct comet_core *core);
void comet_core_take(struct comet_core *core, unsigned len, comet_ns now_ns);
void comet_core_refuse(struct comet_core *core, const comet_byte *data, unsigned len, comet_ns now_ns);

/* These call direction_due, direction_sent and direction_next_ns. */
int comet_core_due(struct comet_core *core, comet_ns now_ns, struct comet_frame *frame);
void comet_core_sent(struct comet_core *core, comet_ns now_ns, int taken);
comet_ns comet_core_next(struct comet_core *core);

/* The size of a struct direction_view, and its content at `now_ns`. */
unsigned long comet_core_view_bytes(void);
void comet_core_view(struct comet_core *core, comet_ns now_ns, void *view);

#endif
