/* From libpcap's handle to the file: every packet is written in order, or counted. The handle reads a file here,
 * because a network would deliver packets at its own pace. */
#include "capture.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"
#include "nc_clock.h"
#include "file_set.h"
#include "reader.h"

enum { PACKETS = 50000, SNAP = 96 };
#define T0_NS (INT64_C(1700000000) * 1000000000)

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

static void open_point(struct pl_point *point, const char *source, const char *file, const struct pl_rotation *rotation)
{
    struct nc_error error;
    char why[PCAP_ERRBUF_SIZE];
    struct pl_writer_info info = {.interface = "eth0", .linktype = DLT_EN10MB, .snap_bytes = SNAP};
    *point = (struct pl_point){.netns_fd = -1, .poll_fd = eventfd(1, EFD_CLOEXEC)}; /* always readable */
    point->file_end_ns = rotation->interval_ns ? T0_NS + (int64_t)rotation->interval_ns : INT64_MAX;
    point->pcap = pcap_open_offline_with_tstamp_precision(source, PCAP_TSTAMP_PRECISION_NANO, why);
    CHECK(point->pcap && point->poll_fd >= 0);
    CHECK_EQ(pl_output_open(&point->output, file, &info, rotation, T0_NS, &error), 0);
}

/* Checks that the file or set has the packets from `first` on, in order. */
static void read_back(const char *file, uint32_t first, uint32_t packets)
{
    struct nc_error error;
    struct pl_reader reader;
    struct pl_frame frame;
    CHECK_EQ(pl_reader_open_file(&reader, file, &error), 0);
    for (uint32_t i = first, number; i < first + packets; i++) {
        CHECK_EQ(pl_reader_next(&reader, &frame), PL_FRAME);
        memcpy(&number, frame.data + 14, sizeof number);
        CHECK_EQ(number, i);
        CHECK_EQ(frame.t_ns, T0_NS + (int64_t)(i / 1000) * 1000000000 + i % 1000 * 1000);
        CHECK_EQ(frame.wire, 60 + i % 1440);
    }
    CHECK_EQ(pl_reader_next(&reader, &frame), PL_END);
    CHECK(pl_reader_drops(&reader).known && !reader.truncated);
    pl_reader_close(&reader);
}

/* A temporary folder with the source and the captured file. */
struct place {
    char folder[32], source[64], file[64];
};

static struct place make_place(const char *name)
{
    struct place place = {.folder = "/tmp/pl_capture.XXXXXX"};
    CHECK(mkdtemp(place.folder));
    snprintf(place.source, sizeof place.source, "%s/source.pcap", place.folder);
    snprintf(place.file, sizeof place.file, "%s/%s", place.folder, name);
    write_source(place.source);
    return place;
}

/* Removes the folder's files, and returns the number of files of the set. */
static size_t clean(const struct place *place)
{
    struct pl_file_set set;
    CHECK_EQ(pl_file_set_find(&set, place->file), 0);
    size_t n = set.n;
    for (size_t i = 0; i < set.n; i++)
        unlink(set.paths[i]);
    pl_file_set_free(&set);
    unlink(place->source);
    unlink(place->file);
    CHECK_EQ(rmdir(place->folder), 0); /* nothing else is left */
    return n;
}

/* Runs a capture. `limit` 0: no limit; the capture then ends by its duration, long after the source is empty.
 * `ring_bytes` 0: one thread. Returns the number of the last file. */
static uint64_t capture_by(const struct place *place, const struct pl_rotation *rotation, uint64_t limit,
                           uint32_t wanted, uint64_t ring_bytes)
{
    struct nc_error error;
    struct pl_point point;
    open_point(&point, place->source, place->file, rotation);
    struct pl_capture *capture = pl_capture_new(&point, 1, ring_bytes, &error);
    CHECK(capture);
    CHECK_EQ(pl_capture_run(capture, &(struct pl_capture_limits){.duration_ns = 300 * NC_NS_PER_MS, .packets = limit}),
             0);
    CHECK_EQ(point.ring_drops, 0);
    CHECK_EQ(pl_output_finish(&point.output, T0_NS, &(struct pl_drop_counts){0}), 0);
    CHECK_EQ(point.output.packets, wanted);
    uint64_t number = point.output.number;
    pl_capture_free(capture);
    pl_output_abort(&point.output);
    pcap_close(point.pcap);
    close(point.poll_fd);
    return number;
}

static uint64_t capture(const struct place *place, const struct pl_rotation *rotation, uint64_t limit, uint32_t wanted)
{
    return capture_by(place, rotation, limit, wanted, 64 << 20);
}

static void one_file(const char *name, uint64_t limit, uint32_t wanted)
{
    struct place place = make_place(name);
    CHECK_EQ(capture(&place, &(struct pl_rotation){0}, limit, wanted), 0);
    read_back(place.file, 0, wanted);
    CHECK_EQ(clean(&place), 0);
}

static void every_packet_is_in_the_file_in_order(void)
{
    one_file("a.pcapng", 0, PACKETS);
}

