#include "tcp_track.h"

#include "random.h"

static uint32_t tick(struct tcp_track *track)
{
    if (++track->uses == 0) /* 0 means empty */
        track->uses = 1;
    return track->uses;
}

/* The flow's entry, or the entry that it may replace, which is empty or has another ->flow. */
static struct tcp_track_flow *find_flow(struct tcp_track *track, uint64_t flow)
{
    struct tcp_track_flow *set = &track->flows[random_mix(flow) % (TCP_TRACK_FLOWS / TCP_TRACK_WAYS) * TCP_TRACK_WAYS];
    struct tcp_track_flow *oldest = set;
    for (struct tcp_track_flow *f = set; f < set + TCP_TRACK_WAYS; f++) {
        if (f->used && f->flow == flow)
            return f;
        if (f->used < oldest->used)
            oldest = f;
    }
    return oldest;
}

static struct tcp_track_segment *find_segment(struct tcp_track *track, uint64_t key)
{
    struct tcp_track_segment *set = &track->segments[key % (TCP_TRACK_SEGMENTS / TCP_TRACK_WAYS) * TCP_TRACK_WAYS];
    struct tcp_track_segment *oldest = set;
    for (struct tcp_track_segment *s = set; s < set + TCP_TRACK_WAYS; s++) {
        if (s->used && s->key == key)
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    *oldest = (struct tcp_track_segment){.key = key, .transmissions = 1};
    return oldest;
}

bool tcp_track_see(struct tcp_track *track, const struct loss_tcp *packet, struct tcp_seen *seen)
{
    if (packet->len == 0)
        return false;
    struct tcp_track_flow *flow = find_flow(track, packet->flow);
    bool known = flow->used && flow->flow == packet->flow;
    if (!known || (packet->syn && packet->seq != flow->base)) /* a SYN with another number: the ports are reused */
        *flow = (struct tcp_track_flow){
            .flow = packet->flow, .base = packet->syn ? packet->seq : packet->seq - 1, .next = packet->syn ? 0 : 1};
    flow->used = tick(track);
    int64_t from = (int64_t)flow->next + (int32_t)(packet->seq - (uint32_t)(flow->base + flow->next));
    if (from < 0)
        return false;
    *seen = (struct tcp_seen){(uint64_t)from, (uint64_t)from + packet->len, 1};
    if (seen->from < flow->next) {
        uint64_t key = random_mix(random_mix(packet->flow + flow->base * RANDOM_WEYL) + seen->from);
        struct tcp_track_segment *segment = find_segment(track, key);
        segment->used = flow->used;
        seen->transmission = ++segment->transmissions;
    }
    if (seen->to > flow->next)
        flow->next = seen->to;
    return true;
}
