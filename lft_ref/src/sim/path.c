/* One direction of the path: packets in a heap by their time of arrival.
 * Rejected: the delay box's path. It takes packets with link, IP and TCP headers, which frames between two engines do
 * not have, and it uses other random numbers: every seeded figure of docs/explanation/lft-recovery.md would change, to
 * save at most this file. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "sim.h"

enum { DATA_BYTES = LFT_PAYLOAD_MAX + 128 };

uint64_t sim_random(uint64_t *state) /* SplitMix64 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool chance(uint64_t *random, uint64_t ppb)
{
    return ppb && sim_random(random) % NC_RATIO_ONE < ppb;
}

void sim_path_init(struct sim_path *path, const struct sim_trial *trial, bool back)
{
    const struct sim_settings *s = trial->settings;
    *path = (struct sim_path){.rate_bps = s->rate_bps,
                              .delay_ns = trial->rtt_ns / 2,
                              .jitter_ns = s->jitter_ns,
                              .queue_bytes = s->queue_bytes,
                              .duplicate_ppb = s->duplicate_ppb,
                              .burst = s->burst,
                              .loss_ppb = back && !s->ack_loss_too ? 0 : trial->loss_ppb,
                              .random = trial->seed * 2 + back};
}

void sim_path_free(struct sim_path *path)
{
    for (size_t i = 0; i < path->heap_n; i++)
        free(path->heap[i].data);
    for (size_t i = 0; i < path->spare_n; i++)
        free(path->spare[i]);
    free(path->heap);
    free(path->spare);
}

void sim_path_set_delay(struct sim_path *path, uint64_t delay_ns)
{
    path->delay_ns = delay_ns;
}

/* Gilbert's model. In the bad state every packet is lost; it lasts `burst` packets on average. The mean loss is the
 * configured one. */
static bool lose(struct sim_path *path)
{
    if (path->burst <= 1)
        return chance(&path->random, path->loss_ppb);
    uint64_t leave = NC_RATIO_ONE / path->burst;
    uint64_t enter = path->loss_ppb >= NC_RATIO_ONE
                         ? NC_RATIO_ONE
                         : (uint64_t)((double)leave * (double)path->loss_ppb / (double)(NC_RATIO_ONE - path->loss_ppb));
    path->bad = path->bad ? !chance(&path->random, leave) : chance(&path->random, enter);
    return path->bad;
}

static bool before(const struct sim_packet *a, const struct sim_packet *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void heap_push(struct sim_path *path, struct sim_packet packet)
{
    if (path->heap_n == path->heap_size) {
        path->heap_size = path->heap_size ? 2 * path->heap_size : 1024;
        path->heap = realloc(path->heap, path->heap_size * sizeof *path->heap);
        assert(path->heap);
    }
    size_t i = path->heap_n++;
    for (size_t up; i && before(&packet, &path->heap[up = (i - 1) / 2]); i = up)
        path->heap[i] = path->heap[up];
    path->heap[i] = packet;
}

static void heap_pop(struct sim_path *path)
{
    struct sim_packet last = path->heap[--path->heap_n];
    size_t i = 0, down;
    while ((down = 2 * i + 1) < path->heap_n) {
        if (down + 1 < path->heap_n && before(&path->heap[down + 1], &path->heap[down]))
            down++;
        if (!before(&path->heap[down], &last))
            break;
        path->heap[i] = path->heap[down];
        i = down;
    }
    path->heap[i] = last;
}

static uint8_t *data_take(struct sim_path *path)
{
    uint8_t *data = path->spare_n ? path->spare[--path->spare_n] : malloc(DATA_BYTES);
    assert(data);
    return data;
}

void sim_path_done(struct sim_path *path, struct sim_packet *packet)
{
    if (path->spare_n == path->spare_size) {
        path->spare_size = path->spare_size ? 2 * path->spare_size : 1024;
        path->spare = realloc(path->spare, path->spare_size * sizeof *path->spare);
        assert(path->spare);
    }
    path->spare[path->spare_n++] = packet->data;
}

static void deliver(struct sim_path *path, uint64_t at_ns, const struct lft_frame *frame, const uint8_t *data,
                    uint32_t bytes)
{
    uint64_t jitter = path->jitter_ns ? sim_random(&path->random) % path->jitter_ns : 0;
    struct sim_packet packet = {.at_ns = at_ns + path->delay_ns + jitter,
                                .order = path->order++,
                                .frame = *frame,
                                .bytes = bytes,
                                .data = data_take(path)};
    memcpy(packet.data, data, bytes);
    heap_push(path, packet);
}

void sim_path_send(struct sim_path *path, uint64_t now_ns, const struct lft_frame *frame, const uint8_t *data,
                   uint32_t bytes, uint32_t wire_bytes)
{
    path->offered++;
    uint64_t start = path->line_free_ns > now_ns ? path->line_free_ns : now_ns;
    if (path->rate_bps) {
        uint64_t waiting = (uint64_t)((double)(start - now_ns) * (double)path->rate_bps / 8e9);
        if (path->queue_bytes && waiting + wire_bytes > path->queue_bytes) {
            path->dropped++;
            return;
        }
        path->queue_peak_bytes = waiting > path->queue_peak_bytes ? waiting : path->queue_peak_bytes;
        start += (uint64_t)((double)wire_bytes * 8e9 / (double)path->rate_bps);
        path->line_free_ns = start;
    }
    if (lose(path)) {
        path->lost++;
        return;
    }
    deliver(path, start, frame, data, bytes);
    if (chance(&path->random, path->duplicate_ppb))
        deliver(path, start, frame, data, bytes);
}

uint64_t sim_path_next_ns(const struct sim_path *path)
{
    return path->heap_n ? path->heap[0].at_ns : UINT64_MAX;
}

bool sim_path_arrived(struct sim_path *path, uint64_t now_ns, struct sim_packet *packet)
{
    if (!path->heap_n || path->heap[0].at_ns > now_ns)
        return false;
    *packet = path->heap[0];
    heap_pop(path);
    return true;
}
