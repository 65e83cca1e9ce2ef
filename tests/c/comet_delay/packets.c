#include "packets.h"

#include <arpa/inet.h>
#include <linux/virtio_net.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>

#include "nc_vnet.h"

uint32_t make_tcp4(uint8_t *out, uint32_t seq, uint32_t payload, uint16_t mss)
{
    enum { ETHERNET = 14, IP = 20, TCP = 20, HEADERS = ETHERNET + IP + TCP };
    struct nc_vnet vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
                           .gso_type = VIRTIO_NET_HDR_GSO_NONE,
                           .csum_start = ETHERNET + IP,
                           .csum_offset = 16};
    if (mss && payload > mss)
        vnet = (struct nc_vnet){VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4, HEADERS, mss, ETHERNET + IP, 16};
    nc_vnet_write(&vnet, out);
    uint8_t *frame = out + NC_VNET_LEN;
    memset(frame, 0, HEADERS);
    memcpy(frame, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\0", ETHERNET);
    struct iphdr ip = {.version = 4,
                       .ihl = 5,
                       .tot_len = htons((uint16_t)(IP + TCP + payload)),
                       .id = htons(100),
                       .ttl = 64,
                       .protocol = 6,
                       .saddr = htonl(0x0a000001),
                       .daddr = htonl(0x0a000002)};
    memcpy(frame + ETHERNET, &ip, IP);
    struct tcphdr tcp = {.source = htons(1), .dest = htons(2), .seq = htonl(seq), .doff = 5, .ack = 1};
    memcpy(frame + ETHERNET + IP, &tcp, TCP);
    uint8_t pseudo[12]; /* its sum is what a host leaves for the hardware to complete */
    uint32_t length = TCP + payload;
    memcpy(pseudo, &ip.saddr, 8);
    pseudo[8] = 0, pseudo[9] = 6, pseudo[10] = (uint8_t)(length >> 8), pseudo[11] = (uint8_t)length;
    uint16_t seed = (uint16_t)~nc_csum_fold(nc_csum_add(0, pseudo, sizeof pseudo));
    memcpy(frame + ETHERNET + IP + 16, &seed, 2);
    for (uint32_t i = 0; i < payload; i++)
        frame[HEADERS + i] = (uint8_t)(seq + i);
    return NC_VNET_LEN + HEADERS + payload;
}
