/* Two namespaces, each with a TAP with all offloads, and between them a thread that divides every super-packet into
 * random runs. TCP and UDP between real sockets must arrive byte for byte. Single parts get their checksum here and
 * lose NEEDS_CSUM, so that the receiving kernel verifies it. A part's sum is the corrected sum of the super-packet; if
 * the correction is wrong, the segment is dropped and counted. Skipped (77) where namespaces or TAPs are not
 * allowed. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "frames.h"
#include "seeded.h"
#include "taps.h"

enum { TCP_BYTES = 24 << 20, UDP_SENDS = 200, UDP_PART = 1400, UDP_PARTS = 10, DEADLINE_MS = 20000 };

struct wire {
    int tap[2];
    struct seeded seeded;
    atomic_bool stop;
    _Atomic unsigned supers, runs;
};

static uint8_t pattern(size_t at)
{
    return (uint8_t)(at * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static void pass_run(const struct nc_super *super, const uint8_t *frame, uint32_t first, uint32_t n, int to)
{
    struct nc_run run;
    static _Thread_local uint8_t joined[FRAME_MAX];
    nc_super_run(super, frame, first, n, &run);
    size_t len = frame_join(&run, joined);
    if (n == 1 && super->parts > 1) {
        frame_finish_checksum(joined + NC_VNET_LEN, len - NC_VNET_LEN, super->vnet.csum_start, super->vnet.csum_offset);
        memset(joined, 0, NC_VNET_LEN);
    }
    CHECK_EQ(write(to, joined, len), len);
}

static void pass_packet(struct wire *wire, int from, int to)
{
    static _Thread_local uint8_t buf[FRAME_MAX];
    struct nc_super super;
    ssize_t len = read(from, buf, sizeof buf);
    if (len < 0)
        return;
    CHECK_EQ(nc_super_read(buf, (size_t)len, &super), NC_SUPER_OK);
    wire->supers += super.parts > 1;
    for (uint32_t first = 0, n; first < super.parts; first += n, wire->runs++) {
        n = 1 + seeded_below(&wire->seeded, super.parts - first);
        if (seeded_below(&wire->seeded, 2))
            n = 1;
        pass_run(&super, buf + NC_VNET_LEN, first, n, to);
    }
}

static void *carry(void *argument)
{
    struct wire *wire = argument;
    while (!wire->stop) {
        struct pollfd wait[2] = {{.fd = wire->tap[0], .events = POLLIN}, {.fd = wire->tap[1], .events = POLLIN}};
        poll(wait, 2, 20);
        for (int i = 0; i < 2; i++)
            if (wait[i].revents & POLLIN)
                pass_packet(wire, wire->tap[i], wire->tap[!i]);
    }
    return NULL;
}

/* A counter in /proc/net/snmp of the thread's namespace. The file has two lines for the protocol; the value is below
 * its name. */
static long snmp(const char *protocol, const char *name)
{
    char names[2048], values[2048], *save_name, *save_value;
    FILE *file = fopen("/proc/thread-self/net/snmp", "r");
    CHECK(file);
    while (fgets(names, sizeof names, file) && fgets(values, sizeof values, file)) {
        char *value = strtok_r(values, " \n", &save_value);
        if (strncmp(names, protocol, strlen(protocol)) != 0 || names[strlen(protocol)] != ':')
            continue;
        for (char *word = strtok_r(names, " \n", &save_name); word && value;
             word = strtok_r(NULL, " \n", &save_name), value = strtok_r(NULL, " \n", &save_value))
            if (strcmp(word, name) == 0) {
                fclose(file);
                return atol(value);
            }
    }
    CHECK(!"a counter of that name");
    return -1;
}

static struct sockaddr_in host(const char *address, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    CHECK(inet_pton(AF_INET, address, &at.sin_addr) == 1);
    return at;
}

static void *send_tcp(void *argument)
{
    static uint8_t block[1 << 16];
    int fd = *(int *)argument;
    for (size_t at = 0; at < TCP_BYTES;) {
        for (size_t i = 0; i < sizeof block; i++)
            block[i] = pattern(at + i);
        for (size_t done = 0; done < sizeof block;) {
            ssize_t n = send(fd, block + done, sizeof block - done, MSG_NOSIGNAL);
            CHECK(n > 0);
            done += (size_t)n;
        }
        at += sizeof block;
    }
    CHECK(shutdown(fd, SHUT_WR) == 0);
    return NULL;
}

