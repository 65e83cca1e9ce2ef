/* The minimum cost of two gateways on these sockets: system calls and the cipher. For `lfp bench lft.cpu` only.
 *
 *   lft-floor near PORT ADDRESS RATE_BPS FRAMES KEEP_NS
 *     takes one TCP connection, seals what it reads, and sends it in UDP to ADDRESS, FRAMES frames in a batch; keeps
 *     each sealed frame in memory for KEEP_NS
 *
 *   lft-floor far PORT ADDRESS REST_NS RATE_BPS HOLD_NS
 *     takes UDP, decrypts authentic frames, writes each to ADDRESS by TCP when it is HOLD_NS old, and rests for REST_NS
 *     between two turns
 *
 * Both use the gateway's offloads and cipher. There is no acknowledgement, no repair and no stream: data lost on the
 * path stay lost. With 0 for KEEP_NS and HOLD_NS they use no memory beyond a batch. A tunnel that repairs loss needs
 * more: the sender keeps a frame for a round trip, and the receiver holds frames behind a missing one for as long.
 * Their octets have then left the cache when they are used again. Each end stops when its TCP connection ends, or on a
 * signal. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "crypto.h"
#include "nc_clock.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { PAYLOAD = 1438, FRAME = 1472, WIRE = 1500, BATCH_MAX = 44, READS = 16, READ_BYTES = 65536, PIECES = 1024 };
#define BUFFER_BYTES (32 << 20)

static void fail(const char *what)
{
    fprintf(stderr, "lft-floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct sockaddr_in address(const char *text, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    if (inet_pton(AF_INET, text, &to.sin_addr) != 1)
        fail(text);
    return to;
}

static struct lft_key *key(bool sealing)
{
    static const uint8_t zeros[LFT_KEY_BLOCK];
    struct lft_key *made = lft_key_create(LFT_AES_128_GCM, zeros, sealing);
    if (!made)
        fail("aes-128-gcm");
    return made;
}

static void ready(void)
{
    puts("{\"event\": \"ready\"}");
    fflush(stdout);
}

static void nap(uint64_t until_ns)
{
    const struct timespec until = {(time_t)(until_ns / NC_NS_PER_S), (long)(until_ns % NC_NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* --- near --- */

static int accept_one(const char *port)
{
    struct sockaddr_in here = address("0.0.0.0", port);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(listener, 1) < 0)
        fail("listen");
    ready();
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        fail("accept");
    close(listener);
    return fd;
}

/* Reads until the buffer is full. False: the connection has ended. */
static bool read_all(int fd, uint8_t *at, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, at + done, n - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static void send_batch(int udp, const uint8_t *frames, size_t n)
{
    uint16_t segment = FRAME;
    struct iovec piece = {(void *)(uintptr_t)frames, n * FRAME};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof segment)] = {0};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof segment), .cmsg_level = IPPROTO_UDP, .cmsg_type = UDP_SEGMENT};
    memcpy(CMSG_DATA(c), &segment, sizeof segment);
    sendmsg(udp, &message, 0);
}

/* Allocates a slot of `bytes` for each frame that passes at `rate_bps` in `during_ns`, and at least `least` slots. */
static uint8_t *ring(uint64_t rate_bps, uint64_t during_ns, size_t bytes, size_t least, size_t *n)
{
    *n = (size_t)(rate_bps / 8 * during_ns / NC_NS_PER_S / WIRE) + least;
    uint8_t *made = malloc(*n * bytes + 16);
    if (!made)
        fail("memory");
    return made;
}

/* Sends a batch each time that the rate allows one. */
static void near(const char *port, const char *to, uint64_t rate_bps, unsigned batch, uint64_t keep_ns)
{
    static uint8_t plain[BATCH_MAX * PAYLOAD];
    size_t kept, at = 0;
    uint8_t *memory = ring(rate_bps, keep_ns, FRAME, batch, &kept);
    struct sockaddr_in there = address(to, port);
    struct lft_key *seal = key(true);
    int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = accept_one(port);
    if (connect(udp, (struct sockaddr *)&there, sizeof there) < 0)
        fail(to);
    uint64_t counter = 0, due_ns = nc_now_ns(), batch_ns = UINT64_C(8) * batch * WIRE * NC_NS_PER_S / rate_bps;
    while (read_all(tcp, plain, batch * PAYLOAD)) {
        uint8_t *frames = memory + at * FRAME;
        for (size_t i = 0; i < batch; i++) {
            const struct lft_header header = {.spi = LFT_SPI_MIN, .command = LFT_DATA, .counter = ++counter};
            lft_seal(seal, &header, plain + i * PAYLOAD, PAYLOAD, frames + i * FRAME);
        }
        send_batch(udp, frames, batch);
        at = at + 2 * batch <= kept ? at + batch : 0;
        due_ns += batch_ns;
        nap(due_ns);
    }
}

/* --- far --- */

struct far {
    int udp, tcp;
    struct lft_key *unseal;
    struct mmsghdr messages[READS];
    struct iovec pieces[READS];
    _Alignas(struct cmsghdr) uint8_t controls[READS][CMSG_SPACE(sizeof(int))];
    uint8_t memory[READS][READ_BYTES];
    struct held {
        size_t n;
        uint64_t came_ns;
    } *held;        /* a ring of `slots`, the octets in `plain` */
    uint8_t *plain; /* slots of FRAME octets */
    size_t slots, first, n;
    uint64_t hold_ns, now_ns;
};

