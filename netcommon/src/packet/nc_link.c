/* Implements nc_link.h. */
#include "nc_link.h"

#include <stdbool.h>

#include "nc_bytes.h"

enum { PPP_IPV4 = 0x21, PPP_IPV6 = 0x57, PPP_COMPRESSED = 1 };
enum { ERF_HEADER = 16, ERF_EXTENSION = 8, ERF_MORE = 0x80, ERF_TYPE = 0x7f };
enum { ERF_HDLC = 1, ERF_ETHERNET = 2, ERF_HDLC_COLOR = 10, ERF_ETHERNET_COLOR = 11, ERF_HDLC_DSM = 15 };
enum { ERF_ETHERNET_DSM = 16, ERF_ETHERNET_HASH = 20, ERF_IPV4 = 22, ERF_IPV6 = 23 };

struct bytes {
    const uint8_t *at;
    size_t captured, end;
};

static enum nc_decoded need(const struct bytes *bytes, size_t len)
{
    if (len > bytes->end)
        return NC_MALFORMED;
    return len > bytes->captured ? NC_TRUNCATED : NC_DECODED;
}

static enum nc_decoded read_cooked(const struct bytes *bytes, bool second, struct nc_link_header *out)
{
    enum nc_decoded status = need(bytes, second ? 20 : 16);
    if (status != NC_DECODED)
        return status;
    *out = (struct nc_link_header){.next = NC_NEXT_TYPE,
                                   .bytes = second ? 20 : 16,
                                   .if_index = second ? nc_get32(bytes->at + 4) : 0,
                                   .ether_type = nc_get16(bytes->at + (second ? 0 : 14))};
    return NC_DECODED;
}

/* The family is in the byte order of the capturing machine, and each system has its own number for IPv6. */
static enum nc_decoded read_loopback(const struct bytes *bytes, struct nc_link_header *out)
{
    enum nc_decoded status = need(bytes, 4);
    if (status != NC_DECODED)
        return status;
    uint32_t family = nc_get32(bytes->at);
    if (family > UINT16_MAX)
        family = __builtin_bswap32(family);
    bool ip = family == 2 || family == 10 || family == 23 || family == 24 || family == 28 || family == 30;
    *out = (struct nc_link_header){.next = ip ? NC_NEXT_IP : NC_NEXT_OTHER, .bytes = 4};
    return NC_DECODED;
}

/* The protocol field of PPP at `at` is one octet long if that octet is odd (RFC 1661, 6.5). */
static enum nc_decoded read_ppp_protocol(const struct bytes *bytes, size_t at, struct nc_link_header *out)
{
    enum nc_decoded status = need(bytes, at + 1);
    if (status != NC_DECODED)
        return status;
    size_t len = bytes->at[at] & PPP_COMPRESSED ? 1 : 2;
    if ((status = need(bytes, at + len)) != NC_DECODED)
        return status;
    uint16_t protocol = len == 1 ? bytes->at[at] : nc_get16(bytes->at + at);
    bool ip = protocol == PPP_IPV4 || protocol == PPP_IPV6;
    *out = (struct nc_link_header){.next = ip ? NC_NEXT_IP : NC_NEXT_OTHER, .bytes = (uint32_t)(at + len)};
    return NC_DECODED;
}

static enum nc_decoded read_ppp(const struct bytes *bytes, size_t at, struct nc_link_header *out)
{
    enum nc_decoded status = need(bytes, at + 1);
    if (status != NC_DECODED)
        return status;
    const uint8_t *framing = bytes->at + at;
    if (framing[0] == 0xff) { /* no protocol has this number */
        status = need(bytes, at + 2);
        if (status != NC_DECODED)
            return status;
        return framing[1] == 0x03 ? read_ppp_protocol(bytes, at + 2, out) : NC_MALFORMED;
    }
    if (framing[0] != 0x0f && framing[0] != 0x8f) /* Cisco's HDLC: unicast, multicast */
        return read_ppp_protocol(bytes, at, out);
    if ((status = need(bytes, at + 4)) != NC_DECODED)
        return status;
    *out =
        (struct nc_link_header){.next = NC_NEXT_TYPE, .bytes = (uint32_t)at + 4, .ether_type = nc_get16(framing + 2)};
    return NC_DECODED;
}

static enum nc_decoded read_pppoe(const struct bytes *bytes, struct nc_link_header *out)
{
    enum nc_decoded status = need(bytes, 6);
    if (status != NC_DECODED)
        return status;
    return bytes->at[0] == 0x11 ? read_ppp_protocol(bytes, 6, out) : NC_MALFORMED;
}

static enum nc_decoded read_erf(const struct bytes *bytes, struct nc_link_header *out)
{
    size_t len = ERF_HEADER;
    enum nc_decoded status = need(bytes, len);
    if (status != NC_DECODED)
        return status;
    for (uint8_t more = bytes->at[8]; more & ERF_MORE; len += ERF_EXTENSION) {
        if ((status = need(bytes, len + ERF_EXTENSION)) != NC_DECODED)
            return status;
        more = bytes->at[len];
    }
    switch (bytes->at[8] & ERF_TYPE) {
    case ERF_ETHERNET:
    case ERF_ETHERNET_COLOR:
    case ERF_ETHERNET_DSM:
    case ERF_ETHERNET_HASH: /* two octets of offset and padding precede the frame */
        *out = (struct nc_link_header){.next = NC_NEXT_ETHERNET, .bytes = (uint32_t)len + 2};
        return need(bytes, len + 2);
    case ERF_IPV4:
    case ERF_IPV6:
        *out = (struct nc_link_header){.next = NC_NEXT_IP, .bytes = (uint32_t)len};
        return NC_DECODED;
    case ERF_HDLC:
    case ERF_HDLC_COLOR:
    case ERF_HDLC_DSM:
        return read_ppp(bytes, len, out);
    default:
        *out = (struct nc_link_header){.next = NC_NEXT_OTHER, .bytes = (uint32_t)len};
        return NC_DECODED;
    }
}

enum nc_decoded nc_link_read(enum nc_link link, const uint8_t *frame, size_t captured, size_t end,
                             struct nc_link_header *out)
{
    const struct bytes bytes = {frame, captured, end};
    switch (link) {
    case NC_LINK_SLL:
    case NC_LINK_SLL2:
        return read_cooked(&bytes, link == NC_LINK_SLL2, out);
    case NC_LINK_LOOPBACK:
        return read_loopback(&bytes, out);
    case NC_LINK_PPP:
        return read_ppp(&bytes, 0, out);
    case NC_LINK_PPP_ETHER:
        return read_pppoe(&bytes, out);
    case NC_LINK_ERF:
        return read_erf(&bytes, out);
    default:
        *out = (struct nc_link_header){.next = NC_NEXT_OTHER};
        return NC_DECODED;
    }
}