static void receive_tcp(int fd)
{
    static uint8_t block[1 << 16];
    size_t at = 0;
    for (ssize_t n; (n = recv(fd, block, sizeof block, 0)) != 0; at += (size_t)n) {
        if (n < 0)
            fprintf(stderr, "receiving stopped at byte %zu: %s\n", at, strerror(errno));
        CHECK(n > 0);
        for (size_t i = 0; i < (size_t)n; i++)
            if (block[i] != pattern(at + i))
                CHECK_EQ(block[i], pattern(at + i));
    }
    CHECK_EQ(at, TCP_BYTES);
}

/* All datagrams of one send: the next send waits for them, so a machine that is late does not overflow the socket. */
static void receive_udp(int fd)
{
    uint8_t datagram[2048];
    for (int part = 0; part < UDP_PARTS; part++) {
        CHECK_EQ(recv(fd, datagram, sizeof datagram, 0), UDP_PART);
        for (size_t i = 1; i < UDP_PART; i++)
            CHECK_EQ(datagram[i], (uint8_t)(datagram[0] + i));
    }
}

/* One send of UDP_PARTS datagrams, each with its own content. */
static void send_udp(int fd, const struct sockaddr_in *to)
{
    uint8_t data[UDP_PART * UDP_PARTS];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i / UDP_PART * 7 + i % UDP_PART);
    CHECK_EQ(sendto(fd, data, sizeof data, 0, (const struct sockaddr *)to, sizeof *to), sizeof data);
}

static int bound(int type, const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    struct timeval deadline = {.tv_sec = DEADLINE_MS / 1000};
    CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)at, sizeof *at) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline) == 0);
    return fd;
}

static void tcp_arrives(struct wire *wire, int listener, int client, const struct sockaddr_in *server)
{
    pthread_t sender;
    CHECK(connect(client, (const struct sockaddr *)server, sizeof *server) == 0);
    int accepted = accept(listener, NULL, NULL);
    CHECK(accepted >= 0);
    CHECK(pthread_create(&sender, NULL, send_tcp, &accepted) == 0);
    receive_tcp(client);
    CHECK(pthread_join(sender, NULL) == 0);
    close(accepted);
    CHECK_EQ(snmp("Tcp", "InErrs"), 0);
    CHECK_EQ(snmp("Tcp", "InCsumErrors"), 0);
    CHECK(wire->supers > 50);
    printf("ok tcp_arrives (%u super-packets, %u runs)\n", wire->supers, wire->runs);
}

static void udp_arrives(struct wire *wire, int sender, int receiver, const struct sockaddr_in *to)
{
    int part = UDP_PART;
    unsigned supers = wire->supers;
    CHECK(setsockopt(sender, IPPROTO_UDP, UDP_SEGMENT, &part, sizeof part) == 0);
    for (int i = 0; i < UDP_SENDS; i++) {
        send_udp(sender, to);
        receive_udp(receiver);
    }
    CHECK_EQ(snmp("Udp", "InErrors"), 0);
    CHECK_EQ(snmp("Udp", "InCsumErrors"), 0);
    CHECK(wire->supers > supers);
    printf("ok udp_arrives (%u super-packets)\n", wire->supers - supers);
}

int main(void)
{
    struct wire wire = {.seeded = seeded_start()};
    struct sockaddr_in server = host("10.0.0.1", 5001), client = host("10.0.0.2", 5002);
    struct ifreq ifr;
    pthread_t carrier;

    taps_enter_fresh_namespace();
    wire.tap[0] = taps_open(1500, &ifr);
    taps_set_address(&ifr, "10.0.0.1");
    bool uso = taps_set_offloads(wire.tap[0], true);
    int listener = bound(SOCK_STREAM, &server), udp_sender = bound(SOCK_DGRAM, &server);
    CHECK(listen(listener, 1) == 0);
    taps_enter_fresh_namespace();
    wire.tap[1] = taps_open(1500, &ifr);
    taps_set_address(&ifr, "10.0.0.2");
    taps_set_offloads(wire.tap[1], true);
    int tcp = bound(SOCK_STREAM, &client), udp_receiver = bound(SOCK_DGRAM, &client);

    CHECK(pthread_create(&carrier, NULL, carry, &wire) == 0);
    tcp_arrives(&wire, listener, tcp, &server);
    if (uso)
        udp_arrives(&wire, udp_sender, udp_receiver, &client);
    wire.stop = true;
    CHECK(pthread_join(carrier, NULL) == 0);
    return 0;
}
