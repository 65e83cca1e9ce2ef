/* One table row for each kind of term, for parsing terms and for matching packets. Transport terms are sets of classes,
 * so that the parser detects terms that exclude each other. */
#ifndef COMET_FILTER_TERMS_H
#define COMET_FILTER_TERMS_H

#include "filter.h"

/* A TCP or UDP packet belongs to exactly one class, any other packet to none. */
enum {
    TCP_DATA = 1,   /* with payload */
    TCP_ACK = 2,    /* without, and ACK alone */
    TCP_OTHER = 4,  /* TCP without payload and with SYN, FIN or RST, or without ACK */
    UDP_DATA = 8,   /* with payload */
    UDP_EMPTY = 16, /* without */
    TCP = TCP_DATA | TCP_ACK | TCP_OTHER,
    UDP = UDP_DATA | UDP_EMPTY,
};

enum filter_kind { TRANSPORT, FLAG, SPORT, DPORT, SRC, DST, MIN_SIZE, MAX_SIZE };

struct filter_row {
    const char *name; /* ends in = where a value follows */
    enum filter_kind kind;
    uint8_t classes; /* classes of packets that the term can match; 0: any packet */
    uint16_t flag;
    uint32_t low, high; /* what the number may be */
};

enum { FILTER_KINDS = 13 };
extern const struct filter_row filter_rows[FILTER_KINDS];

static inline bool filter_takes_value(const struct filter_row *row)
{
    return row->kind >= SPORT;
}

static inline bool filter_takes_address(const struct filter_row *row)
{
    return row->kind == SRC || row->kind == DST;
}

#endif
