/* Implements connections.h: a hash table with chains, and a list in order of last use. */
#include "connections.h"

#include <stdlib.h>
#include <string.h>

#include "nc_range.h"

/* What the callbacks of one direction's reassembly need. */
struct place {
    struct pl_connections *table;
    struct pl_connection *connection;
    unsigned dir;
};

static void on_data(void *context, uint64_t offset, const uint8_t *data, size_t len)
{
    struct place *place = context;
    place->table->reader.data(place->table->reader.context, place->connection, place->dir, offset, data, len);
}

static void on_gap(void *context, uint64_t from, uint64_t to)
{
    struct place *place = context;
    place->connection->dir[place->dir].gaps++;
    place->table->reader.gap(place->table->reader.context, place->connection, place->dir, from, to);
}

static uint64_t mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

static uint32_t bucket_of(const struct pl_connections *table, const struct pl_connection_key *key)
{
    uint64_t words[sizeof *key / 8], hash = table->seed;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = mix(hash ^ words[i]) + table->seed;
    return (uint32_t)hash & (table->bucket_n - 1);
}
_Static_assert(sizeof(struct pl_connection_key) == 40, "a key is whole words without padding");

/* Makes the key of a packet; *end: which end of the key sent it. */
static struct pl_connection_key key_of(const struct nc_packet *packet, unsigned *end)
{
    struct pl_connection_key key = {.ip_version = packet->ip_version};
    int order = memcmp(packet->src, packet->dst, sizeof packet->src);
    *end = order > 0 || (order == 0 && packet->src_port > packet->dst_port);
    memcpy(key.address[*end], packet->src, sizeof packet->src);
    memcpy(key.address[!*end], packet->dst, sizeof packet->dst);
    key.port[*end] = packet->src_port;
    key.port[!*end] = packet->dst_port;
    return key;
}

static void unlink_use(struct pl_connections *table, struct pl_connection *connection)
{
    *(connection->newer ? &connection->newer->older : &table->newest) = connection->older;
    *(connection->older ? &connection->older->newer : &table->oldest) = connection->newer;
}

static void link_newest(struct pl_connections *table, struct pl_connection *connection)
{
    connection->newer = NULL;
    connection->older = table->newest;
    *(table->newest ? &table->newest->newer : &table->oldest) = connection;
    table->newest = connection;
}

static void end_direction(struct pl_connections *table, struct pl_connection *connection, unsigned dir)
{
    struct pl_direction *direction = &connection->dir[dir];
    struct place place = {table, connection, dir};
    struct pl_stream_output output = {on_data, on_gap, &place};
    pl_reassembly_flush(&direction->stream, &table->pool, &output);
    if (direction->stream.next > 0)
        table->reader.end(table->reader.context, connection, dir, direction->stream.ended);
}

static void drop(struct pl_connections *table, struct pl_connection *connection)
{
    for (unsigned dir = 0; dir < 2 && !connection->over; dir++)
        end_direction(table, connection, dir);
    struct pl_connection **at = &table->buckets[bucket_of(table, &connection->key)];
    while (*at != connection)
        at = &(*at)->bucket_next;
    *at = connection->bucket_next;
    unlink_use(table, connection);
    table->n--;
    free(connection);
}

static struct pl_connection *find(struct pl_connections *table, const struct pl_connection_key *key)
{
    struct pl_connection *found = table->buckets[bucket_of(table, key)];
    while (found && memcmp(&found->key, key, sizeof *key) != 0)
        found = found->bucket_next;
    return found;
}

static struct pl_connection *make(struct pl_connections *table, const struct pl_connection_key *key, unsigned opener)
{
    if (table->n == table->connections_max) {
        table->evicted++;
        drop(table, table->oldest);
    }
    struct pl_connection *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    struct pl_connection **bucket = &table->buckets[bucket_of(table, key)];
    made->key = *key;
    made->opener = (uint8_t)opener;
    made->number = table->made++;
    made->bucket_next = *bucket;
    *bucket = made;
    link_newest(table, made);
    table->n++;
    return made;
}

/* Whether a SYN belongs to a newer connection than the one in the table. */
static bool is_new(const struct pl_connection *known, unsigned dir, const struct nc_tcp *tcp)
{
    const struct pl_reassembly *stream = &known->dir[dir].stream;
    return (tcp->flags & NC_TCP_SYN) && stream->based && stream->base != tcp->seq + 1;
}

