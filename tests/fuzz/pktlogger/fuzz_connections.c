/* Any bytes as TCP packets of a few connections, 12 bytes each: ends, flags, sequence and acknowledgement numbers,
 * captured and sent lengths. Checked: every direction is delivered without a hole and without an overlap from 0 to its
 * end, nothing comes after the end, and the memory stays within its limit. */
#include <stdlib.h>

#include "connections.h"
#include "nc_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORD = 12, TOTAL = 64 << 10, CONNECTIONS = 16, CAPTURED = 256 };

static void check(bool good)
{
    if (!good)
        abort();
}

/* `user` is the number of octets delivered, plus 1 from the first call on. */
static void move(struct pl_connection *connection, unsigned dir, uint64_t from, uint64_t to)
{
    uintptr_t known = (uintptr_t)connection->dir[dir].user;
    check((known ? known - 1 : 0) == from && to > from && !connection->over);
    connection->dir[dir].user = (void *)(uintptr_t)(to + 1);
}

static void on_data(void *context, struct pl_connection *connection, unsigned dir, uint64_t offset, const uint8_t *data,
                    size_t len)
{
    uint64_t *sum = context;
    for (size_t i = 0; i < len; i++)
        *sum += data[i]; /* a sanitizer sees every byte read */
    move(connection, dir, offset, offset + len);
}

static void on_gap(void *context, struct pl_connection *connection, unsigned dir, uint64_t from, uint64_t to)
{
    (void)context;
    move(connection, dir, from, to);
}

static void on_end(void *context, struct pl_connection *connection, unsigned dir, bool whole)
{
    const struct pl_reassembly *stream = &connection->dir[dir].stream;
    (void)context;
    check((uintptr_t)connection->dir[dir].user == stream->next + 1 && !stream->held);
    check(!whole || stream->next == stream->fin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_connections table;
    uint64_t sum = 0;
    struct pl_connections_limits limits = {TOTAL / 2, TOTAL, CONNECTIONS};
    struct pl_connection_reader reader = {on_data, on_gap, on_end, &sum};
    check(pl_connections_init(&table, &limits, &reader, 1) == 0);
    for (; size >= RECORD; data += RECORD, size -= RECORD) {
        struct nc_packet packet = {.ip_version = 4, .l4 = NC_L4_TCP};
        bool back = data[0] & 1;
        packet.src[0] = packet.dst[0] = 10;
        packet.src_port = back ? 80 : 1000 + (data[0] >> 1) % 32;
        packet.dst_port = back ? 1000 + (data[0] >> 1) % 32 : 80;
        packet.tcp.flags = data[1];
        packet.tcp.seq = nc_get32(data + 2);
        packet.tcp.ack = nc_get32(data + 6);
        packet.payload_len = (uint32_t)nc_get16(data + 10) * (data[0] & 128 ? 16 : 1);
        uint32_t have = packet.payload_len < CAPTURED ? packet.payload_len : CAPTURED;
        have = size - RECORD < have ? (uint32_t)(size - RECORD) : have;
        check(pl_connections_packet(&table, &packet, data + RECORD, have) == 0);
        check(table.pool.used <= TOTAL && table.n <= CONNECTIONS);
    }
    pl_connections_free(&table);
    check(table.pool.used == 0 && table.n == 0);
    return sum == UINT64_MAX;
}
