/* Files of flows: their names, the limit on their number, and packets of a flow that are written in several steps.
 * tests/py/pktlogger/test_pktlogger_flow_files.py tests what is kept of each block. */
#include "flow_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "folder.h"

enum { PACKETS = 40000, FLOWS = 3, FRAME = 1000, RECORD = 16 + FRAME, SPARE = 24 };

static void a_name_has_both_ends(void)
{
    char name[PL_FLOW_FILE_NAME];
    struct pl_flow flow = {.ip_version = 4,
                           .side = {{.address = {10, 0, 0, 1}, .port = 40000}, {.address = {10, 0, 0, 2}, .port = 1}}};
    pl_flow_file_name(name, 7, &flow);
    CHECK(strcmp(name, "7_10.0.0.1_40000_10.0.0.2_1.pcapng") == 0);
    flow.ip_version = 6;
    memset(flow.side[0].address, 0xff, 16);
    memset(flow.side[1].address, 0, 16);
    flow.side[0].port = 65535;
    pl_flow_file_name(name, UINT32_MAX, &flow);
    CHECK(strcmp(name, "4294967295_ffff-ffff-ffff-ffff-ffff-ffff-ffff-ffff_65535_--_1.pcapng") == 0);
}

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

/* From the EtherType to the destination port; octet 35 of the frame is the lower half of the source port. */
/* clang-format off */
static const uint8_t headers[] = {
    8, 0, 0x45, 0, (FRAME - 14) >> 8, (FRAME - 14) & 255, 0, 0, 0x40, 0, 64, 6, 0, 0,
    10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0, 0, 80,
};
/* clang-format on */

/* A classic capture that is longer than the memory for waiting packets. The packets alternate between the flows. */
static uint8_t *capture(size_t *len)
{
    *len = SPARE + (size_t)PACKETS * RECORD;
    uint8_t *bytes = calloc(1, *len);
    CHECK(bytes && *len > PL_FLOW_FILES_HELD);
    const uint32_t head[] = {0xa1b2c3d4u, 2 | 4 << 16, 0, 0, 65535, 1};
    memcpy(bytes, head, sizeof head);
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint8_t *record = bytes + SPARE + (size_t)i * RECORD, *frame = record + 16;
        put32(record, 1700000000);
        put32(record + 4, i);
        put32(record + 8, FRAME);
        put32(record + 12, FRAME);
        memcpy(frame + 12, headers, sizeof headers);
        frame[35] = (uint8_t)(i % FLOWS);
        frame[46] = 5 << 4;
        frame[47] = 0x10;
        put32(frame + FRAME - 4, i);
    }
    return bytes;
}

/* Checks that the file of the flow has its packets in order, to the last octet. */
static void check_file(int dir_fd, const struct pl_index *index, uint32_t number)
{
    char name[PL_FLOW_FILE_NAME];
    uint8_t block[RECORD + 16];
    pl_flow_file_name(name, number, &index->flows.at[number]);
    int fd = openat(dir_fd, name, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(lseek(fd, 28 + 32, SEEK_SET), 60);
    for (uint32_t i = number; i < PACKETS; i += FLOWS) {
        uint32_t mark;
        CHECK_EQ(read(fd, block, sizeof block), (ssize_t)sizeof block);
        memcpy(&mark, block + 28 + FRAME - 4, sizeof mark);
        CHECK_EQ(mark, i);
    }
    CHECK_EQ(read(fd, block, 1), 0);
    close(fd);
}

static void long_flows_are_whole_and_too_many_are_refused(void)
{
    size_t len;
    uint8_t *bytes = capture(&len);
    for (uint32_t flows_max = FLOWS - 1; flows_max <= FLOWS; flows_max++) {
        struct pl_folder folder = {.temporary = "/tmp/pl_flow_files.XXXXXX"};
        struct pl_index index;
        struct nc_error error;
        CHECK(mkdtemp(folder.temporary));
        folder.fd = open(folder.temporary, O_RDONLY | O_DIRECTORY);
        CHECK_EQ(pl_index_open(&index, bytes, len, &error), PL_OK);
        CHECK_EQ(pl_flow_files_write(&index, folder.fd, flows_max, &error), flows_max < FLOWS ? -1 : 0);
        if (flows_max < FLOWS)
            CHECK(strcmp(error.text, "more than 2 flows; allow more with --max-flows") == 0);
        for (uint32_t i = 0; i < FLOWS && flows_max == FLOWS; i++)
            check_file(folder.fd, &index, i);
        pl_index_free(&index);
        pl_folder_abort(&folder);
    }
    free(bytes);
}

int main(void)
{
    RUN(a_name_has_both_ends);
    RUN(long_flows_are_whole_and_too_many_are_refused);
    return 0;
}
