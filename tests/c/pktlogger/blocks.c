/* Joining plain parts at once must give the same result as cutting all parts at all borders. Both are done with the
 * same random packets, which are lost, sent again in other pieces, duplicated, overtaken and merged on the way. */
#include "join.h"

#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "folder.h"

enum { SEEDS = 25, MOST = 2500, MSS = 100 };

struct event {
    int64_t t_ns;
    uint32_t order;
    bool at_receiver;
    struct pl_row row;
};

struct world {
    uint64_t state;
    struct event *events;
    uint32_t n;
    bool ids, stamps;
    unsigned loss, copies, overtaken, merged, again; /* of a thousand */
    uint16_t id;
};

static uint32_t draw(struct world *w, uint32_t below)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->state >> 33) % below);
}

static bool chance(struct world *w, unsigned thousandths)
{
    return draw(w, 1000) < thousandths;
}

static void put(struct world *w, bool at_receiver, int64_t t_ns, struct pl_row row)
{
    if (w->n == MOST || t_ns < 0)
        return;
    row.t_ns = t_ns;
    row.frame = w->n + 1;
    w->events[w->n] = (struct event){t_ns, w->n, at_receiver, row};
    w->n++;
}

/* When a packet sent at t_ns arrives; -1: never. */
static int64_t arrival(struct world *w, int64_t t_ns)
{
    return chance(w, w->loss) ? -1 : t_ns + 5000000 + draw(w, chance(w, w->overtaken) ? 9000000 : 1000);
}

static void send(struct world *w, int64_t t_ns, uint64_t seq, uint32_t len)
{
    struct pl_row row = {.seq = seq, .len = len, .ack = 1, .flags = NC_TCP_ACK};
    row.tsval = w->stamps ? (uint32_t)(t_ns / 1000000) : 0;
    row.ip_id = w->ids ? w->id : 0;
    w->id += (uint16_t)(len / MSS + 1);
    put(w, false, t_ns, row);
    if (chance(w, w->merged)) { /* retransmitted as two packets, with another border */
        uint32_t first = 1 + draw(w, len);
        row.len = first;
        put(w, true, arrival(w, t_ns), row);
        row.seq += first;
        row.len = len - first;
        if (row.len)
            put(w, true, arrival(w, t_ns), row);
        return;
    }
    for (uint32_t at = 0; at < len; at += MSS) {
        row.seq = seq + at;
        row.len = len - at < MSS ? len - at : MSS;
        for (unsigned copy = 0; copy < 1U + chance(w, w->copies); copy++)
            put(w, true, arrival(w, t_ns), row);
        row.ip_id += w->ids;
    }
}

static void answer(struct world *w, int64_t t_ns, uint64_t ack)
{
    struct pl_row row = {.seq = 1, .ack = ack, .dir = 1, .flags = NC_TCP_ACK, .window = 60000};
    row.tsval = w->stamps ? (uint32_t)(t_ns / 1000000) : 0;
    row.len = chance(w, 50) ? 1 + draw(w, 3 * MSS) : 0;
    put(w, true, t_ns, row);
    row.ip_id += w->ids;
    for (unsigned copy = 0; copy < 1U + chance(w, w->copies); copy++)
        put(w, false, arrival(w, t_ns), row);
}

static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void make(struct world *w, uint64_t seed)
{
    static const unsigned rates[] = {0, 0, 5, 50, 300};
    struct event *events = w->events;
    *w = (struct world){.state = seed * 77 + 5, .events = events};
    unsigned *const all[] = {&w->loss, &w->copies, &w->overtaken, &w->merged, &w->again};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = rates[draw(w, 5)];
    w->ids = draw(w, 2);
    w->stamps = draw(w, 2);
    uint64_t next = 1;
    int64_t t_ns = 0, gap_ns = draw(w, 2) ? 100000 : 10000000;
    while (w->n < MOST) {
        t_ns += draw(w, (uint32_t)gap_ns);
        if (next > 1 && chance(w, w->again)) {
            uint64_t back = 1 + draw(w, 2000);
            back = back < next ? back : next - 1;
            send(w, t_ns, next - back, 1 + draw(w, (uint32_t)back + 200));
        } else {
            uint32_t len = draw(w, 10) ? MSS * (1 + draw(w, 3)) : 1 + draw(w, 2 * MSS);
            send(w, t_ns, next, len);
            next += len;
        }
        if (draw(w, 2) && next > 2000)
            answer(w, t_ns + 6000000, next - draw(w, chance(w, 300) ? 2000 : 2));
    }
    qsort(w->events, w->n, sizeof *w->events, by_time);
}

struct joined {
    struct pl_transfer t;
    struct pl_tables tables;
    struct pl_folder folder;
};

