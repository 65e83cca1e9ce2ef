/* Implements foreign.h. The table comes from files that editcap wrote in each of its formats, and from the magic
 * numbers in Wireshark's wiretap. Files converted from K12 text and LANalyzer have no date, and files converted from
 * CommView NCFX lack packets. */
#include "foreign.h"

#include <string.h>

struct beginning {
    const char *bytes;
    size_t n;
    const char *name;
};

#define BEGINS(text, name) {text, sizeof text - 1, name}

static const struct beginning BEGINNINGS[] = {
    BEGINS("snoop\0\0\0", "snoop"),
    BEGINS("btsnoop\0", "btsnoop"),
    BEGINS("GMBU", "Network Monitor 2"),
    BEGINS("RTSS", "Network Monitor 1"),
    BEGINS("TRSNIFF data    \x1a", "Sniffer (DOS)"),
    BEGINS("XCP\0", "NetXRay or Sniffer (Windows)"),
    BEGINS("ObserverPktBuffe", "Observer"),
    BEGINS("\x05VNF", "Visual Networks"),
    BEGINS("+---------+---------------+----------+", "K12 text (the result has no date)"),
    BEGINS("\x01\x10", "LANalyzer (the result has no date)"),
    BEGINS("\xaa\xaa\xaa\xaa", "5Views"),
    BEGINS("\x1c\x00\x01\xac", "IxVeriWave or Ixia"),
    BEGINS("\xac\x01\x00\x1c", "IxVeriWave or Ixia"),
    BEGINS("\x1c\x00\x01\xab", "Ixia, times by software"),
    BEGINS("\xab\x01\x00\x1c", "Ixia, times by software"),
    BEGINS("\x54\x52\x00\x64\x00", "HP-UX nettl"),
    BEGINS("\x54\x52\x00\x64", "HP-UX nettl"),
    BEGINS("\x00\x00\x02\x00\x12\x05\x00\x10", "K12"),
};

const char *pl_foreign_format(const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof *BEGINNINGS; i++)
        if (len >= BEGINNINGS[i].n && memcmp(data, BEGINNINGS[i].bytes, BEGINNINGS[i].n) == 0)
            return BEGINNINGS[i].name;
    return NULL;
}
