/* Super-packets are divided into runs. Every run is compared with plain arithmetic on the specification of the frame.
 * test_nc_vnet_kernel.c compares runs with the kernel's own segmentation. */
#include <linux/virtio_net.h>

#include "check.h"
#include "frames.h"
#include "seeded.h"

static uint8_t buf[FRAME_MAX], again[FRAME_MAX];

static uint32_t be(const uint8_t *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static struct frame_spec tcp4(void)
{
    return (struct frame_spec){.ip_version = 4,
                               .tcp_options = 12,
                               .tcp_flags = NC_TCP_ACK,
                               .seq = 1000,
                               .ip_id = 7,
                               .gso_size = 1448,
                               .payload_len = 10000};
}

static struct nc_super read_ok(const struct frame_spec *spec, struct frame_layout *layout)
{
    struct nc_super super;
    size_t len = frame_build(spec, buf, layout);
    CHECK_EQ(nc_super_read(buf, len, &super), NC_SUPER_OK);
    return super;
}

/* The virtio-net header of a run of n packets. */
static void check_vnet(const struct frame_spec *spec, const struct frame_layout *layout, const struct nc_super *super,
                       const struct nc_vnet *vnet, uint32_t first, uint32_t n)
{
    CHECK_EQ(vnet->flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    CHECK_EQ(vnet->csum_start, layout->l4);
    CHECK_EQ(vnet->hdr_len, layout->payload);
    if (n == 1 && super->parts > 1) {
        CHECK_EQ(vnet->gso_type, VIRTIO_NET_HDR_GSO_NONE);
        CHECK_EQ(vnet->gso_size, 0);
    } else {
        CHECK_EQ(vnet->gso_type & ~VIRTIO_NET_HDR_GSO_ECN, super->vnet.gso_type & ~VIRTIO_NET_HDR_GSO_ECN);
        CHECK_EQ(vnet->gso_size, spec->gso_size);
        CHECK_EQ(vnet->gso_type & VIRTIO_NET_HDR_GSO_ECN, first == 0 ? spec->gso_bits & VIRTIO_NET_HDR_GSO_ECN : 0);
    }
}

/* Checks one run of `super` (which was built from `spec`) field by field and leaves it joined in `again`. */
static size_t check_run(const struct frame_spec *spec, const struct frame_layout *layout, const struct nc_super *super,
                        uint32_t first, uint32_t n)
{
    struct nc_run run;
    nc_super_run(super, buf + NC_VNET_LEN, first, n, &run);
    size_t len = frame_join(&run, again);
    const uint8_t *frame = again + NC_VNET_LEN, *ip = frame + layout->l3, *l4 = frame + layout->l4;
    uint32_t begin = first * spec->gso_size, end = (first + n) * spec->gso_size;
    bool last = first + n == super->parts;
    if (last)
        end = spec->payload_len;
    struct nc_vnet vnet;
    struct virtio_net_hdr wire;
    memcpy(&wire, again, sizeof wire);
    vnet = (struct nc_vnet){wire.flags, wire.gso_type, wire.hdr_len, wire.gso_size, wire.csum_start, wire.csum_offset};

    CHECK_EQ(len, NC_VNET_LEN + layout->payload + end - begin);
    CHECK(memcmp(frame + layout->payload, buf + NC_VNET_LEN + layout->payload + begin, end - begin) == 0);
    CHECK(memcmp(frame, buf + NC_VNET_LEN, layout->l3) == 0);
    check_vnet(spec, layout, super, &vnet, first, n);
    if (spec->ip_version == 4) {
        CHECK_EQ(be(ip + 2, 2), layout->payload - layout->l3 + end - begin);
        CHECK_EQ(be(ip + 4, 2), (uint16_t)(spec->ip_id + first));
    } else {
        CHECK_EQ(be(ip + 4, 2), layout->payload - layout->l3 - 40 + end - begin);
    }
    if (!spec->udp) {
        uint16_t flags = spec->tcp_flags;
        if (!last)
            flags &= (uint16_t)~(NC_TCP_FIN | NC_TCP_PSH);
        if (first && !(spec->gso_bits & NC_VNET_GSO_ACCECN))
            flags &= (uint16_t)~NC_TCP_CWR;
        CHECK_EQ(be(l4 + 4, 4), spec->seq + begin);
        CHECK_EQ(be(l4 + 12, 2) & 0x1ff, flags);
    }
    /* over the run as it is now, the checksum with the pseudo-header sum must be correct */
    static uint8_t finished[FRAME_MAX];
    memcpy(finished, frame, len - NC_VNET_LEN);
    frame_finish_checksum(finished, len - NC_VNET_LEN, vnet.csum_start, vnet.csum_offset);
    CHECK(frame_checksums_right(finished, spec, layout));
    return len;
}

static void whole_packet_is_left_alone(void)
{
    struct frame_layout layout;
    struct frame_spec spec = tcp4();
    struct nc_super super = read_ok(&spec, &layout);
    struct nc_run run;
    CHECK_EQ(super.parts, 7);
    CHECK_EQ(super.header_len, 66);
    CHECK_EQ(super.payload_len, 10000);
    nc_super_run(&super, buf + NC_VNET_LEN, 0, 7, &run);
    CHECK_EQ(frame_join(&run, again), NC_VNET_LEN + super.frame_len);
    CHECK(memcmp(again, buf, NC_VNET_LEN + super.frame_len) == 0);
    CHECK(run.payload == buf + NC_VNET_LEN);
}

static void lengths_of_parts(void)
{
    struct frame_layout layout;
    struct frame_spec spec = tcp4();
    struct nc_super super = read_ok(&spec, &layout);
    CHECK_EQ(nc_super_wire_len(&super, 0), 1514);
    CHECK_EQ(nc_super_ip_len(&super, 5), 1500);
    CHECK_EQ(nc_super_wire_len(&super, 6), 66 + 10000 - 6 * 1448);
    CHECK_EQ(nc_super_ip_len(&super, 6), 52 + 10000 - 6 * 1448);
    spec.payload_len = 2 * 1448; /* the last part is full */
    spec.vlans = 2;
    super = read_ok(&spec, &layout);
    CHECK_EQ(super.parts, 2);
    CHECK_EQ(nc_super_wire_len(&super, 1), 1522);
    CHECK_EQ(nc_super_ip_len(&super, 1), 1500);
}

static void gso_of_one_part(void)
{
    struct frame_layout layout;
    struct frame_spec spec = tcp4();
    for (spec.payload_len = 0; spec.payload_len <= 1448; spec.payload_len += 724) {
        struct nc_super super = read_ok(&spec, &layout);
        CHECK_EQ(super.parts, 1);
        CHECK_EQ(nc_super_wire_len(&super, 0), 66 + spec.payload_len);
        check_run(&spec, &layout, &super, 0, 1);
    }
}

static void sequence_and_id_wrap(void)
{
    struct frame_layout layout;
    struct frame_spec spec = tcp4();
    spec.seq = 0xfffffe00;
    spec.ip_id = 0xfffe;
    struct nc_super super = read_ok(&spec, &layout);
    check_run(&spec, &layout, &super, 3, 1);
    CHECK_EQ(be(again + NC_VNET_LEN + layout.l3 + 4, 2), 1);
    CHECK_EQ(be(again + NC_VNET_LEN + layout.l4 + 4, 4), 3 * 1448 - 0x200);
}

static void flags_of_first_and_last(void)
{
    struct frame_layout layout;
    struct frame_spec spec = tcp4();
    spec.tcp_flags = NC_TCP_ACK | NC_TCP_PSH | NC_TCP_FIN | NC_TCP_CWR | NC_TCP_ECE;
    spec.gso_bits = VIRTIO_NET_HDR_GSO_ECN;
    struct nc_super super = read_ok(&spec, &layout);
    const uint8_t *flags = again + NC_VNET_LEN + layout.l4 + 13;
    check_run(&spec, &layout, &super, 0, 1);
    CHECK_EQ(*flags, NC_TCP_ACK | NC_TCP_CWR | NC_TCP_ECE);
    check_run(&spec, &layout, &super, 1, 3);
    CHECK_EQ(*flags, NC_TCP_ACK | NC_TCP_ECE);
    check_run(&spec, &layout, &super, 4, 3);
    CHECK_EQ(*flags, NC_TCP_ACK | NC_TCP_ECE | NC_TCP_PSH | NC_TCP_FIN);
    spec.gso_bits = NC_VNET_GSO_ACCECN;
    super = read_ok(&spec, &layout);
    check_run(&spec, &layout, &super, 1, 1);
    CHECK_EQ(*flags, NC_TCP_ACK | NC_TCP_ECE | NC_TCP_CWR);
}

static struct frame_spec any_spec(struct seeded *seeded)
{
    static const uint16_t sizes[] = {1, 3, 64, 500, 1448, 8948, 32000};
    struct frame_spec spec = {.vlans = (int)seeded_below(seeded, NC_VLAN_MAX + 1),
                              .ip_version = seeded_below(seeded, 2) ? 4 : 6,
                              .udp = seeded_below(seeded, 4) == 0,
                              .tcp_options = (int)seeded_below(seeded, 11) * 4,
                              .tcp_flags = (uint16_t)seeded_below(seeded, 0x200),
                              .seq = (uint32_t)seeded_next(seeded),
                              .ip_id = (uint16_t)seeded_next(seeded),
                              .gso_size = sizes[seeded_below(seeded, sizeof sizes / sizeof sizes[0])]};
    spec.ip_extra = spec.ip_version == 4 ? (int)seeded_below(seeded, 11) * 4 : (int)seeded_below(seeded, 4);
    uint32_t most = (uint32_t)spec.gso_size * 50;
    spec.payload_len = seeded_below(seeded, most < 65000 ? most : 65000);
    if (!spec.udp && spec.tcp_flags & NC_TCP_CWR)
        spec.gso_bits = seeded_below(seeded, 2) ? VIRTIO_NET_HDR_GSO_ECN : NC_VNET_GSO_ACCECN;
    return spec;
}

/* A run is a super-packet, too: part j of the run that begins at `first` is part first + j of the whole. */
static void check_run_of_run(struct nc_super *super, uint32_t first, uint32_t n, size_t len)
{
    static uint8_t outer[FRAME_MAX], direct[FRAME_MAX], nested[FRAME_MAX];
    struct nc_super inner;
    struct nc_run run;
    memcpy(outer, again, len);
    CHECK_EQ(nc_super_read(outer, len, &inner), NC_SUPER_OK);
    CHECK_EQ(inner.parts, n);
    uint32_t j = n / 2;
    nc_super_run(super, buf + NC_VNET_LEN, first + j, 1, &run);
    size_t direct_len = frame_join(&run, direct);
    nc_super_run(&inner, outer + NC_VNET_LEN, j, 1, &run);
    CHECK_EQ(frame_join(&run, nested), direct_len);
    frame_finish_checksum(direct + NC_VNET_LEN, direct_len - NC_VNET_LEN, super->vnet.csum_start,
                          super->vnet.csum_offset);
    frame_finish_checksum(nested + NC_VNET_LEN, direct_len - NC_VNET_LEN, super->vnet.csum_start,
                          super->vnet.csum_offset);
    CHECK(memcmp(direct, nested, direct_len) == 0);
}

static void any_partition_of_any_packet(void)
{
    struct seeded seeded = seeded_start();
    for (int i = 0; i < 3000; i++) {
        struct frame_layout layout;
        struct frame_spec spec = any_spec(&seeded);
        struct nc_super super = read_ok(&spec, &layout);
        CHECK_EQ(super.parts, spec.payload_len ? (spec.payload_len + spec.gso_size - 1) / spec.gso_size : 1);
        for (uint32_t first = 0, n; first < super.parts; first += n) {
            n = 1 + seeded_below(&seeded, super.parts - first);
            size_t len = check_run(&spec, &layout, &super, first, n);
            if (n > 1)
                check_run_of_run(&super, first, n, len);
        }
    }
}

static void largest_frames(void)
{
    struct frame_layout layout;
    struct frame_spec spec = tcp4();
    spec.vlans = 2;
    spec.payload_len = 65535 - 52;
    struct nc_super super = read_ok(&spec, &layout);
    check_run(&spec, &layout, &super, 1, super.parts - 1);
    spec.ip_version = 6;
    spec.payload_len = 65535 - 32;
    super = read_ok(&spec, &layout);
    check_run(&spec, &layout, &super, 1, super.parts - 1);
}

/* Sets a 16-bit field of the vnet header. */
static enum nc_super_status read_with(const struct frame_spec *spec, size_t at, uint16_t value)
{
    struct frame_layout layout;
    struct nc_super super;
    size_t len = frame_build(spec, buf, &layout);
    memcpy(buf + at, &value, sizeof value);
    return nc_super_read(buf, len, &super);
}

static void contradictions_are_bad(void)
{
    struct frame_spec tcp = tcp4(), udp = tcp4(), v6 = tcp4(), none = tcp4();
    udp.udp = true;
    v6.ip_version = 6;
    none.gso_size = 0;
    enum { FLAGS_TYPE = 0, HDR_LEN = 2, GSO_SIZE = 4, CSUM_START = 6, CSUM_OFFSET = 8 };
    CHECK_EQ(read_with(&tcp, HDR_LEN, 0), NC_SUPER_OK); /* not trusted, so not read */
    CHECK_EQ(read_with(&tcp, HDR_LEN, 0xffff), NC_SUPER_OK);
    CHECK_EQ(read_with(&tcp, GSO_SIZE, 0), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, CSUM_START, 33), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, CSUM_START, 0xfff0), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, CSUM_OFFSET, 6), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&udp, CSUM_OFFSET, 16), NC_SUPER_BAD_GSO);
    const uint16_t flag = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    CHECK_EQ(read_with(&tcp, FLAGS_TYPE, VIRTIO_NET_HDR_GSO_TCPV4 << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, FLAGS_TYPE, flag | VIRTIO_NET_HDR_GSO_TCPV6 << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&v6, FLAGS_TYPE, flag | VIRTIO_NET_HDR_GSO_TCPV4 << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, FLAGS_TYPE, flag | NC_VNET_GSO_UDP_L4 << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&udp, FLAGS_TYPE, flag | VIRTIO_NET_HDR_GSO_TCPV4 << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&udp, FLAGS_TYPE, flag | VIRTIO_NET_HDR_GSO_UDP << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, FLAGS_TYPE, flag | VIRTIO_NET_HDR_GSO_ECN << 8), NC_SUPER_BAD_GSO);
    CHECK_EQ(read_with(&tcp, FLAGS_TYPE, flag | 0x21 << 8), NC_SUPER_BAD_GSO); /* a tunnel type */
    CHECK_EQ(read_with(&none, FLAGS_TYPE, flag), NC_SUPER_OK);
}

