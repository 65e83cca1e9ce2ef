/* Decodes link headers of captures other than Ethernet's, without looking at what follows them.
 * Sources: the list of link types of tcpdump.org (LINKTYPE_LINUX_SLL, LINUX_SLL2, NULL, LOOP, PPP, PPP_HDLC, PPP_ETHER,
 * ERF, C_HDLC); RFC 1661, 1662, 2516; Endace's Extensible Record Format. */
#ifndef NC_LINK_H
#define NC_LINK_H

#include <stddef.h>
#include <stdint.h>

enum nc_link {
    NC_LINK_ETHERNET,
    NC_LINK_RAW_IP,
    NC_LINK_SLL,       /* Linux cooked capture */
    NC_LINK_SLL2,      /* the same with an interface index */
    NC_LINK_LOOPBACK,  /* of BSD: an address family in either byte order */
    NC_LINK_PPP,       /* with or without HDLC framing, or Cisco's HDLC */
    NC_LINK_PPP_ETHER, /* a PPPoE session without the Ethernet header around it */
    NC_LINK_ERF,       /* Endace's records of Ethernet, HDLC or IP */
    NC_LINK_N
};

enum nc_decoded {
    NC_DECODED,   /* as far as this decoder knows the protocol */
    NC_TRUNCATED, /* a header goes beyond the captured bytes */
    NC_MALFORMED, /* a length or version contradicts itself */
    NC_DECODED_N
};

enum nc_next {
    NC_NEXT_OTHER,    /* a protocol that is not decoded */
    NC_NEXT_TYPE,     /* what `ether_type` says */
    NC_NEXT_IP,       /* raw IP: IPv4 or IPv6 by its first octet */
    NC_NEXT_ETHERNET, /* an Ethernet header */
};

struct nc_link_header {
    enum nc_next next;
    uint32_t bytes; /* how long it is */
    uint32_t if_index;
    uint16_t ether_type; /* 0 where the link has none */
};

/* Returns NC_TRUNCATED if `captured` ends inside the header, NC_MALFORMED if the packet itself (`end`) does or a field
 * contradicts another. */
enum nc_decoded nc_link_read(enum nc_link link, const uint8_t *frame, size_t captured, size_t end,
                             struct nc_link_header *out);

#endif