static void join_all(struct joined *joined, const struct world *w, const struct pl_flow *flow, bool by_borders)
{
    size_t open = 0;
    struct nc_error error;
    CHECK_EQ(pl_folder_begin_unkept(&joined->folder, &error), 0);
    CHECK_EQ(pl_tables_create(&joined->tables, joined->folder.fd, false, false), 0);
    joined->t = (struct pl_transfer){.flow = flow,
                                     .mss = MSS,
                                     .mss_option = MSS,
                                     .data_ids = w->ids,
                                     .ack_ids = w->ids,
                                     .first_run = {PL_NO_RUN, PL_NO_RUN},
                                     .last_run = {PL_NO_RUN, PL_NO_RUN}};
    struct pl_join *join = pl_join_new(&joined->t, &open);
    CHECK(join);
    join->by_borders = by_borders;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct event *event = &w->events[i];
        CHECK_EQ(event->at_receiver ? pl_join_receiver(join, &event->row)
                                    : pl_join_sender(join, &event->row, &joined->tables),
                 0);
    }
    CHECK_EQ(pl_join_finish(join, &joined->tables), 0);
    CHECK_EQ(pl_tally_end(&join->tally), 0);
    CHECK_EQ(open, 0);
    pl_join_free(join);
    CHECK_EQ(pl_tables_map(&joined->tables, &error), 0);
}

static void check_equal(const struct joined *a, const struct joined *b)
{
    struct pl_cursor cursors[2] = {{.begun = false}, {.begun = false}};
    struct pl_segment segments[2];
    struct pl_ack acks[2];
    uint64_t at;
    for (;; cursors[0].row++, cursors[1].row++) {
        bool more = pl_tables_segment(&a->tables, &a->t, &cursors[0], &segments[0], &at);
        CHECK_EQ(pl_tables_segment(&b->tables, &b->t, &cursors[1], &segments[1], &at), more);
        if (!more)
            break;
        CHECK_EQ(segments[0].seq, segments[1].seq);
        CHECK_EQ(segments[0].len, segments[1].len);
        CHECK_EQ(segments[0].t_sent_ns, segments[1].t_sent_ns);
        CHECK_EQ(segments[0].t_received_ns, segments[1].t_received_ns);
        CHECK_EQ(segments[0].delay_ns, segments[1].delay_ns);
        CHECK_EQ(segments[0].sender_frame, segments[1].sender_frame);
        CHECK_EQ(segments[0].receiver_frame, segments[1].receiver_frame);
        CHECK_EQ(segments[0].transmission, segments[1].transmission);
        CHECK_EQ(segments[0].kind, segments[1].kind);
        CHECK_EQ(segments[0].unseen, segments[1].unseen);
        CHECK_EQ(segments[0].ecn_received, segments[1].ecn_received);
    }
    cursors[0] = cursors[1] = (struct pl_cursor){.begun = false};
    for (;; cursors[0].row++, cursors[1].row++) {
        bool more = pl_tables_ack(&a->tables, &a->t, &cursors[0], &acks[0]);
        CHECK_EQ(pl_tables_ack(&b->tables, &b->t, &cursors[1], &acks[1]), more);
        if (!more)
            break;
        CHECK_EQ(acks[0].ack, acks[1].ack);
        CHECK_EQ(acks[0].t_sent_ns, acks[1].t_sent_ns);
        CHECK_EQ(acks[0].t_received_ns, acks[1].t_received_ns);
    }
    CHECK_EQ(a->t.acked_unseen_bytes, b->t.acked_unseen_bytes);
    CHECK_EQ(a->t.unresolved, b->t.unresolved);
    CHECK_EQ(a->t.not_arrived, b->t.not_arrived);
    CHECK_EQ(a->t.certain_delay_ns, b->t.certain_delay_ns);
    CHECK_EQ(a->t.reordered, b->t.reordered);
}

static void forget(struct joined *joined)
{
    pl_tables_free(&joined->tables);
    pl_folder_abort(&joined->folder);
}

static void what_is_joined_at_once_is_what_borders_say(void)
{
    struct world w = {.events = malloc(MOST * sizeof *w.events)};
    static struct joined at_once, by_borders;
    CHECK(w.events);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct pl_flow flow = {.ip_version = 4};
        make(&w, seed);
        flow.side[0].syn = flow.side[1].syn = draw(&w, 4) > 0;
        flow.side[0].has_timestamps = flow.side[1].has_timestamps = w.stamps;
        flow.side[0].sack_permitted = flow.side[1].sack_permitted = draw(&w, 2);
        printf("   seed %llu\n", (unsigned long long)seed);
        join_all(&at_once, &w, &flow, false);
        join_all(&by_borders, &w, &flow, true);
        check_equal(&at_once, &by_borders);
        forget(&at_once);
        forget(&by_borders);
    }
    free(w.events);
}

int main(void)
{
    RUN(what_is_joined_at_once_is_what_borders_say);
    return 0;
}
