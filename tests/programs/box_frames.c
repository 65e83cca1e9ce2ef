/* lfp-box-frames SEED COUNT A B: input for a delay box between two interfaces. It sends frames into both at random
 * times: super-packets and single packets of TCP, acknowledgements and datagrams, of a few flows, with and without ECN.
 * Nobody answers them. */
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nc_bytes.h"
#include "nc_packet.h"

enum { L3 = 14, L4 = 34, TCP_AT = 54, UDP_AT = 42, FLOWS = 5, PARTS = 20, MSS = 1460 };

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static int open_interface(const char *name)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
    int fd = socket(AF_PACKET, SOCK_RAW, 0), yes = 1;
    if (fd < 0 || !at.sll_ifindex || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof yes) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        perror(name);
        exit(1);
    }
    return fd;
}

static void write_ip(uint8_t *ip, uint32_t len, uint8_t protocol, unsigned flow, uint16_t id)
{
    static const uint8_t ecn[] = {NC_NOT_ECT, NC_ECT0, NC_ECT1, NC_ECT0, NC_ECT1};
    const uint8_t addresses[8] = {10, 0, 0, (uint8_t)(1 + flow), 10, 0, 1, 1};
    ip[0] = 0x45;
    ip[1] = ecn[flow];
    nc_put16(ip + 2, (uint16_t)len);
    nc_put16(ip + 4, id);
    ip[8] = 64;
    ip[9] = protocol;
    memcpy(ip + 12, addresses, sizeof addresses);
    uint16_t sum = nc_csum_fold(nc_csum_add(0, ip, 20));
    memcpy(ip + 10, &sum, sizeof sum);
}

/* Writes a frame of flow `flow` with its virtio-net header, and returns its length. */
static size_t make(uint8_t *buf, unsigned flow, uint32_t *seq)
{
    struct virtio_net_hdr vnet = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .csum_start = L4, .csum_offset = 16};
    uint8_t *frame = buf + sizeof vnet;
    unsigned kind = (unsigned)draw(10);
    bool udp = kind == 0, ack = kind < 3, many = kind > 5;
    uint32_t payload = ack    ? 0
                       : many ? MSS * (uint32_t)(1 + draw(PARTS)) + 1 + (uint32_t)draw(MSS)
                              : 1 + (uint32_t)draw(MSS);
    if (udp)
        payload = (uint32_t)draw(1400);
    uint32_t headers = udp ? UDP_AT : TCP_AT;
    memset(frame, 0, headers);
    memset(frame, 2, 12);
    nc_put16(frame + 12, ETHERTYPE_IP);
    write_ip(frame + L3, headers - L3 + payload, udp ? IPPROTO_UDP : IPPROTO_TCP, flow, (uint16_t)draw(65536));
    nc_put16(frame + L4, (uint16_t)(40000 + flow));
    nc_put16(frame + L4 + 2, 5001);
    if (udp) {
        vnet.csum_offset = 6;
        nc_put16(frame + L4 + 4, (uint16_t)(8 + payload));
    } else {
        nc_put32(frame + L4 + 4, *seq - (draw(20) == 0 && *seq > payload ? payload : 0));
        nc_put32(frame + L4 + 8, (uint32_t)draw(UINT32_MAX));
        nc_put16(frame + L4 + 12, 0x5000 | NC_TCP_ACK);
        nc_put16(frame + L4 + 14, 1000);
        *seq += payload;
    }
    for (uint32_t i = 0; i < payload; i++)
        frame[headers + i] = (uint8_t)(*seq + i);
    if (many && !udp) {
        vnet.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        vnet.gso_size = MSS;
        vnet.hdr_len = TCP_AT;
    }
    memcpy(buf, &vnet, sizeof vnet);
    return sizeof vnet + headers + payload;
}

static void wait_a_little(void)
{
    static const uint64_t longest_ns[] = {1, 1, 200000, 200000, 5000000};
    uint64_t ns = draw(longest_ns[draw(5)]);
    if (ns)
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

int main(int argc, char **argv)
{
    static uint8_t buf[70000];
    uint32_t seq[2][FLOWS] = {{0}};
    if (argc != 5) {
        fprintf(stderr, "usage: %s SEED COUNT A B\n", argv[0]);
        return 2;
    }
    state = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
    int fds[2] = {open_interface(argv[3]), open_interface(argv[4])};
    for (long i = 0, n = atol(argv[2]); i < n; i++) {
        unsigned d = (unsigned)draw(2), flow = (unsigned)draw(FLOWS);
        size_t len = make(buf, flow, &seq[d][flow]);
        if (write(fds[d], buf, len) != (ssize_t)len) {
            perror("write");
            return 1;
        }
        wait_a_little();
    }
    return 0;
}
