/* Frames written out by hand, octet by octet. */
#ifndef FRAME_BYTES_H
#define FRAME_BYTES_H

#include "check.h"
#include "nc_packet.h"

static const uint8_t mac[12] = {2, 0, 0, 0, 0, 11, 2, 0, 0, 0, 0, 10};

struct bytes {
    uint8_t at[2048];
    size_t len;
};

static inline void add(struct bytes *bytes, const void *data, size_t len)
{
    CHECK(bytes->len + len <= sizeof bytes->at);
    memcpy(bytes->at + bytes->len, data, len);
    bytes->len += len;
}
#define ADD(bytes, ...) add(bytes, (uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static inline struct bytes ethernet(uint16_t type)
{
    struct bytes frame = {.len = 0};
    add(&frame, mac, sizeof mac);
    ADD(&frame, (uint8_t)(type >> 8), (uint8_t)type);
    return frame;
}

static inline void add_ipv4(struct bytes *frame, uint16_t total, uint8_t proto)
{
    ADD(frame, 0x45, 0x03, (uint8_t)(total >> 8), (uint8_t)total, 0x12, 0x34, 0x40, 0, 63, proto, 0, 0, 10, 1, 2, 3, 10,
        4, 5, 6);
}

static inline void add_ipv6(struct bytes *frame, uint16_t payload, uint8_t next)
{
    ADD(frame, 0x60, 0x20, 0, 1, (uint8_t)(payload >> 8), (uint8_t)payload, next, 61);
    ADD(frame, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2);
}

static inline void add_tcp(struct bytes *frame, uint8_t words, uint16_t flags)
{
    ADD(frame, 0x13, 0x89, 0x13, 0x92, 1, 2, 3, 4, 5, 6, 7, 8, (uint8_t)(words << 4 | flags >> 8), (uint8_t)flags, 0x20,
        0, 0, 0, 0, 0);
}

static inline enum nc_decoded decode(const struct bytes *frame, struct nc_packet *out)
{
    return nc_packet_decode(NC_LINK_ETHERNET, frame->at, frame->len, frame->len, out);
}

#endif
