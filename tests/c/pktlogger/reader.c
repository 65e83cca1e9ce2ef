/* Units of time; and a file that the writer wrote is read with the same contents.
 * tests/py/pktlogger/test_pktlogger_index.py tests byte orders and unusual blocks. */
#include "reader.h"

#include <errno.h>
#include <stdint.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "seeded.h"
#include "mapping.h"
#include "writer.h"

static void ticks_become_nanoseconds_in_every_unit(void)
{
    CHECK_EQ(pl_ticks_to_ns(5, 9, 0), 5);
    CHECK_EQ(pl_ticks_to_ns(5, 6, 0), 5000);
    CHECK_EQ(pl_ticks_to_ns(5, 0, 0), 5000000000);
    CHECK_EQ(pl_ticks_to_ns(5999, 12, 0), 5);
    CHECK_EQ(pl_ticks_to_ns(UINT64_MAX, 127, 0), 0);
    CHECK_EQ(pl_ticks_to_ns(3, 0x80 | 1, 0), 1500000000);
    CHECK_EQ(pl_ticks_to_ns(UINT64_C(1) << 40, 0x80 | 40, 0), 1000000000);
    CHECK_EQ(pl_ticks_to_ns(UINT64_MAX, 0x80 | 127, 0), 0);
    CHECK_EQ(pl_ticks_to_ns(1, 9, 7), 7000000001);
    CHECK_EQ(pl_ticks_to_ns(8000000001, 9, -8), 1);
}

static void times_outside_the_range_are_refused(void)
{
    CHECK_EQ(pl_ticks_to_ns(UINT64_MAX, 0, 0), -1);
    CHECK_EQ(pl_ticks_to_ns(UINT64_MAX, 9, 0), -1);
    CHECK_EQ(pl_ticks_to_ns(1, 9, -1), -1);
    CHECK_EQ(pl_ticks_to_ns(0, 9, INT64_MIN), -1);
    CHECK_EQ(pl_ticks_to_ns(0, 9, INT64_MAX), -1);
    CHECK_EQ(pl_ticks_to_ns((UINT64_C(1) << 62) - 1, 9, 0), (INT64_C(1) << 62) - 1);
}

static void write_file(const char *path)
{
    struct pl_writer writer;
    struct pl_writer_info info = {
        .interface = "eth0", .description = "d", .filter = "tcp", .comment = "c", .linktype = 1, .snap_bytes = 128};
    CHECK_EQ(pl_writer_open(&writer, path, &info), 0);
    uint8_t data[128];
    for (unsigned i = 0; i < 50000; i++) { /* more than one buffer of 1 MiB */
        memset(data, (int)(i & 0xff), sizeof data);
        pl_writer_packet(&writer, INT64_C(1700000000000000000) + i, data, i % 129, 1000 + i);
    }
    CHECK(access(path, F_OK) != 0); /* not before it is whole */
    struct pl_writer_statistics statistics = {.accepted = 50010, .dropped_kernel = 7, .dropped_interface = 2};
    CHECK_EQ(pl_writer_finish(&writer, &statistics), 0);
    CHECK_EQ(writer.packets, 50000);
}

static void what_is_written_reads_back(void)
{
    char folder[] = "/tmp/pl_reader.XXXXXX", path[64];
    struct nc_error error;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.pcapng", folder);
    write_file(path);
    struct pl_mapping mapping;
    CHECK_EQ(pl_map(path, &mapping, &error), 0);
    struct pl_reader reader;
    struct pl_frame frame;
    CHECK_EQ(pl_reader_open(&reader, mapping.data, mapping.len), 0);
    for (unsigned i = 0; i < 50000; i++) {
        CHECK_EQ(pl_reader_next(&reader, &frame), PL_FRAME);
        CHECK_EQ(frame.number, i + 1);
        CHECK_EQ(frame.t_ns, INT64_C(1700000000000000000) + i);
        CHECK_EQ(frame.captured, i % 129);
        CHECK_EQ(frame.wire, 1000 + i);
        CHECK(frame.captured == 0 || frame.data[frame.captured - 1] == (i & 0xff));
    }
    CHECK_EQ(pl_reader_next(&reader, &frame), PL_END);
    CHECK(!reader.truncated);
    struct pl_drops drops = pl_reader_drops(&reader);
    CHECK(drops.known);
    CHECK_EQ(drops.kernel, 7);
    CHECK_EQ(drops.interface, 2);
    CHECK_EQ(drops.process, 3);
    pl_reader_close(&reader);
    pl_unmap(&mapping);
    unlink(path);
    CHECK_EQ(rmdir(folder), 0); /* nothing else was left behind */
}

static void a_write_that_fails_leaves_nothing(void)
{
    struct pl_writer writer;
    struct pl_writer_info info = {.interface = "eth0", .linktype = 1};
    CHECK_EQ(pl_writer_open(&writer, "/tmp/pl-no-such-folder/a.pcapng", &info), -1);
    CHECK_EQ(errno, ENOENT);
}

/* Writes 50,000 packets that do not compress, on a disk with room for `limit` bytes. A file-size limit acts like a full
 * disk: the first bytes of a write are written, and the rest is not. The file that is left has each packet that was not
 * refused. */
