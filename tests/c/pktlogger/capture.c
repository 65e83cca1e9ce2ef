/* From libpcap's handle to the file: every packet in order, or counted. The handle reads a file here, where a
 * network would give packets at its own pace. */
#include "capture.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "nc_clock.h"
#include "mapping.h"
#include "reader.h"

enum { PACKETS = 50000, SNAP = 96 };

/* A capture of numbered packets. */
static void write_source(const char *path)
{
    pcap_t *dead = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, SNAP, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *dumper = pcap_dump_open(dead, path);
    CHECK(dumper);
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint8_t data[SNAP] = {0};
        struct pcap_pkthdr header = {
            .ts = {1700000000 + i / 1000, i % 1000 * 1000}, .caplen = 60 + i % 37, .len = 60 + i % 1440};
        header.caplen = header.caplen < header.len ? header.caplen : header.len;
        memcpy(data + 14, &i, sizeof i);
        pcap_dump((u_char *)dumper, &header, data);
    }
    pcap_dump_close(dumper);
    pcap_close(dead);
}

static void open_point(struct pl_point *point, const char *source, const char *file)
{
    char why[PCAP_ERRBUF_SIZE];
    struct pl_writer_info info = {.interface = "eth0", .linktype = DLT_EN10MB, .snap_bytes = SNAP};
    *point = (struct pl_point){.netns_fd = -1, .poll_fd = eventfd(1, EFD_CLOEXEC)}; /* always readable */
    point->pcap = pcap_open_offline_with_tstamp_precision(source, PCAP_TSTAMP_PRECISION_NANO, why);
    CHECK(point->pcap && point->poll_fd >= 0);
    CHECK_EQ(pl_writer_open(&point->writer, file, &info), 0);
}

static void read_back(const char *file, uint32_t packets)
{
    struct nc_error error;
    struct pl_mapping mapping;
    struct pl_reader reader;
    struct pl_frame frame;
    CHECK_EQ(pl_map(file, &mapping, &error), 0);
    CHECK_EQ(pl_reader_open(&reader, mapping.data, mapping.len), 0);
    for (uint32_t i = 0, number; i < packets; i++) {
        CHECK_EQ(pl_reader_next(&reader, &frame), PL_FRAME);
        memcpy(&number, frame.data + 14, sizeof number);
        CHECK_EQ(number, i);
        CHECK_EQ(frame.t_ns, (INT64_C(1700000000) + i / 1000) * 1000000000 + i % 1000 * 1000);
        CHECK_EQ(frame.wire, 60 + i % 1440);
    }
    CHECK_EQ(pl_reader_next(&reader, &frame), PL_END);
    pl_reader_close(&reader);
    pl_unmap(&mapping);
}

/* `limit` 0: no limit; the capture ends by its duration, long after the source is empty. */
static void capture(uint64_t limit, uint32_t wanted)
{
    char folder[] = "/tmp/pl_capture.XXXXXX", source[64], file[64];
    struct nc_error error;
    struct pl_point point;
    CHECK(mkdtemp(folder));
    snprintf(source, sizeof source, "%s/source.pcap", folder);
    snprintf(file, sizeof file, "%s/a.pcapng", folder);
    write_source(source);
    open_point(&point, source, file);
    struct pl_capture *capture = pl_capture_new(&point, 1, 64 << 20, &error);
    CHECK(capture);
    CHECK_EQ(pl_capture_run(capture, &(struct pl_capture_limits){.duration_ns = 300 * NC_NS_PER_MS, .packets = limit}),
             0);
    CHECK_EQ(point.ring_drops, 0);
    CHECK_EQ(point.writer.packets, wanted);
    CHECK_EQ(pl_writer_finish(&point.writer, &(struct pl_writer_statistics){.accepted = wanted}), 0);
    read_back(file, wanted);
    pl_capture_free(capture);
    pcap_close(point.pcap);
    close(point.poll_fd);
    unlink(source);
    unlink(file);
    CHECK_EQ(rmdir(folder), 0);
}

static void every_packet_is_in_the_file_in_order(void)
{
    capture(0, PACKETS);
}

static void a_limit_takes_the_first_packets(void)
{
    capture(12345, 12345);
}

int main(void)
{
    RUN(every_packet_is_in_the_file_in_order);
    RUN(a_limit_takes_the_first_packets);
    return 0;
}
