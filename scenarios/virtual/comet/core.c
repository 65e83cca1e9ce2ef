/* The box's own code behind core.h, compiled as user-mode Linux compiles its code for the host: with the C library's
 * headers. The end of the file has what that code needs from a process: memory and exit. */
#include "core.h"

#include <string.h>
#include <sys/mman.h>

#include <um_malloc.h>

#include "direction.h"
#include "direction_view.h"
#include "models_packed.h"
#include "nc_log.h"
#include "nc_program.h"

_Static_assert(COMET_VNET_LEN == NC_VNET_LEN && COMET_FRAME_MAX == DIRECTION_FRAME_MAX, "one frame for both");

struct comet_core {
    struct direction direction;
    struct recorder recorder;
    struct nc_run run;
    struct packet_buffer *reserved;
};

/* In front of each block, so that realloc knows how much to copy and free how it was allocated. */
union block {
    size_t bytes; /* this header included */
    max_align_t align;
};

/* Larger blocks come from the host: the kernel has no large blocks for callers that must not sleep. */
enum { LARGE = 32 * 1024 };

void *comet_malloc(size_t bytes)
{
    size_t all = bytes + sizeof(union block);
    union block *block;
    if (all <= LARGE) {
        block = uml_kmalloc((int)all, UM_GFP_ATOMIC);
    } else {
        block = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            block = NULL;
    }
    if (!block)
        return NULL;
    block->bytes = all;
    return block + 1;
}

void comet_free(void *memory)
{
    if (!memory)
        return;
    union block *block = (union block *)memory - 1;
    if (block->bytes <= LARGE)
        kfree(block);
    else
        munmap(block, block->bytes);
}

void *comet_calloc(size_t n, size_t each)
{
    void *memory = comet_malloc(n * each);
    if (memory)
        memset(memory, 0, n * each);
    return memory;
}

void *comet_realloc(void *memory, size_t bytes)
{
    void *grown = comet_malloc(bytes);
    if (!grown || !memory)
        return grown;
    size_t had = ((union block *)memory - 1)->bytes - sizeof(union block);
    memcpy(grown, memory, had < bytes ? had : bytes);
    comet_free(memory);
    return grown;
}

/* A guest that has no memory left ends as a trial that failed. */
void nc_die(enum nc_exit status, const char *format, ...)
{
    (void)status;
    (void)format;
    abort();
}

bool nc_program_end_waits(void)
{
    return false;
}

struct comet_core *comet_core_open(unsigned index, comet_count seed, comet_ns granularity_ns, comet_count memory_bytes)
{
    struct comet_core *core = comet_calloc(1, sizeof *core);
    if (core && direction_init(&core->direction, index, seed, granularity_ns, memory_bytes, 0) < 0) {
        comet_free(core);
        return NULL;
    }
    return core;
}

void comet_core_close(struct comet_core *core)
{
    if (core->direction.recorder)
        recorder_flush(core->direction.recorder);
    direction_free(&core->direction);
    comet_free(core);
}

int comet_core_set(struct comet_core *core, const void *block, unsigned long len, comet_ns now_ns)
{
    struct {
        struct params params;
        struct models models;
    } *set = comet_malloc(sizeof *set); /* too large for the kernel's stack */
    bool ok = set && models_unpack(block, len, &set->params, &set->models) == 0;
    if (ok)
        direction_set(&core->direction, &set->params, &set->models, now_ns);
    comet_free(set);
    return ok;
}

void comet_core_record(struct comet_core *core, void *ring, void *slots, comet_count n, comet_count header_bytes)
{
    recorder_init(&core->recorder, ring, slots, n, header_bytes);
    core->direction.recorder = &core->recorder;
}

comet_byte *comet_core_reserve(struct comet_core *core)
{
    core->reserved = direction_reserve(&core->direction);
    return core->reserved ? core->reserved->data : NULL;
}

void comet_core_take(struct comet_core *core, unsigned len, comet_ns now_ns)
{
    direction_take(&core->direction, core->reserved, len, now_ns);
}

void comet_core_refuse(struct comet_core *core, const comet_byte *data, unsigned len, comet_ns now_ns)
{
    direction_refuse(&core->direction, data, len, now_ns);
}

int comet_core_due(struct comet_core *core, comet_ns now_ns, struct comet_frame *frame)
{
    if (!direction_due(&core->direction, now_ns, &core->run))
        return 0;
    *frame = (struct comet_frame){core->run.head, core->run.payload, core->run.head_len, core->run.payload_len};
    return 1;
}

void comet_core_sent(struct comet_core *core, comet_ns now_ns, int taken)
{
    direction_sent(&core->direction, now_ns, taken);
}

comet_ns comet_core_next(struct comet_core *core)
{
    return direction_next_ns(&core->direction);
}

unsigned long comet_core_view_bytes(void)
{
    return sizeof(struct direction_view);
}

void comet_core_view(struct comet_core *core, comet_ns now_ns, void *view)
{
    direction_view(&core->direction, now_ns, view);
}
