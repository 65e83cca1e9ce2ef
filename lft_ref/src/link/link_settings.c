/* The queries and settings of a link that the gateway uses. */
#include "link_internal.h"

#include "nc_clock.h"

/* Contention counts as current for this long after the last message that showed it. A refused gateway asks every 2 s
 * (FORMAT.md), and some of its messages may be lost. */
#define CONTENTION_NS (10 * NC_NS_PER_S)

void lft_link_apply_payload_max(struct lft_link *link)
{
    if (link->engine)
        lft_engine_set_payload_max(link->engine, lft_link_payload_max(link));
}

uint32_t lft_link_payload_max(const struct lft_link *link)
{
    uint32_t most = link->path_payload_max, peer = link->peer_payload_max;
    return peer && peer < most ? peer : most;
}

void lft_link_set_payload_max(struct lft_link *link, uint32_t payload_max)
{
    if (payload_max < LFT_PAYLOAD_MIN || payload_max > link->config.engine.payload_max)
        return;
    link->path_payload_max = payload_max;
    lft_link_apply_payload_max(link);
}

unsigned lft_link_events(struct lft_link *link)
{
    unsigned events = link->events;
    link->events = 0;
    return events;
}

struct lft_session *lft_link_session(struct lft_link *link)
{
    return link->session;
}

struct lft_engine *lft_link_engine(struct lft_link *link)
{
    return link->engine;
}

enum lft_link_status lft_link_status(const struct lft_link *link)
{
    return link->status;
}

enum lft_link_contention lft_link_contention(const struct lft_link *link, uint64_t now_ns, struct lft_address *address)
{
    if (link->contention == LFT_LINK_ALONE || now_ns - link->contention_ns >= CONTENTION_NS)
        return LFT_LINK_ALONE;
    *address = link->contender;
    return link->contention;
}

bool lft_link_ready(const struct lft_link *link)
{
    return link->status == LFT_LINK_UP;
}

void lft_link_set_rate(struct lft_link *link, enum lft_rate_mode mode, uint64_t rate_bps, uint64_t now_ns)
{
    link->config.engine.rate_mode = mode;
    link->config.engine.rate_bps = rate_bps;
    if (link->engine)
        lft_engine_set_rate(link->engine, mode, rate_bps, now_ns);
}

void lft_link_set_redundancy(struct lft_link *link, bool on)
{
    link->config.engine.redundancy = on;
    if (link->engine)
        lft_engine_set_redundancy(link->engine, on);
}

void lft_link_close(struct lft_link *link)
{
    if (link->engine)
        lft_engine_close(link->engine, LFT_RESULT_STOPPED);
}

const struct lft_link_counters *lft_link_counters(const struct lft_link *link)
{
    return &link->counters;
}

const struct lft_handshake_counters *lft_link_handshake_counters(const struct lft_link *link)
{
    return lft_handshake_counters(link->handshake);
}

struct lft_address lft_link_peer(const struct lft_link *link)
{
    return link->peer;
}
