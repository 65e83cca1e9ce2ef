/* Implements hosts.h. */
#include "hosts.h"

#include <stdlib.h>
#include <string.h>

static bool has_syn(const struct pl_flow *flow)
{
    return flow->side[0].syn || flow->side[1].syn;
}

/* True when both captures have the first packets of a connection: then it shows whose machine it left first. A capture
 * that began within the handshake lacks a SYN that the other one has. */
static bool is_opened(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped)
{
    bool same = true;
    for (unsigned d = 0; d < 2; d++) {
        const struct pl_side *near = &sender->side[d], *far = &receiver->side[d ^ flipped];
        same = same && (!near->packets || !far->packets || near->syn == far->syn);
    }
    return same && has_syn(sender) && has_syn(receiver);
}

/* The entry for the two hosts of a flow. Side 0 of the flow is host `*first` of the entry. NULL: not in the list, or
 * both hosts have one address. */
static struct pl_hosts *hosts_of(const pl_hosts_list *list, const struct pl_flow *flow, unsigned *first)
{
    for (size_t i = 0; i < list->n; i++)
        for (*first = 0; *first < 2; ++*first)
            if (memcmp(list->at[i].address[*first], flow->side[0].address, 16) == 0 &&
                memcmp(list->at[i].address[!*first], flow->side[1].address, 16) == 0)
                return &list->at[i];
    return NULL;
}

/* The direction whose first packet the sender's capture shows first; -1 if both captures show it at the same time, as
 * on a link without delay in virtual time. */
static int first_out(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped)
{
    int64_t lead_ns[2] = {0, 0};
    for (unsigned d = 0; d < 2; d++)
        if (sender->side[d].packets && receiver->side[d ^ flipped].packets)
            lead_ns[d] = receiver->side[d ^ flipped].first_ns - sender->side[d].first_ns;
    return !lead_ns[0] && !lead_ns[1] ? -1 : lead_ns[1] > lead_ns[0];
}

static uint64_t bytes_of(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped, unsigned d)
{
    return sender->side[d].bytes + receiver->side[d ^ flipped].bytes;
}

/* Adds a connection to what is known of its hosts. Returns 0, or -1 without memory. */
static int note(pl_hosts_list *list, const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped)
{
    unsigned first;
    struct pl_hosts *hosts = hosts_of(list, sender, &first);
    if (!hosts) {
        if (list->n == PL_HOSTS_MOST || memcmp(sender->side[0].address, sender->side[1].address, 16) == 0)
            return 0;
        if (!(hosts = PL_MORE(list)))
            return -1;
        *hosts = (struct pl_hosts){.sender = -1};
        for (unsigned i = 0; i < 2; i++)
            memcpy(hosts->address[i], sender->side[i].address, 16);
        first = 0;
    }
    bool opened = is_opened(sender, receiver, flipped);
    int out = opened ? first_out(sender, receiver, flipped) : -1;
    if (out >= 0)
        hosts->opened[(unsigned)out ^ first]++;
    hosts->late = hosts->late || !opened;
    for (unsigned d = 0; d < 2; d++)
        hosts->bytes[d ^ first] += bytes_of(sender, receiver, flipped, d);
    return 0;
}

/* The samples and flows of both captures, for a comparison of those between two hosts. */
struct trips {
    struct pl_clock_samples samples[2];
    struct pl_clock_flow *flows[2];
};

/* Chooses the flows between two hosts, with the direction away from the first one. */
static void choose(struct trips *trips, const pl_hosts_list *list, const struct pl_hosts *hosts,
                   const struct pl_survey surveys[2], const struct pl_pair *pairs)
{
    const struct pl_flows *sender = &surveys[0].index.flows;
    for (int end = 0; end < 2; end++)
        for (uint32_t i = 0; i < surveys[end].index.flows.n; i++)
            trips->flows[end][i] = (struct pl_clock_flow){.number = UINT32_MAX};
    for (uint32_t i = 0; i < sender->n; i++) {
        unsigned first;
        if (pairs[i].other == UINT32_MAX || hosts_of(list, &sender->at[i], &first) != hosts)
            continue;
        trips->flows[0][i] = (struct pl_clock_flow){.number = i, .away = (uint8_t)first};
        trips->flows[1][pairs[i].other] =
            (struct pl_clock_flow){.number = i, .away = (uint8_t)(first ^ pairs[i].flipped)};
    }
}

