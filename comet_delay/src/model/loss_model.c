#include "loss_model.h"

#include <assert.h>

#include "random.h"

enum { GAP = 1, BURST_RECEIVED, BURST_LOST, ALONE_LOST };

struct loss_model loss_model_share(const struct loss_model *model)
{
    struct loss_model copy = *model;
    copy.ranges = table_share(model->ranges);
    return copy;
}

void loss_model_free(struct loss_model *model)
{
    table_release(model->ranges);
    *model = (struct loss_model){0};
}

bool loss_model_wants_tcp(const struct loss_model *model)
{
    return model->kind == LOSS_SEQ || model->kind == LOSS_RETRANSMISSION;
}

bool loss_model_is_outage(const struct loss_model *model)
{
    return model->kind == LOSS_TIME || (model->kind == LOSS_INDEPENDENT && model->loss_ppb >= 1000000000);
}

void loss_state_restart(struct loss_state *state, uint64_t now_ns)
{
    state->count = (struct loss_count){0};
    state->start_ns = now_ns;
    state->chain_begun = false;
}

void loss_state_init(struct loss_state *state, uint64_t now_ns)
{
    *state = (struct loss_state){.start_ns = now_ns};
}

static int chain_start(const struct loss_chain *chain, uint64_t draw)
{
    for (int i = 0; i < 3; i++)
        if (draw < chain->start[i])
            return GAP + i;
    return ALONE_LOST;
}

static int chain_step(const struct loss_chain *chain, int state, uint64_t draw)
{
    switch (state) {
    case GAP:
        return draw < chain->p14 ? ALONE_LOST : draw - chain->p14 < chain->p13 ? BURST_LOST : GAP;
    case BURST_RECEIVED:
        return draw < chain->p23 ? BURST_LOST : BURST_RECEIVED;
    case BURST_LOST:
        return draw < chain->p32 ? BURST_RECEIVED : draw - chain->p32 < chain->p31 ? GAP : BURST_LOST;
    default:
        return GAP;
    }
}

static bool chain_hit(struct loss_state *state, const struct loss_chain *chain, uint64_t key, uint64_t number)
{
    if (!state->chain_begun || number < state->chain_number || number - state->chain_number > LOSS_CATCH_UP) {
        state->chain_begun = true;
        state->chain_number = number > LOSS_CATCH_UP ? number - LOSS_CATCH_UP : 0;
        state->chain_state = chain_start(chain, random_u64(random_mix(~key), state->chain_number));
    }
    while (state->chain_number < number)
        state->chain_state = chain_step(chain, state->chain_state, random_u64(key, ++state->chain_number));
    return state->chain_state >= BURST_LOST;
}

static bool tcp_hit(struct loss_state *state, const struct loss_model *model, const struct loss_tcp *tcp)
{
    struct tcp_seen seen;
    if (!tcp || !tcp_track_see(&state->tcp, tcp, &seen))
        return false;
    if (model->kind == LOSS_SEQ)
        return seen.transmission <= model->transmissions && table_pairs_overlap(model->ranges, seen.from, seen.to);
    return table_pairs_overlap(model->ranges, seen.transmission - 1, seen.transmission);
}

static bool model_hit(struct loss_state *state, const struct loss_model *model, uint64_t key,
                      const struct loss_packet *packet)
{
    uint64_t since_ns = packet->time_ns - state->start_ns;
    switch (model->kind) {
    case LOSS_INDEPENDENT:
        return random_hit(key, packet->number, model->loss_ppb);
    case LOSS_GILBERT:
    case LOSS_4STATE:
        return chain_hit(state, &model->chain, key, packet->number);
    case LOSS_PACKETS:
        return table_pairs_overlap(model->ranges, packet->number, packet->number + 1);
    case LOSS_TIME:
        return packet->time_ns >= state->start_ns && table_pairs_overlap(model->ranges, since_ns, since_ns + 1);
    case LOSS_SEQ:
    case LOSS_RETRANSMISSION:
        return tcp_hit(state, model, packet->tcp);
    case LOSS_KINDS:
        break;
    }
    assert(!"no such loss model");
    return false;
}

bool loss_model_hit(struct loss_state *state, const struct loss_model *model, uint64_t key,
                    const struct loss_packet *packet)
{
    struct loss_count *count = &state->count;
    bool lost = model_hit(state, model, key, packet);
    count->packets++;
    count->lost += lost;
    count->bursts += lost && !count->in_burst;
    count->in_burst = lost;
    return lost;
}

void loss_model_watch(struct loss_state *state, const struct loss_model *model, const struct loss_packet *packet)
{
    struct tcp_seen seen;
    if (loss_model_wants_tcp(model) && packet->tcp)
        tcp_track_see(&state->tcp, packet->tcp, &seen);
}