static struct pl_connection *connection_of(struct pl_connections *table, const struct nc_packet *packet, unsigned *dir)
{
    unsigned end;
    struct pl_connection_key key = key_of(packet, &end);
    struct pl_connection *found = find(table, &key);
    if (found && is_new(found, end != found->opener, &packet->tcp)) {
        drop(table, found);
        found = NULL;
    }
    if (!found) {
        bool answer = (packet->tcp.flags & (NC_TCP_SYN | NC_TCP_ACK)) == (NC_TCP_SYN | NC_TCP_ACK);
        found = make(table, &key, answer ? !end : end);
    } else if (found != table->newest) {
        unlink_use(table, found);
        link_newest(table, found);
    }
    if (found)
        *dir = end != found->opener;
    return found;
}

static void take_segment(struct pl_connections *table, struct pl_connection *connection, unsigned dir,
                         const struct nc_packet *packet, const uint8_t *payload, uint32_t have)
{
    struct pl_reassembly *stream = &connection->dir[dir].stream;
    struct place place = {table, connection, dir};
    struct pl_stream_output output = {on_data, on_gap, &place};
    const struct nc_tcp *tcp = &packet->tcp;
    uint32_t first = tcp->seq + (tcp->flags & NC_TCP_SYN ? 1 : 0);
    if (tcp->flags & NC_TCP_SYN)
        connection->from_start = true;
    pl_reassembly_base(stream, first);
    if (packet->payload_len) {
        uint32_t len = (uint32_t)nc_min(packet->payload_len, 1 << 20); /* no packet is longer */
        struct pl_stream_segment segment = {first, len, (uint32_t)nc_min(have, len), payload};
        pl_reassembly_segment(stream, &table->pool, &segment, &output);
    }
    if (tcp->flags & NC_TCP_FIN)
        pl_reassembly_fin(stream, first + packet->payload_len);
}

static void take_ack(struct pl_connections *table, struct pl_connection *connection, unsigned dir,
                     const struct nc_tcp *tcp)
{
    struct place place = {table, connection, dir};
    struct pl_stream_output output = {on_data, on_gap, &place};
    if (tcp->flags & NC_TCP_ACK)
        pl_reassembly_acked(&connection->dir[dir].stream, &table->pool, tcp->ack, connection->packets, &output);
}

int pl_connections_packet(struct pl_connections *table, const struct nc_packet *packet, const uint8_t *payload,
                          uint32_t have)
{
    unsigned dir;
    struct pl_connection *connection = connection_of(table, packet, &dir);
    if (!connection)
        return -1;
    connection->packets++;
    if (connection->over) {
        table->pool.duplicate_bytes += packet->payload_len;
        return 0;
    }
    if (!(packet->tcp.flags & NC_TCP_RST)) /* the payload of a RST is a text for people, and its sequence number may be
                                            * forged */
        take_segment(table, connection, dir, packet, payload, have);
    take_ack(table, connection, !dir, &packet->tcp);
    if (connection->dir[0].stream.ended && connection->dir[1].stream.ended) {
        for (unsigned d = 0; d < 2; d++)
            end_direction(table, connection, d);
        connection->over = true;
    }
    return 0;
}

bool pl_connections_charge(struct pl_connections *table, const struct pl_connection *keep, uint64_t bytes)
{
    while (table->pool.used + bytes > table->pool.total_limit && table->oldest && table->oldest != keep) {
        table->evicted++;
        drop(table, table->oldest);
    }
    if (table->pool.used + bytes > table->pool.total_limit)
        return false;
    table->pool.used += bytes;
    table->pool.used_max = nc_max(table->pool.used_max, table->pool.used);
    return true;
}

void pl_connections_discharge(struct pl_connections *table, uint64_t bytes)
{
    table->pool.used -= bytes;
}

int pl_connections_init(struct pl_connections *table, const struct pl_connections_limits *limits,
                        const struct pl_connection_reader *reader, uint64_t seed)
{
    uint32_t buckets = 1024;
    while (buckets < limits->connections && buckets < UINT32_C(1) << 24)
        buckets *= 2;
    *table = (struct pl_connections){.pool.stream_limit = limits->stream_bytes,
                                     .pool.total_limit = limits->total_bytes,
                                     .reader = *reader,
                                     .bucket_n = buckets,
                                     .connections_max = limits->connections,
                                     .seed = seed};
    table->buckets = calloc(buckets, sizeof *table->buckets);
    return table->buckets ? 0 : -1;
}

void pl_connections_free(struct pl_connections *table)
{
    while (table->oldest)
        drop(table, table->oldest);
    free(table->buckets);
    table->buckets = NULL;
}