static uint64_t written_on_a_full_disk(const char *path, uint64_t limit)
{
    struct pl_writer writer;
    struct pl_writer_info info = {.interface = "eth0", .linktype = 1, .snap_bytes = 128, .keep = true};
    struct rlimit before;
    struct seeded random = {1};
    uint64_t data[16];
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    CHECK_EQ(pl_writer_open(&writer, path, &info), 0);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, before.rlim_max}), 0);
    for (unsigned i = 0; i < 50000; i++) {
        for (size_t word = 0; word < sizeof data / sizeof *data; word++)
            data[word] = seeded_next(&random);
        pl_writer_packet(&writer, INT64_C(1700000000000000000) + i, (uint8_t *)data, 100, 1000);
    }
    pl_writer_settle(&writer);
    CHECK_EQ(writer.packets + writer.refused, 50000);
    CHECK_EQ(pl_writer_finish(&writer, &(struct pl_writer_statistics){.accepted = 50000}), -1);
    CHECK_EQ(errno, EFBIG);
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK(writer.kept);
    struct pl_reader reader;
    struct pl_frame frame;
    struct nc_error error;
    CHECK_EQ(pl_reader_open_file(&reader, path, &error), 0);
    while (pl_reader_next(&reader, &frame) == PL_FRAME)
        CHECK_EQ(frame.wire, 1000);
    CHECK_EQ(reader.frames, writer.packets);
    CHECK(!reader.truncated);
    CHECK_EQ(pl_reader_drops(&reader).process, writer.refused);
    pl_reader_close(&reader);
    return writer.packets;
}

static void after_a_failed_write_the_file_holds_what_came_before(void)
{
    char folder[] = "/tmp/pl_reader.XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.pcapng", folder);
    uint64_t packets = written_on_a_full_disk(path, 1500001);
    CHECK(packets > 1498000 / 132 && packets < 1500001 / 132);
    unlink(path);
    snprintf(path, sizeof path, "%s/a.pcapng.zst", folder);
    CHECK(written_on_a_full_disk(path, 3000001) > 10000); /* a compressed buffer is lost as a whole */
    unlink(path);
    CHECK_EQ(rmdir(folder), 0);
}

static void put_words(uint8_t **at, const uint32_t *words, size_t n)
{
    memcpy(*at, words, n * sizeof *words);
    *at += n * sizeof *words;
}

static void put_section(uint8_t **at)
{
    put_words(at, (const uint32_t[]){0x0a0d0d0a, 28, 0x1a2b3c4d, 1, UINT32_MAX, UINT32_MAX, 28}, 7);
}

static void put_interface(uint8_t **at)
{
    put_words(at, (const uint32_t[]){1, 20, 1, 0, 20}, 5);
}

/* An Interface Statistics Block of interface 0 whose kernel dropped `dropped` packets. */
static void put_statistics(uint8_t **at, uint32_t dropped)
{
    put_words(at, (const uint32_t[]){5, 36, 0, 0, 0, 8 << 16 | 7, dropped, 0, 36}, 9);
}

/* A section uses memory only while it is read, and this memory is bounded. Without that, 33 KB of a compressed file
 * took 1.27 GB. */
static void interfaces_are_bounded_and_forgotten_with_their_section(void)
{
    enum { SECTIONS = 40, BYTES = SECTIONS * (28 + PL_SECTION_INTERFACES_MAX * 20 + 36) + 20 };
    uint8_t *data = malloc(BYTES), *at = data;
    struct pl_reader reader;
    struct pl_frame frame;
    CHECK(data);
    for (unsigned section = 0; section < SECTIONS; section++) {
        put_section(&at);
        for (unsigned i = 0; i < PL_SECTION_INTERFACES_MAX; i++)
            put_interface(&at);
        put_statistics(&at, 3);
    }
    CHECK_EQ(pl_reader_open(&reader, data, (size_t)(at - data)), 0);
    CHECK_EQ(pl_reader_next(&reader, &frame), PL_END);
    CHECK(reader.interface_room <= PL_SECTION_INTERFACES_MAX);
    CHECK_EQ(pl_reader_drops(&reader).kernel, 3 * SECTIONS);
    CHECK(!pl_reader_drops(&reader).known); /* one interface of each section has statistics */
    pl_reader_close(&reader);
    put_interface(&at);
    CHECK_EQ(pl_reader_open(&reader, data, (size_t)(at - data)), 0);
    CHECK_EQ(pl_reader_next(&reader, &frame), PL_CORRUPT);
    CHECK(strstr(reader.why, "4,096 interfaces"));
    pl_reader_close(&reader);
    free(data);
}

static void what_was_dropped_is_summed_over_sections(void)
{
    uint8_t data[3 * (28 + 20 + 36)], *at = data;
    struct pl_reader reader;
    struct pl_frame frame;
    for (unsigned section = 1; section <= 3; section++) {
        put_section(&at);
        put_interface(&at);
        put_statistics(&at, section);
    }
    CHECK_EQ(pl_reader_open(&reader, data, sizeof data), 0);
    CHECK_EQ(pl_reader_next(&reader, &frame), PL_END);
    CHECK(pl_reader_drops(&reader).known);
    CHECK_EQ(pl_reader_drops(&reader).kernel, 6);
    pl_reader_close(&reader);
}

int main(void)
{
    RUN(interfaces_are_bounded_and_forgotten_with_their_section);
    RUN(what_was_dropped_is_summed_over_sections);
    RUN(ticks_become_nanoseconds_in_every_unit);
    RUN(times_outside_the_range_are_refused);
    RUN(what_is_written_reads_back);
    RUN(a_write_that_fails_leaves_nothing);
    RUN(after_a_failed_write_the_file_holds_what_came_before);
    return 0;
}
