/* Which packets form a stream: directions, reused ports, late retransmissions, and bounded memory. */
#include "connections.h"

#include "check.h"

enum { HEARD_MAX = 4096 };

/* The output of all streams as text, each item after the number of its connection: "0>hello" is data, "1#3" a gap of 3
 * bytes, "0." the end, "0!" an end before the FIN. */
struct heard {
    char text[HEARD_MAX];
    size_t len;
};

static void say(struct heard *heard, const char *text)
{
    heard->len += (size_t)snprintf(heard->text + heard->len, HEARD_MAX - heard->len, "%s ", text);
    CHECK(heard->len < HEARD_MAX);
}

static void on_data(void *context, struct pl_connection *connection, unsigned dir, uint64_t offset, const uint8_t *data,
                    size_t len)
{
    char text[256];
    (void)offset;
    snprintf(text, sizeof text, "%d:%u>%.*s", (int)connection->number, dir, (int)len, (const char *)data);
    say(context, text);
}

static void on_gap(void *context, struct pl_connection *connection, unsigned dir, uint64_t from, uint64_t to)
{
    char text[64];
    snprintf(text, sizeof text, "%d:%u#%d", (int)connection->number, dir, (int)(to - from));
    say(context, text);
}

static void on_end(void *context, struct pl_connection *connection, unsigned dir, bool whole)
{
    char text[64];
    snprintf(text, sizeof text, "%d:%u%c", (int)connection->number, dir, whole ? '.' : '!');
    say(context, text);
}

struct rig {
    struct pl_connections table;
    struct heard heard;
};

static void start(struct rig *rig, uint32_t connections, uint64_t total)
{
    struct pl_connections_limits limits = {total, total, connections};
    struct pl_connection_reader reader = {on_data, on_gap, on_end, &rig->heard};
    rig->heard.len = 0;
    rig->heard.text[0] = '\0';
    CHECK_EQ(pl_connections_init(&rig->table, &limits, &reader, 1), 0);
}

/* A packet between 10.0.0.1 and 10.0.0.2. */
static void send(struct rig *rig, uint16_t from, uint16_t to, uint32_t seq, uint32_t ack, uint16_t flags,
                 const char *text)
{
    struct nc_packet packet = {.ip_version = 4,
                               .l4 = NC_L4_TCP,
                               .src = {10, 0, 0, from > to ? 2 : 1},
                               .dst = {10, 0, 0, from > to ? 1 : 2},
                               .src_port = from,
                               .dst_port = to,
                               .tcp = {.seq = seq, .ack = ack, .flags = flags},
                               .payload_len = (uint32_t)strlen(text)};
    CHECK_EQ(pl_connections_packet(&rig->table, &packet, (const uint8_t *)text, packet.payload_len), 0);
}

static void expect(struct rig *rig, const char *text)
{
    pl_connections_free(&rig->table);
    CHECK_STR(rig->heard.text, text);
}

enum { SYN = NC_TCP_SYN, ACK = NC_TCP_ACK, FIN = NC_TCP_FIN, RST = NC_TCP_RST };

static void the_sender_of_the_syn_is_direction_0(void)
{
    struct rig rig;
    start(&rig, 16, 1 << 20);
    send(&rig, 9, 5, 100, 0, SYN, "");
    send(&rig, 5, 9, 300, 101, SYN | ACK, "");
    send(&rig, 9, 5, 101, 301, ACK, "ask");
    send(&rig, 5, 9, 301, 104, ACK | FIN, "answer");
    send(&rig, 9, 5, 104, 308, ACK | FIN, "");
    expect(&rig, "0:0>ask 0:1>answer 0:0. 0:1. ");
    start(&rig, 16, 1 << 20); /* the SYN was not captured */
    send(&rig, 5, 9, 300, 101, SYN | ACK, "");
    send(&rig, 9, 5, 101, 301, ACK, "ask");
    expect(&rig, "0:0>ask 0:0! ");
}

static void what_comes_after_the_end_is_no_new_connection(void)
{
    struct rig rig;
    start(&rig, 16, 1 << 20);
    send(&rig, 5, 9, 100, 0, SYN, "");
    send(&rig, 9, 5, 300, 101, SYN | ACK, "");
    send(&rig, 5, 9, 101, 301, ACK | FIN, "bye");
    send(&rig, 9, 5, 301, 105, ACK | FIN, "");
    send(&rig, 5, 9, 101, 301, ACK | FIN, "bye"); /* its ACK was lost */
    CHECK_EQ(rig.table.made, 1);
    CHECK_EQ(rig.table.pool.duplicate_bytes, 3);
    send(&rig, 5, 9, 7000, 0, SYN, ""); /* the port is used again */
    send(&rig, 5, 9, 7001, 0, ACK, "new");
    expect(&rig, "0:0>bye 0:0. 1:0>new 1:0! ");
}

static void a_repeated_syn_is_the_same_connection(void)
{
    struct rig rig;
    start(&rig, 16, 1 << 20);
    send(&rig, 5, 9, 100, 0, SYN, "");
    send(&rig, 5, 9, 100, 0, SYN, "fast"); /* with data: TCP Fast Open */
    send(&rig, 5, 9, 101, 0, ACK, "fastopen");
    expect(&rig, "0:0>fast 0:0>open 0:0! ");
}

static void a_reset_ends_nothing(void)
{
    struct rig rig;
    start(&rig, 16, 1 << 20);
    send(&rig, 5, 9, 101, 0, ACK, "before");
    send(&rig, 9, 5, 1, 0, RST | ACK, "forged");
    send(&rig, 5, 9, 107, 0, ACK, "after");
    expect(&rig, "0:0>before 0:0>after 0:0! ");
}

static void the_oldest_makes_room(void)
{
    struct rig rig;
    start(&rig, 16, 1 << 20);
    for (uint16_t port = 1; port <= 16; port++)
        send(&rig, port, 900, 100, 0, ACK, "a");
    send(&rig, 1, 900, 101, 0, ACK, "b"); /* makes the second connection the least recently used */
    rig.heard.len = 0;
    send(&rig, 17, 900, 100, 0, ACK, "c");
    CHECK_STR(rig.heard.text, "1:0! 16:0>c ");
    CHECK_EQ(rig.table.n, 16);
    CHECK_EQ(rig.table.evicted, 1);
    uint64_t taken = (1 << 20) - 10;
    CHECK(pl_connections_charge(&rig.table, rig.table.newest, taken));
    CHECK(!pl_connections_charge(&rig.table, rig.table.newest, 11)); /* even with all others gone */
    CHECK_EQ(rig.table.n, 1);
    pl_connections_discharge(&rig.table, taken);
    pl_connections_free(&rig.table);
}

int main(void)
{
    RUN(the_sender_of_the_syn_is_direction_0);
    RUN(what_comes_after_the_end_is_no_new_connection);
    RUN(a_repeated_syn_is_the_same_connection);
    RUN(a_reset_ends_nothing);
    RUN(the_oldest_makes_room);
    return 0;
}
