/* Compares nc_super_run with the kernel. A packet socket sends a super-packet through a TAP that offers no offloads, so
 * the kernel must divide and checksum it before the TAP's reader gets it. Single parts made by nc_super_run, with
 * checksums, must have the same bytes. Then the TAP offers all offloads: the kernel must deliver the super-packet
 * whole. It must also accept runs written into the TAP, and deliver them to the packet socket with their GSO fields.
 * The test uses its own network namespace; it is skipped (77) where that is not allowed. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "frames.h"
#include "seeded.h"
#include "taps.h"

enum { PACKET_VNET_HDR_BYTES = 10 };

struct bench {
    int tap, packet;
    bool uso; /* the kernel knows UDP segmentation on TAP */
};

static uint8_t sent[FRAME_MAX], got[FRAME_MAX], ours[FRAME_MAX];

static struct bench set_up(void)
{
    struct bench bench;
    struct ifreq ifr;
    int one = 1;
    taps_enter_fresh_namespace();
    bench.tap = taps_open(9000, &ifr);
    bench.uso = taps_set_offloads(bench.tap, true);
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = ifr.ifr_ifindex};
    bench.packet = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ALL));
    CHECK(bench.packet >= 0);
    CHECK(setsockopt(bench.packet, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) == 0);
    CHECK(setsockopt(bench.packet, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) == 0);
    CHECK(bind(bench.packet, (struct sockaddr *)&at, sizeof at) == 0);
    return bench;
}

/* The next frame that the test itself sent. The kernel sends others, such as router solicitations. */
static size_t next_frame(int fd, size_t vnet_len)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        CHECK(poll(&wait, 1, 2000) == 1);
        ssize_t n = read(fd, got + NC_VNET_LEN - vnet_len, sizeof got - (NC_VNET_LEN - vnet_len));
        CHECK(n > 0);
        if (memcmp(got + NC_VNET_LEN, "\x02\x00\x00\x00\x00\x0b\x02\x00\x00\x00\x00\x0a", 12) == 0)
            return (size_t)n + NC_VNET_LEN - vnet_len;
    }
}

static void send_whole(const struct bench *bench, size_t len)
{
    struct iovec parts[2] = {{sent, PACKET_VNET_HDR_BYTES}, {sent + NC_VNET_LEN, len - NC_VNET_LEN}};
    ssize_t n = writev(bench->packet, parts, 2);
    if (n < 0)
        fprintf(stderr, "packet socket: %s\n", strerror(errno));
    CHECK_EQ(n, len - NC_VNET_LEN + PACKET_VNET_HDR_BYTES);
}

/* Makes a run in `ours`. A single part gets its checksum, because the kernel had to fill it in, too. */
static size_t our_run(const struct nc_super *super, uint32_t first, uint32_t n)
{
    struct nc_run run;
    nc_super_run(super, sent + NC_VNET_LEN, first, n, &run);
    size_t len = frame_join(&run, ours);
    if (n == 1)
        frame_finish_checksum(ours + NC_VNET_LEN, len - NC_VNET_LEN, super->vnet.csum_start, super->vnet.csum_offset);
    return len;
}

static void explain(const struct frame_spec *spec, uint32_t part, size_t len)
{
    fprintf(stderr, "vlans %d, IPv%d extra %d, %s, options %d, flags %#x, gso %u, payload %u: part %u differs at",
            spec->vlans, spec->ip_version, spec->ip_extra, spec->udp ? "UDP" : "TCP", spec->tcp_options,
            spec->tcp_flags, spec->gso_size, spec->payload_len, part);
    for (size_t i = NC_VNET_LEN; i < len; i++)
        if (ours[i] != got[i])
            fprintf(stderr, " %zu(%02x, kernel %02x)", i - NC_VNET_LEN, ours[i], got[i]);
    fprintf(stderr, "\n");
}

static void compare_with_kernel(const struct bench *bench, const struct frame_spec *spec)
{
    struct frame_layout layout;
    struct nc_super super;
    size_t len = frame_build(spec, sent, &layout);
    CHECK_EQ(nc_super_read(sent, len, &super), NC_SUPER_OK);
    send_whole(bench, len);
    for (uint32_t i = 0; i < super.parts; i++) {
        size_t theirs = next_frame(bench->tap, NC_VNET_LEN), mine = our_run(&super, i, 1);
        if (mine == theirs && memcmp(ours + NC_VNET_LEN, got + NC_VNET_LEN, mine - NC_VNET_LEN) != 0)
            explain(spec, i, mine);
        CHECK_EQ(theirs, mine);
        CHECK(memcmp(ours + NC_VNET_LEN, got + NC_VNET_LEN, mine - NC_VNET_LEN) == 0);
    }
}