/* Copies the samples, because their comparison changes them. Returns 0, or -1 without memory. */
static int copy(struct pl_clock_samples *to, const struct pl_clock_samples *from)
{
    size_t n = from->list.n;
    *to = *from;
    to->list.at = malloc((n + 1) * sizeof *to->list.at);
    to->list.room = n + 1;
    if (to->list.at && n)
        memcpy(to->list.at, from->list.at, n * sizeof *to->list.at);
    return to->list.at ? 0 : -1;
}

/* Finds the sender's machine of two hosts by round trips. Returns 0, or -1 without memory. */
static int ask_trips(struct trips *trips, struct pl_hosts *hosts, const struct pl_survey surveys[2])
{
    const struct pl_clock_flow *const flows[2] = {trips->flows[0], trips->flows[1]};
    pl_clock_points points = {.n = 0};
    int result = 0;
    for (int end = 0; end < 2; end++)
        if (copy(&trips->samples[end], &surveys[end].samples) < 0)
            result = -1;
    if (result == 0)
        result = pl_clock_samples_pair(trips->samples, flows, &points);
    int sign = result == 0 ? pl_clock_points_sign(&points) : 0;
    if (sign)
        hosts->sender = sign < 0;
    for (int end = 0; end < 2; end++)
        pl_clock_samples_free(&trips->samples[end]);
    free(points.at);
    return result;
}

static bool is_open_question(const struct pl_hosts *hosts)
{
    return hosts->late && hosts->opened[0] == hosts->opened[1];
}

static int ask_all(pl_hosts_list *list, const struct pl_survey surveys[2], const struct pl_pair *pairs)
{
    struct trips trips = {.flows = {NULL, NULL}};
    int result = 0;
    for (int end = 0; end < 2; end++)
        trips.flows[end] = malloc(((size_t)surveys[end].index.flows.n + 1) * sizeof *trips.flows[end]);
    if (!trips.flows[0] || !trips.flows[1])
        result = -1;
    for (size_t i = 0; result == 0 && i < list->n; i++)
        if (is_open_question(&list->at[i])) {
            choose(&trips, list, &list->at[i], surveys, pairs);
            result = ask_trips(&trips, &list->at[i], surveys);
        }
    free(trips.flows[0]);
    free(trips.flows[1]);
    return result;
}

int pl_hosts_find(pl_hosts_list *list, const struct pl_survey surveys[2], const struct pl_pair *pairs)
{
    const struct pl_flows *sender = &surveys[0].index.flows, *receiver = &surveys[1].index.flows;
    bool open = false;
    for (uint32_t i = 0; i < sender->n; i++)
        if (pairs[i].other != UINT32_MAX &&
            note(list, &sender->at[i], &receiver->at[pairs[i].other], pairs[i].flipped) < 0)
            return -1;
    for (size_t i = 0; i < list->n; i++)
        open = open || is_open_question(&list->at[i]);
    return open ? ask_all(list, surveys, pairs) : 0;
}

unsigned pl_hosts_outgoing(const pl_hosts_list *list, const struct pl_flow *sender, const struct pl_flow *receiver,
                           bool flipped, bool accepted)
{
    unsigned first = 0;
    bool opened = is_opened(sender, receiver, flipped);
    const struct pl_hosts *hosts = opened ? NULL : hosts_of(list, sender, &first);
    if (hosts && hosts->opened[0] != hosts->opened[1])
        return (hosts->opened[1] > hosts->opened[0]) ^ first;
    if (hosts && hosts->sender >= 0)
        return (unsigned)hosts->sender ^ first;
    if (hosts && hosts->bytes[0] != hosts->bytes[1])
        return (hosts->bytes[1] > hosts->bytes[0]) ^ first;
    uint64_t bytes[2] = {bytes_of(sender, receiver, flipped, 0), bytes_of(sender, receiver, flipped, 1)};
    if (bytes[0] != bytes[1] && !opened)
        return bytes[1] > bytes[0];
    int out = first_out(sender, receiver, flipped);
    return out < 0 ? accepted : (unsigned)out;
}
