/* Converts the times of a capture file to nanoseconds: if_tsresol gives a power of ten or of two, if_tsoffset whole
 * seconds (draft-ietf-opsawg-pcapng section 4.2). It computes with 128 bits, so that nothing overflows before the
 * result is checked. */
#include "reader.h"

#define TIME_LIMIT_NS (INT64_C(1) << 62)

static const uint64_t powers_of_ten[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

int64_t pl_ticks_to_ns(uint64_t ticks, uint8_t tsresol, int64_t offset_s)
{
    unsigned exponent = tsresol & 0x7f;
    unsigned __int128 ns;
    if (tsresol & 0x80)
        ns = exponent >= 100 ? 0 : ((unsigned __int128)ticks * 1000000000u) >> exponent;
    else if (exponent <= 9)
        ns = (unsigned __int128)ticks * powers_of_ten[9 - exponent];
    else {
        ns = ticks;
        for (unsigned i = 9; i < exponent && ns; i++)
            ns /= 10;
    }
    __int128 sum = (__int128)ns + (__int128)offset_s * 1000000000;
    return sum >= 0 && sum < TIME_LIMIT_NS ? (int64_t)sum : -1;
}