static struct frame_spec any_spec(struct seeded *seeded, bool uso)
{
    static const uint16_t sizes[] = {500, 1400, 1448, 8900};
    struct frame_spec spec = {.vlans = (int)seeded_below(seeded, 3),
                              .ip_version = seeded_below(seeded, 2) ? 4 : 6,
                              .udp = uso && seeded_below(seeded, 3) == 0,
                              .tcp_options = (int)seeded_below(seeded, 4) * 4,
                              .tcp_flags = (uint16_t)(NC_TCP_ACK | seeded_below(seeded, 0x100)),
                              .seq = (uint32_t)seeded_next(seeded),
                              .ip_id = (uint16_t)seeded_next(seeded),
                              .gso_size = sizes[seeded_below(seeded, 4)]};
    spec.tcp_flags &= (uint16_t)~(NC_TCP_SYN | NC_TCP_RST | NC_TCP_URG);
    spec.ip_extra = spec.ip_version == 4 ? (int)seeded_below(seeded, 4) * 4 : (int)seeded_below(seeded, 3);
    /* at least two parts, because the kernel makes a packet without GSO of a single part */
    spec.payload_len =
        spec.gso_size + 1 + seeded_below(seeded, (uint32_t)(spec.gso_size > 2000 ? 5 : 40) * spec.gso_size);
    if (!spec.udp && spec.tcp_flags & NC_TCP_CWR)
        spec.gso_bits = VIRTIO_NET_HDR_GSO_ECN;
    return spec;
}

static void parts_equal_the_kernels(const struct bench *bench, struct seeded *seeded)
{
    taps_set_offloads(bench->tap, false);
    for (int i = 0; i < 400; i++) {
        struct frame_spec spec = any_spec(seeded, bench->uso);
        compare_with_kernel(bench, &spec);
    }
}

/* With offloads, what the kernel delivers must be the packet that was sent. */
static void kernel_headers_are_read(const struct bench *bench, struct seeded *seeded)
{
    taps_set_offloads(bench->tap, true);
    for (int i = 0; i < 200; i++) {
        struct frame_layout layout;
        struct nc_super out, in;
        struct frame_spec spec = any_spec(seeded, bench->uso);
        spec.vlans = 0; /* TAP's VLAN features lack segmentation */
        if (spec.ip_version == 6)
            spec.ip_extra = 0; /* nor is it offered after extension headers */
        size_t len = frame_build(&spec, sent, &layout);
        CHECK_EQ(nc_super_read(sent, len, &out), NC_SUPER_OK);
        send_whole(bench, len);
        CHECK_EQ(next_frame(bench->tap, NC_VNET_LEN), len);
        CHECK_EQ(nc_super_read(got, len, &in), NC_SUPER_OK);
        CHECK(memcmp(sent + NC_VNET_LEN, got + NC_VNET_LEN, len - NC_VNET_LEN) == 0);
        CHECK_EQ(in.parts, out.parts);
        CHECK_EQ(in.part_len, out.part_len);
        CHECK_EQ(in.vnet.gso_type, out.vnet.gso_type);
        CHECK_EQ(in.vnet.csum_start, out.vnet.csum_start);
    }
}

static void runs_are_accepted(const struct bench *bench, struct seeded *seeded)
{
    for (int i = 0; i < 200; i++) {
        struct frame_layout layout;
        struct nc_super super, back;
        struct nc_run run;
        struct frame_spec spec = any_spec(seeded, bench->uso);
        spec.vlans = 0; /* an incoming tag is taken off the frame, so it would look different */
        size_t len = frame_build(&spec, sent, &layout);
        CHECK_EQ(nc_super_read(sent, len, &super), NC_SUPER_OK);
        uint32_t first = seeded_below(seeded, super.parts), n = 1 + seeded_below(seeded, super.parts - first);
        nc_super_run(&super, sent + NC_VNET_LEN, first, n, &run);
        size_t run_len = frame_join(&run, ours);
        struct iovec parts[2] = {{run.head, run.head_len}, {(void *)run.payload, run.payload_len}};
        CHECK_EQ(writev(bench->tap, parts, 2), run_len);
        CHECK_EQ(next_frame(bench->packet, PACKET_VNET_HDR_BYTES), run_len);
        memset(got, 0, NC_VNET_LEN - PACKET_VNET_HDR_BYTES);
        memmove(got, got + NC_VNET_LEN - PACKET_VNET_HDR_BYTES, PACKET_VNET_HDR_BYTES);
        CHECK_EQ(nc_super_read(got, run_len, &back), NC_SUPER_OK);
        CHECK_EQ(back.parts, n);
        CHECK_EQ(back.vnet.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
        CHECK_EQ(back.vnet.csum_start, super.vnet.csum_start);
        CHECK(memcmp(ours + NC_VNET_LEN, got + NC_VNET_LEN, run_len - NC_VNET_LEN) == 0);
    }
}

int main(void)
{
    struct seeded seeded = seeded_start();
    struct bench bench = set_up();
    parts_equal_the_kernels(&bench, &seeded);
    printf("ok parts_equal_the_kernels%s\n", bench.uso ? "" : " (no UDP segmentation in this kernel)");
    kernel_headers_are_read(&bench, &seeded);
    printf("ok kernel_headers_are_read\n");
    runs_are_accepted(&bench, &seeded);
    printf("ok runs_are_accepted\n");
    return 0;
}