static void write_all(int fd, struct iovec *out, unsigned n)
{
    for (unsigned done = 0; done < n;) {
        ssize_t put = writev(fd, out + done, (int)(n - done));
        if (put < 0)
            exit(0); /* the server has gone */
        for (; done < n && (size_t)put >= out[done].iov_len; done++)
            put -= (ssize_t)out[done].iov_len;
        if (done < n) {
            out[done].iov_base = (uint8_t *)out[done].iov_base + put;
            out[done].iov_len -= (size_t)put;
        }
    }
}

/* Writes frames that are old enough, or all if the ring is full. */
static void write_out(struct far *far)
{
    struct iovec out[PIECES];
    bool full = far->n == far->slots, more = true;
    while (more) {
        unsigned n = 0;
        for (; n < PIECES && far->n; n++, far->n--) {
            const struct held *held = &far->held[far->first];
            if (!full && held->came_ns + far->hold_ns > far->now_ns)
                break;
            out[n] = (struct iovec){far->plain + far->first * FRAME, held->n};
            far->first = (far->first + 1) % far->slots;
        }
        write_all(far->tcp, out, n);
        more = n == PIECES;
    }
}

static void take(struct far *far, unsigned i)
{
    size_t n = far->messages[i].msg_len, segment = n;
    struct cmsghdr *c = CMSG_FIRSTHDR(&far->messages[i].msg_hdr);
    if (c && c->cmsg_type == UDP_GRO) {
        int value;
        memcpy(&value, CMSG_DATA(c), sizeof value);
        segment = (size_t)value;
    }
    for (size_t at = 0; at < n; at += segment) {
        if (far->n == far->slots)
            write_out(far);
        size_t slot = (far->first + far->n) % far->slots;
        uint8_t *plain = far->plain + slot * FRAME;
        size_t length = n - at < segment ? n - at : segment;
        long payload = length <= FRAME ? lft_unseal(far->unseal, far->memory[i] + at, length, plain) : -1;
        if (payload > 0) {
            far->held[slot] = (struct held){(size_t)payload, far->now_ns};
            far->n++;
        }
    }
}

static bool read_some(struct far *far)
{
    for (unsigned i = 0; i < READS; i++) {
        far->pieces[i] = (struct iovec){far->memory[i], READ_BYTES};
        far->messages[i].msg_hdr = (struct msghdr){.msg_iov = &far->pieces[i],
                                                   .msg_iovlen = 1,
                                                   .msg_control = far->controls[i],
                                                   .msg_controllen = sizeof far->controls[i]};
    }
    int n = recvmmsg(far->udp, far->messages, READS, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++)
        take(far, (unsigned)i);
    return n == READS;
}

static void far(const char *port, const char *to, uint64_t rest_ns, uint64_t rate_bps, uint64_t hold_ns)
{
    struct sockaddr_in here = address("0.0.0.0", port), there = address(to, port);
    int on = 1, bytes = BUFFER_BYTES;
    struct far *far = calloc(1, sizeof *far);
    if (!far)
        fail("memory");
    far->plain = ring(rate_bps, hold_ns, FRAME, PIECES, &far->slots);
    far->held = calloc(far->slots, sizeof *far->held);
    if (!far->held)
        fail("memory");
    far->hold_ns = hold_ns;
    far->unseal = key(false);
    far->udp = socket(AF_INET, SOCK_DGRAM, 0);
    far->tcp = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(far->udp, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(far->udp, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    setsockopt(far->tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(far->udp, (struct sockaddr *)&here, sizeof here) < 0 ||
        connect(far->tcp, (struct sockaddr *)&there, sizeof there) < 0)
        fail(to);
    ready();
    for (;;) {
        struct pollfd wait = {.fd = far->udp, .events = POLLIN};
        poll(&wait, 1, -1);
        far->now_ns = nc_now_ns();
        while (read_some(far))
            ;
        write_out(far);
        nap(far->now_ns + rest_ns);
    }
}

int main(int argc, char **argv)
{
    prctl(PR_SET_TIMERSLACK, 1);
    uint64_t numbers[3] = {0};
    for (int i = 4; i < argc && argc == 7; i++)
        numbers[i - 4] = strtoull(argv[i], NULL, 10);
    if (numbers[1] && numbers[1] <= BATCH_MAX && strcmp(argv[1], "near") == 0)
        near(argv[2], argv[3], numbers[0], (unsigned)numbers[1], numbers[2]);
    else if (argc == 7 && strcmp(argv[1], "far") == 0)
        far(argv[2], argv[3], numbers[0], numbers[1], numbers[2]);
    else {
        fprintf(
            stderr,
            "usage: lft-floor near PORT ADDRESS RATE_BPS FRAMES KEEP_NS | far PORT ADDRESS REST_NS RATE_BPS HOLD_NS "
            "(started by 'lfp bench lft.cpu')\n");
        return 2;
    }
    puts("{\"event\": \"end\"}");
    return 0;
}
