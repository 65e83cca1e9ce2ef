/* Implements data_cut.h. */
#include "data_cut.h"

#include <netinet/in.h>

#include "nc_tunnel.h"
#include "reader.h"

int pl_data_cut_open(struct pl_data_cut *cut, pcap_t *pcap, const char *interface, const struct pl_snap *snap,
                     struct nc_error *error)
{
    *cut = (struct pl_data_cut){.wanted = snap->no_data};
    if (!snap->no_data)
        return 0;
    int linktype = pcap_datalink(pcap);
    cut->link = pl_link_of((uint32_t)linktype);
    if (cut->link == PL_LINK_UNKNOWN)
        return nc_fail(error, NC_EXIT_USAGE,
                       "--no-data: the headers of link type %d of '%.80s' are not known; use --snap", linktype,
                       interface);
    for (; cut->rule_n < snap->rule_n; cut->rule_n++)
        if (pcap_compile(pcap, &cut->rules[cut->rule_n], snap->rules[cut->rule_n].expression, 1, PCAP_NETMASK_UNKNOWN))
            return nc_fail(error, NC_EXIT_USAGE, "--snap-of '%.200s': %.200s", snap->rules[cut->rule_n].expression,
                           pcap_geterr(pcap));
    return 0;
}

static bool has_rule(const struct pl_data_cut *cut, const struct pcap_pkthdr *header, const uint8_t *data)
{
    for (size_t i = 0; i < cut->rule_n; i++)
        if (pcap_offline_filter(&cut->rules[i], header, data))
            return true;
    return false;
}

uint32_t pl_data_cut_bytes(const struct pl_data_cut *cut, const struct pcap_pkthdr *header, const uint8_t *data)
{
    struct nc_packet packet;
    unsigned depth;
    if (!cut->wanted)
        return header->caplen;
    enum nc_decoded decoded =
        nc_tunnel_decode((enum nc_link)cut->link, data, header->caplen, header->len, &packet, &depth);
    if (decoded == NC_MALFORMED && packet.payload_offset < header->caplen)
        return packet.payload_offset; /* after an inconsistent header the rest may be data */
    if (decoded == NC_TRUNCATED || !packet.ip_version || packet.ip_proto != IPPROTO_TCP ||
        packet.payload_offset >= header->caplen)
        return header->caplen;
    return has_rule(cut, header, data) ? header->caplen : packet.payload_offset;
}

void pl_data_cut_close(struct pl_data_cut *cut)
{
    while (cut->rule_n)
        pcap_freecode(&cut->rules[--cut->rule_n]);
}
