/* Column files: header and data, over more than one block. Pages of zeros are holes, which read as zeros. */
#include "table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "folder.h"

struct row {
    uint64_t a;
    uint16_t b;
    uint32_t wide[2];
    uint64_t rare;
};
/* clang-format off */
static const struct pl_column columns[] = {
    PL_COLUMN(struct row, a, "<u8"), PL_COLUMN(struct row, b, "<u2"), PL_COLUMN_WIDE(struct row, wide, "<u4", 2),
    PL_COLUMN(struct row, rare, "<u8"),
};
/* clang-format on */
enum { ROWS = 100000 };

static void check_file(int dir_fd, const char *name, const char *header, size_t row_bytes, const void *last_row)
{
    char head[128], last[16];
    int fd = openat(dir_fd, name, O_RDONLY);
    CHECK(fd >= 0);
    CHECK_EQ(read(fd, head, sizeof head), sizeof head);
    CHECK(memcmp(head, "\x93NUMPY\x01\x00\x76\x00", 10) == 0);
    CHECK(memcmp(head + 10, header, strlen(header)) == 0);
    CHECK_EQ(head[127], '\n');
    CHECK_EQ(lseek(fd, 0, SEEK_END), (off_t)(128 + ROWS * row_bytes));
    CHECK_EQ(pread(fd, last, row_bytes, (off_t)(128 + (ROWS - 1) * row_bytes)), (ssize_t)row_bytes);
    CHECK(memcmp(last, last_row, row_bytes) == 0);
    close(fd);
}

static uint64_t rare(size_t row)
{
    return row % 3000 < 2;
}

/* 34 times two rows with a value, 512 rows per page: most of the 196 pages are holes. */
static void check_holes(int dir_fd)
{
    static uint64_t values[ROWS];
    struct stat about;
    int fd = openat(dir_fd, "rare.npy", O_RDONLY);
    CHECK_EQ(pread(fd, values, sizeof values, 128), (ssize_t)sizeof values);
    for (size_t i = 0; i < ROWS; i++)
        CHECK_EQ(values[i], rare(i));
    CHECK_EQ(fstat(fd, &about), 0);
    CHECK(about.st_blocks * 512 < (off_t)sizeof values / 2);
    close(fd);
}

static void columns_hold_every_row(void)
{
    char root[] = "/tmp/pl_table.XXXXXX", path[64];
    struct nc_error error;
    CHECK(mkdtemp(root));
    snprintf(path, sizeof path, "%s/out", root);
    struct pl_folder folder;
    CHECK_EQ(pl_folder_begin(&folder, path, &error), 0);
    struct pl_table *table = pl_table_create(folder.fd, "t", columns, 4);
    CHECK(table);
    struct row row = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        row = (struct row){i, (uint16_t)i, {i, i + 1}, rare(i)};
        pl_table_put(table, &row);
    }
    CHECK_EQ(pl_table_close(table), 0);
    CHECK(access(path, F_OK) != 0);
    CHECK_EQ(pl_folder_commit(&folder, &error), 0);
    snprintf(path, sizeof path, "%s/out/t", root);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    check_file(fd, "a.npy", "{'descr': '<u8', 'fortran_order': False, 'shape': (100000, ), }", 8, &row.a);
    check_file(fd, "b.npy", "{'descr': '<u2', 'fortran_order': False, 'shape': (100000, ), }", 2, &row.b);
    check_file(fd, "wide.npy", "{'descr': '<u4', 'fortran_order': False, 'shape': (100000, 2), }", 8, row.wide);
    check_file(fd, "rare.npy", "{'descr': '<u8', 'fortran_order': False, 'shape': (100000, ), }", 8, &row.rare);
    check_holes(fd);
    close(fd);
    snprintf(folder.temporary, sizeof folder.temporary, "%s", root); /* remove the folder with the code under test */
    folder.fd = open(root, O_RDONLY | O_DIRECTORY);
    pl_folder_abort(&folder);
    CHECK(access(root, F_OK) != 0);
}

int main(void)
{
    RUN(columns_hold_every_row);
    return 0;
}
