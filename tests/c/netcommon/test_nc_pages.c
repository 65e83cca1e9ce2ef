/* Tables of zeros: untouched parts take no memory, and an index beyond the end is noticed. */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "nc_pages.h"

enum { PAGES = 64 };

static size_t resident(const uint8_t *table, size_t page)
{
    unsigned char in[PAGES];
    size_t n = 0;
    CHECK_EQ(mincore((void *)(uintptr_t)table, PAGES * page, in), 0);
    for (size_t i = 0; i < PAGES; i++)
        n += in[i] & 1;
    return n;
}

static void only_touched_pages_take_memory(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page;
    for (int turn = 0; turn < 3; turn++) { /* and again after such memory was freed */
        uint8_t *table = nc_pages_map(bytes);
        CHECK(table);
        CHECK_EQ(resident(table, page), 0);
        table[5 * page] = 1;
        table[bytes - 1] = 1;
        CHECK_EQ(resident(table, page), 2);
        nc_pages_clear(table, bytes);
        CHECK_EQ(resident(table, page), 0);
        CHECK_EQ(table[5 * page] + table[bytes - 1], 0);
        nc_pages_unmap(table, bytes);
    }
    nc_pages_unmap(NULL, bytes);
}

static void an_index_beyond_the_table_ends_the_program(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile uint8_t *table = nc_pages_map(page);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        table[page - 1] = 1;
        table[page] = 1;
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    nc_pages_unmap((void *)(uintptr_t)table, page);
}

static void what_cannot_be_is_refused(void)
{
    CHECK(!nc_pages_map(SIZE_MAX));
    CHECK(!nc_pages_map(SIZE_MAX / 2));
}

int main(void)
{
    RUN(only_touched_pages_take_memory);
    RUN(an_index_beyond_the_table_ends_the_program);
    RUN(what_cannot_be_is_refused);
    return 0;
}
