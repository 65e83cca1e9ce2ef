/* Implements apart.h. */
#include "apart.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pairs.h"

#define HOUR_NS (INT64_C(3600) * 1000000000)
enum { LEAST_SNAP = 96, COMPARED_MAX = 10000 }; /* COMPARED_MAX bounds the work with many flows */

struct place {
    char *at;
    size_t size;
};

bool pl_apart_say_empty(const struct pl_index *index, const char *name, char *at, size_t size)
{
    struct place text = {at, size};
    const struct pl_counts *counts = &index->counts;
    if (index->flows.n)
        return false;
    if (counts->other_interface)
        snprintf(text.at, text.size, "'%s' has no TCP packet of interface '%s', and %" PRIu64 " of others", name,
                 index->source.interface, counts->other_interface);
    else if (counts->unknown_link)
        snprintf(text.at, text.size,
                 "'%s' has %" PRIu64 " packets of link type %u, which is not read, and no TCP packet", name,
                 counts->unknown_link, index->reader.unknown_linktype);
    else if (counts->truncated)
        snprintf(text.at, text.size,
                 "'%s' has no TCP packet with whole headers; %" PRIu64
                 " packets were cut before the end of theirs. Capture at least %d octets of each (tcpdump -s %d)",
                 name, counts->truncated, LEAST_SNAP, LEAST_SNAP);
    else if (counts->fragment)
        snprintf(text.at, text.size, "'%s' has %" PRIu64 " IP fragments and no whole TCP packet", name,
                 counts->fragment);
    else if (counts->frames && !index->tunnels)
        snprintf(text.at, text.size,
                 "'%s' has %" PRIu64 " packets and none of TCP; if TCP is in a tunnel, --tunnels finds it", name,
                 counts->frames);
    else
        snprintf(text.at, text.size, "'%s' has %" PRIu64 " packets and none of TCP", name, counts->frames);
    return true;
}

static void end_point(const struct pl_flow *flow, unsigned side, char *text, size_t size)
{
    char address[INET6_ADDRSTRLEN];
    inet_ntop(flow->ip_version == 4 ? AF_INET : AF_INET6, flow->side[side].address, address, sizeof address);
    snprintf(text, size, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address, flow->side[side].port);
}

/* The flow with the most packets. */
static const struct pl_flow *main_flow(const struct pl_flows *flows)
{
    const struct pl_flow *main = &flows->at[0];
    for (uint32_t i = 1; i < flows->n; i++)
        if (flows->at[i].side[0].packets + flows->at[i].side[1].packets > main->side[0].packets + main->side[1].packets)
            main = &flows->at[i];
    return main;
}

/* Explains why connections with the same addresses and ports in both captures do not match. False if there are none. */
static bool say_same_ports(const struct pl_analysis *analysis, struct place text)
{
    const struct pl_flows *sender = &analysis->surveys[PL_SENDER].index.flows;
    const struct pl_flows *receiver = &analysis->surveys[PL_RECEIVER].index.flows;
    for (uint32_t i = 0; i < sender->n && i < COMPARED_MAX; i++) {
        bool flipped = false;
        char one[80], other[80];
        uint32_t far = pl_flows_lookup(receiver, &sender->at[i], &flipped);
        if (far == UINT32_MAX)
            continue;
        end_point(&sender->at[i], 0, one, sizeof one);
        end_point(&sender->at[i], 1, other, sizeof other);
        if (pl_pairs_rewritten(&sender->at[i], &receiver->at[far], flipped))
            snprintf(text.at, text.size,
                     "%s and %s is in both, but with other sequence numbers: a firewall or proxy between writes its "
                     "own, so packets cannot be paired. Analyse each capture alone, or capture inside of it",
                     one, other);
        else
            snprintf(text.at, text.size,
                     "%s and %s is in both, but its SYNs differ: these are two connections of the same ports", one,
                     other);
        return true;
    }
    return false;
}

static bool has_address(const struct pl_flows *flows, const struct pl_flow *like, unsigned side)
{
    for (uint32_t i = 0; i < flows->n && i < COMPARED_MAX; i++)
        for (unsigned other = 0; other < 2; other++)
            if (memcmp(flows->at[i].side[other].address, like->side[side].address, 16) == 0)
                return true;
    return false;
}

static void say_time(int64_t t_ns, char *text, size_t size)
{
    struct tm parts;
    time_t seconds = (time_t)(t_ns / 1000000000);
    gmtime_r(&seconds, &parts);
    strftime(text, size, "%Y-%m-%d %H:%M:%S", &parts);
}

/* True when one capture ended at least an hour before the other began. */
static bool say_times(const struct pl_analysis *analysis, struct place text)
{
    const struct pl_counts *counts[PL_END_N] = {&analysis->surveys[PL_SENDER].index.counts,
                                                &analysis->surveys[PL_RECEIVER].index.counts};
    char from[2][32], to[2][32];
    if (counts[0]->first_ns - counts[1]->last_ns < HOUR_NS && counts[1]->first_ns - counts[0]->last_ns < HOUR_NS)
        return false;
    for (int end = 0; end < PL_END_N; end++) {
        say_time(counts[end]->first_ns, from[end], sizeof from[end]);
        say_time(counts[end]->last_ns, to[end], sizeof to[end]);
    }
    snprintf(
        text.at, text.size,
        "the same hosts, but at other times: the sender's capture is of %s to %s, the receiver's of %s to %s (UTC)",
        from[0], to[0], from[1], to[1]);
    return true;
}

void pl_apart_say(const struct pl_analysis *analysis, const char *const names[PL_END_N], char *text, size_t size)
{
    struct place place = {text, size};
    char sender[80], receiver[80];
    for (int end = 0; end < PL_END_N; end++)
        if (pl_apart_say_empty(&analysis->surveys[end].index, names[end], text, size))
            return;
    if (analysis->one_way) {
        snprintf(text, size,
                 "the receiver's capture has only the acknowledgements of %" PRIu32
                 " connections, and no packet of the direction of their data. Capture both directions",
                 analysis->one_way);
        return;
    }
    if (say_same_ports(analysis, place))
        return;
    const struct pl_flow *a = main_flow(&analysis->surveys[PL_SENDER].index.flows);
    const struct pl_flow *b = main_flow(&analysis->surveys[PL_RECEIVER].index.flows);
    bool one = has_address(&analysis->surveys[PL_RECEIVER].index.flows, a, 0);
    bool other = has_address(&analysis->surveys[PL_RECEIVER].index.flows, a, 1);
    if (one && other && say_times(analysis, place))
        return;
    end_point(a, 0, sender, sizeof sender);
    end_point(a, 1, receiver, sizeof receiver);
    int n = snprintf(text, size, "the sender's has %s and %s, ", sender, receiver);
    end_point(b, 0, sender, sizeof sender);
    end_point(b, 1, receiver, sizeof receiver);
    bool handshakes = a->side[0].syn && a->side[1].syn && b->side[0].syn && b->side[1].syn;
    snprintf(text + n, size - (size_t)n, "the receiver's %s and %s, and %s", sender, receiver,
             one && other ? "no ports are the same"
             : handshakes
                 ? "no initial sequence numbers are the same, by which NAT would show"
                 : "too few packets are the same, by which NAT would show: not both captures have the handshake");
}