static void one_thread_writes_the_same(void)
{
    struct place place = make_place("a.pcapng");
    CHECK_EQ(capture_by(&place, &(struct pl_rotation){0}, 0, PACKETS, 0), 0);
    read_back(place.file, 0, PACKETS);
    CHECK_EQ(clean(&place), 0);
    place = make_place("a.pcapng");
    CHECK_EQ(capture_by(&place, &(struct pl_rotation){.bytes = 1 << 20}, 0, PACKETS, 0), 6);
    read_back(place.file, 0, PACKETS);
    CHECK_EQ(clean(&place), 6);
}

static void a_compressed_file_holds_the_same(void)
{
    one_file("a.pcapng.zst", 0, PACKETS);
}

static void a_limit_takes_the_first_packets(void)
{
    one_file("a.pcapng", 12345, 12345);
}

/* A block has 60 to 96 bytes of a packet and 32 bytes of its own: 110.5 bytes on average. So 1 MB holds about 9,489
 * blocks. */
static void files_of_a_size_hold_every_packet_once(void)
{
    const char *names[] = {"a.pcapng", "a.pcapng.zst"};
    for (size_t i = 0; i < 2; i++) {
        struct place place = make_place(names[i]);
        CHECK_EQ(capture(&place, &(struct pl_rotation){.bytes = 1 << 20}, 0, PACKETS), 6);
        read_back(place.file, 0, PACKETS);
        CHECK_EQ(clean(&place), 6);
    }
}

/* At 1,000 packets a second a file of 5 s has 5,000 packets, so the newest three have the last 15,000. */
static void a_ring_of_files_keeps_the_newest(void)
{
    struct place place = make_place("a.pcapng");
    struct pl_rotation rotation = {.interval_ns = 5 * NC_NS_PER_S, .files = 3};
    CHECK_EQ(capture(&place, &rotation, 0, PACKETS), 10);
    read_back(place.file, PACKETS - 15000, 15000);
    CHECK_EQ(clean(&place), 3);
}

/* The share of a file's pages that are in the page cache. */
static double share_in_memory(const char *path)
{
    static unsigned char pages[1 << 16];
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    size_t n = ((size_t)status.st_size + 4095) / 4096, there = 0;
    CHECK(n <= sizeof pages);
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED && mincore(at, (size_t)status.st_size, pages) == 0);
    for (size_t i = 0; i < n; i++)
        there += pages[i] & 1;
    munmap(at, (size_t)status.st_size);
    close(fd);
    return (double)there / (double)n;
}

static double share_of_written(const char *folder, bool uncached)
{
    char file[64];
    static const uint8_t data[SNAP];
    struct pl_writer writer;
    const struct pl_writer_info info = {.interface = "eth0", .linktype = 1, .snap_bytes = SNAP, .uncached = uncached};
    snprintf(file, sizeof file, "%s/a.pcapng", folder);
    CHECK_EQ(pl_writer_open(&writer, file, &info), 0);
    for (int i = 0; i < PACKETS; i++)
        pl_writer_packet(&writer, T0_NS + i, data, SNAP, SNAP);
    CHECK_EQ(pl_writer_finish(&writer, &(struct pl_writer_statistics){.accepted = PACKETS}), 0);
    double share = share_in_memory(file);
    unlink(file);
    return share;
}

static void what_is_written_uncached_does_not_stay_in_memory(void)
{
    char folder[] = "/var/tmp/pl_capture.XXXXXX";
    struct statfs system;
    CHECK(mkdtemp(folder) && statfs(folder, &system) == 0);
    if (system.f_type == TMPFS_MAGIC)
        printf("skipped: /var/tmp is in memory\n");
    else {
        CHECK(share_of_written(folder, false) > 0.9);
        CHECK(share_of_written(folder, true) < 0.1);
    }
    CHECK_EQ(rmdir(folder), 0);
}

static void a_set_that_exists_is_left_alone(void)
{
    struct place place = make_place("a.pcapng");
    struct pl_rotation rotation = {.interval_ns = 20 * NC_NS_PER_S};
    struct pl_writer_info info = {.interface = "eth0", .linktype = DLT_EN10MB, .snap_bytes = SNAP};
    struct pl_output output;
    struct nc_error error;
    capture(&place, &rotation, 0, PACKETS);
    CHECK_EQ(pl_output_open(&output, place.file, &info, &rotation, T0_NS, &error), -1);
    CHECK(strstr(error.text, "a_00001_"));
    pl_output_abort(&output);
    CHECK_EQ(clean(&place), 3);
}

int main(void)
{
    RUN(every_packet_is_in_the_file_in_order);
    RUN(one_thread_writes_the_same);
    RUN(a_compressed_file_holds_the_same);
    RUN(a_limit_takes_the_first_packets);
    RUN(files_of_a_size_hold_every_packet_once);
    RUN(a_ring_of_files_keeps_the_newest);
    RUN(what_is_written_uncached_does_not_stay_in_memory);
    RUN(a_set_that_exists_is_left_alone);
    return 0;
}
