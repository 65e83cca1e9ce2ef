/* The TCP connections whose streams are followed, in bounded memory: a hash table of at most `connections_max`, which
 * evicts the least recently used one. Direction 0 goes from the side that opened the connection: the sender of the SYN,
 * the receiver of a SYN with ACK, else the sender of the first packet seen.
 *
 * A SYN whose initial sequence number differs from the known one begins a new connection with the same addresses and
 * ports. A connection whose two directions have ended stays in the table without its streams, so that late
 * retransmissions are not taken for a new connection. A RST ends nothing, because a forged one would hide the rest of
 * the stream. Connections that a genuine RST ended leave the table when it is full.
 * Rejected: the table of pktlogger/src/read. It keeps every connection of a capture, so a live reader would grow
 * without bound. */
#ifndef PL_CONNECTIONS_H
#define PL_CONNECTIONS_H

#include "nc_packet.h"
#include "reassembly.h"

struct pl_direction {
    struct pl_reassembly stream;
    uint64_t gaps;
    void *user; /* owned by the reader of the streams */
};

struct pl_connection_key {
    uint8_t address[2][16]; /* the smaller end first */
    uint16_t port[2];
    uint8_t ip_version, unused[3];
};

struct pl_connection {
    struct pl_connection_key key;
    uint8_t opener;  /* which end of the key sends direction 0 */
    bool from_start; /* a SYN was seen */
    bool over;       /* both directions have ended */
    uint64_t number; /* from 0, in order of appearance */
    uint64_t packets;
    struct pl_direction dir[2];
    struct pl_connection *newer, *older; /* by last use */
    struct pl_connection *bucket_next;   /* of the same hash */
};

/* The reader of the streams. `end` is called once for each direction for which `data` or `gap` was called. `whole`: all
 * bytes up to the FIN were delivered. */
struct pl_connection_reader {
    void (*data)(void *context, struct pl_connection *connection, unsigned dir, uint64_t offset, const uint8_t *data,
                 size_t len);
    void (*gap)(void *context, struct pl_connection *connection, unsigned dir, uint64_t from, uint64_t to);
    void (*end)(void *context, struct pl_connection *connection, unsigned dir, bool whole);
    void *context;
};

struct pl_connections {
    struct pl_stream_pool pool;
    struct pl_connection_reader reader;
    struct pl_connection **buckets;
    struct pl_connection *newest, *oldest;
    uint32_t bucket_n, n, connections_max;
    uint64_t made, evicted;
    uint64_t seed; /* secret key of the hash, so that nobody can make connections that collide */
};

struct pl_connections_limits {
    uint64_t stream_bytes, total_bytes; /* held for reassembly */
    uint32_t connections;
};

/* Returns 0, or -1 without memory. */
int pl_connections_init(struct pl_connections *table, const struct pl_connections_limits *limits,
                        const struct pl_connection_reader *reader, uint64_t seed);

/* Takes a TCP packet. The first `have` bytes of its payload are at `payload`. Returns 0, or -1 without memory. */
int pl_connections_packet(struct pl_connections *table, const struct nc_packet *packet, const uint8_t *payload,
                          uint32_t have);

/* Reserves `bytes` for the reader within the total limit. If necessary, evicts the least recently used connections
 * except `keep`. Returns false if that is not enough. pl_connections_discharge returns the bytes. */
bool pl_connections_charge(struct pl_connections *table, const struct pl_connection *keep, uint64_t bytes);
void pl_connections_discharge(struct pl_connections *table, uint64_t bytes);

/* Ends every connection and frees the table. */
void pl_connections_free(struct pl_connections *table);

#endif
