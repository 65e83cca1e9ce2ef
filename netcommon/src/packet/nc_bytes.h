/* Network-order integers at unaligned addresses. The caller has checked the bounds. */
#ifndef NC_BYTES_H
#define NC_BYTES_H

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t nc_get16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return ntohs(value);
}

static inline uint32_t nc_get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return ntohl(value);
}

static inline void nc_put16(uint8_t *at, uint16_t value)
{
    value = htons(value);
    memcpy(at, &value, sizeof value);
}

static inline void nc_put32(uint8_t *at, uint32_t value)
{
    value = htonl(value);
    memcpy(at, &value, sizeof value);
}

#endif