static void broken_frames_with_gso_are_bad(void)
{
    struct frame_layout layout;
    struct nc_super super;
    struct frame_spec spec = tcp4();
    size_t len = frame_build(&spec, buf, &layout);
    CHECK_EQ(nc_super_read(buf, len - 1, &super), NC_SUPER_BAD_GSO); /* shorter than IP says */
    buf[len] = 0;
    CHECK_EQ(nc_super_read(buf, len + 1, &super), NC_SUPER_BAD_GSO); /* padded */
    CHECK_EQ(nc_super_read(buf, NC_VNET_LEN + 50, &super), NC_SUPER_BAD_GSO);
    buf[NC_VNET_LEN + layout.l3 + 6] |= 0x20; /* a fragment */
    CHECK_EQ(nc_super_read(buf, len, &super), NC_SUPER_BAD_GSO);
    frame_build(&spec, buf, &layout);
    buf[NC_VNET_LEN + layout.l4 + 12] = 0x40; /* data offset 4 words */
    CHECK_EQ(nc_super_read(buf, len, &super), NC_SUPER_BAD_GSO);
    spec.vlans = NC_VLAN_MAX + 1; /* one deeper than decoded */
    len = frame_build(&spec, buf, &layout);
    CHECK_EQ(nc_super_read(buf, len, &super), NC_SUPER_BAD_GSO);
    spec.vlans = 0;
    spec.ip_version = 6;
    spec.ip_extra = 30; /* more headers than a run has room for */
    len = frame_build(&spec, buf, &layout);
    CHECK_EQ(nc_super_read(buf, len, &super), NC_SUPER_BAD_GSO);
}

