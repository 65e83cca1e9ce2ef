/* lfp-udp-sender HOST PORT OCTETS SECONDS [MESSAGE]: the simplest fast sender, for comparison with `pktlogger push
 * --pps 0`. For SECONDS it sends the same zeros with sendmmsg, 64 messages per call, and prints the packets per second.
 * With MESSAGE each message has this many packets, into which the kernel splits it (UDP_SEGMENT). */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nc_clock.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { MESSAGES = 64, SEND_BUFFER = 4 << 20, LONGEST = 65507 };

static int open_socket(const char *host, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), room = SEND_BUFFER;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        return -1;
    return fd;
}

int main(int argc, char **argv)
{
    static char zeros[LONGEST];
    if (argc < 5) {
        fprintf(stderr, "usage: %s HOST PORT OCTETS SECONDS [MESSAGE]\n", argv[0]);
        return 2;
    }
    int fd = open_socket(argv[1], argv[2]), octets = atoi(argv[3]), each = argc > 5 ? atoi(argv[5]) : 1;
    if (fd < 0 || octets < 1 || each < 1 || octets * each > LONGEST ||
        (each > 1 && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &octets, sizeof octets) < 0)) {
        perror(argv[0]);
        return 1;
    }
    struct iovec part = {zeros, (size_t)octets * (size_t)each};
    struct mmsghdr messages[MESSAGES] = {0};
    for (int i = 0; i < MESSAGES; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    uint64_t start = nc_now_ns(), end = start + (uint64_t)(atof(argv[4]) * 1e9), sent = 0, now;
    do {
        int got = sendmmsg(fd, messages, MESSAGES, 0);
        sent += got > 0 ? (uint64_t)got * (uint64_t)each : 0;
        now = nc_now_ns();
    } while (now < end);
    printf("%.0f\n", (double)sent * 1e9 / (double)(now - start));
    return 0;
}
