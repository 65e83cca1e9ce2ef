/* Any bytes as a delay box's record: slots of 64 bytes, the first half for one direction, the second half for the
 * other. For each frame, `done` must be called once and in order of number, and every part of the frame must be
 * extractable. */
#include <stdlib.h>
#include <string.h>

#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_in(void *context, unsigned direction, struct pl_replay_frame *frame)
{
    struct nc_run run;
    (void)context, (void)direction;
    if (frame->parts > 1)
        for (uint32_t i = 0; i < frame->parts; i += 1 + frame->parts / 8) {
            nc_super_run(&frame->super, frame->data + NC_VNET_LEN, i, 1, &run);
            if (run.head_len > sizeof run.head || run.head_len - NC_VNET_LEN > frame->captured)
                abort();
        }
}

static void on_out(void *context, unsigned direction, const struct pl_replay_out *out)
{
    (void)context, (void)direction;
    if (out->count == 0 || out->first + out->count > out->frame->parts)
        abort();
}

static void on_done(void *context, unsigned direction, const struct pl_replay_frame *frame)
{
    uint64_t *next = context;
    if (frame->number < next[direction] || frame->captured > frame->frame_len)
        abort();
    next[direction] = frame->number + frame->parts;
}

static void on_gap(void *context, unsigned direction, const struct comet_record *record)
{
    (void)context, (void)direction, (void)record;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t next[2] = {0, 0};
    struct pl_replay replay;
    struct pl_replay_sink sink = {on_in, on_out, on_done, on_gap, next, on_gap};
    char why[200];
    comet_record_check(data, size, why, sizeof why);
    size_t slots = size / COMET_RECORD_SLOT, half = slots / 2;
    pl_replay_init(&replay, &sink);
    for (unsigned d = 0; d < 2; d++) {
        const uint8_t *at = data + d * half * COMET_RECORD_SLOT, *end = at + half * COMET_RECORD_SLOT;
        while (at < end)
            at += pl_replay_read(&replay, d, at, end, 5) * COMET_RECORD_SLOT;
    }
    const uint64_t now[2] = {replay.direction[0].seen_ns, replay.direction[1].seen_ns},
                   all[2] = {UINT64_MAX, UINT64_MAX};
    pl_replay_emit(&replay, now);
    pl_replay_emit(&replay, all);
    pl_replay_free(&replay);
    return 0;
}