static void anything_without_gso_passes(void)
{
    static const uint16_t types[] = {0x0806, 0x88cc, 0x0800, 0x86dd, 0x8100, 0x002a};
    struct nc_super super;
    struct nc_run run;
    memset(buf, 0xff, sizeof buf);
    memset(buf, 0, NC_VNET_LEN);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        buf[NC_VNET_LEN + 12] = (uint8_t)(types[t] >> 8);
        buf[NC_VNET_LEN + 13] = (uint8_t)types[t];
        for (size_t frame_len = 14; frame_len < 9100; frame_len += 63) {
            CHECK_EQ(nc_super_read(buf, NC_VNET_LEN + frame_len, &super), NC_SUPER_OK);
            CHECK_EQ(super.parts, 1);
            CHECK_EQ(super.header_len, frame_len);
            CHECK_EQ(nc_super_wire_len(&super, 0), frame_len);
            nc_super_run(&super, buf + NC_VNET_LEN, 0, 1, &run);
            CHECK_EQ(frame_join(&run, again), NC_VNET_LEN + frame_len);
            CHECK(memcmp(buf, again, NC_VNET_LEN + frame_len) == 0);
        }
        CHECK_EQ(nc_super_ip_len(&super, 0), super.frame_len - (types[t] == 0x8100 ? 18 : 14));
    }
    for (size_t len = 0; len < NC_VNET_LEN + 14; len++)
        CHECK_EQ(nc_super_read(buf, len, &super), NC_SUPER_SHORT);
}

int main(void)
{
    RUN(whole_packet_is_left_alone);
    RUN(lengths_of_parts);
    RUN(gso_of_one_part);
    RUN(sequence_and_id_wrap);
    RUN(flags_of_first_and_last);
    RUN(largest_frames);
    RUN(contradictions_are_bad);
    RUN(broken_frames_with_gso_are_bad);
    RUN(anything_without_gso_passes);
    RUN(any_partition_of_any_packet);
    return 0;
}
