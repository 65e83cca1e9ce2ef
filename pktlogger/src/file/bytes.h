/* Unaligned loads in either byte order. */
#ifndef PL_BYTES_H
#define PL_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t pl_get16(const uint8_t *at, bool swapped)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t pl_get32(const uint8_t *at, bool swapped)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

#endif
