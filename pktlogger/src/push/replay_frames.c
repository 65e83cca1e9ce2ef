/* Implements replay_frames.h. */
#include "replay_frames.h"

#include <stdlib.h>

#include "nc_log.h"
#include "nc_range.h"
#include "reader.h"

static int grow(struct pl_replay_frames *frames)
{
    if (frames->n < frames->room)
        return 0;
    size_t room = frames->room ? frames->room * 2 : 4096;
    struct pl_replay_frame *at = realloc(frames->at, room * sizeof *at);
    if (at)
        frames->at = at;
    uint64_t *due_ns = realloc(frames->due_ns, room * sizeof *due_ns);
    if (due_ns)
        frames->due_ns = due_ns;
    if (!at || !due_ns)
        return -1;
    frames->room = room;
    return 0;
}

static int take(struct pl_replay_frames *frames, const struct pl_frame *frame, int64_t *first_ns, uint32_t longest)
{
    if (frame->link != NC_LINK_ETHERNET || frame->t_ns < 0 || frame->wire > longest || frame->wire < 14) {
        frames->skipped++;
        return 0;
    }
    if (grow(frames) < 0)
        return -1;
    if (frames->n == 0)
        *first_ns = frame->t_ns;
    uint64_t due_ns = frame->t_ns > *first_ns ? (uint64_t)(frame->t_ns - *first_ns) : 0;
    frames->due_ns[frames->n] = frames->n ? nc_max(due_ns, frames->due_ns[frames->n - 1]) : 0;
    frames->at[frames->n++] = (struct pl_replay_frame){frame->data, frame->captured, frame->wire};
    frames->largest = (uint32_t)nc_max(frames->largest, frame->wire);
    frames->padded += frame->captured < frame->wire;
    return 0;
}

static int read_all(struct pl_replay_frames *frames, struct pl_reader *reader, const char *file, uint32_t longest,
                    struct nc_error *error)
{
    struct pl_frame frame;
    enum pl_next next;
    int64_t first_ns = 0;
    while ((next = pl_reader_next(reader, &frame)) == PL_FRAME)
        if (take(frames, &frame, &first_ns, longest) < 0)
            return nc_fail(error, NC_EXIT_MISSING, "'%.200s': out of memory", file);
    if (next == PL_CORRUPT)
        return nc_fail(error, NC_EXIT_FAILED, "'%.200s': damaged at %s", file, reader->why);
    if (frames->n == 0)
        return nc_fail(error, NC_EXIT_USAGE,
                       "'%.200s': no frame to replay: none has an Ethernet header, a time and at most %u bytes", file,
                       longest);
    if (reader->truncated)
        nc_log("'%s': ends inside a packet; all before it is sent", file);
    return 0;
}

int pl_replay_frames_read(struct pl_replay_frames *frames, const char *file, const uint8_t *data, size_t len,
                          uint32_t longest, struct nc_error *error)
{
    struct pl_reader reader;
    *frames = (struct pl_replay_frames){.n = 0};
    int status = pl_reader_open(&reader, data, len);
    if (status < 0)
        nc_fail(error, NC_EXIT_USAGE, "'%.200s': not a capture file (pcapng or pcap): %s", file, reader.why);
    else
        status = read_all(frames, &reader, file, longest, error);
    pl_reader_close(&reader);
    return status;
}

void pl_replay_frames_free(struct pl_replay_frames *frames)
{
    free(frames->at);
    free(frames->due_ns);
    *frames = (struct pl_replay_frames){.n = 0};
}
