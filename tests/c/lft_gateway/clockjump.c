/* An LD_PRELOAD library for tests that makes a program's clocks jump. $CLOCKJUMP names a file with two native 64-bit
 * numbers: the nanoseconds to add to CLOCK_MONOTONIC and to CLOCK_REALTIME from now on. The clocks jump when the file
 * is written. Sleeps until a time of such a clock are corrected; waits for a duration need no correction. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *added;

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("CLOCKJUMP");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory = fd >= 0 ? mmap(NULL, 2 * sizeof *added, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory != MAP_FAILED)
        added = memory;
    if (fd >= 0)
        close(fd);
}

static void add(clockid_t id, int sign, struct timespec *at)
{
    if (!added || (id != CLOCK_MONOTONIC && id != CLOCK_REALTIME))
        return;
    int64_t ns = (int64_t)at->tv_sec * 1000000000 + at->tv_nsec + sign * added[id == CLOCK_REALTIME];
    at->tv_sec = ns / 1000000000;
    at->tv_nsec = ns % 1000000000;
}

int clock_gettime(clockid_t id, struct timespec *at)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    if (!failed)
        add(id, 1, at);
    return failed;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    static int (*real)(clockid_t, int, const struct timespec *, struct timespec *);
    struct timespec until = *wanted;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_nanosleep");
    if (flags & TIMER_ABSTIME)
        add(id, -1, &until);
    return real(id, flags, &until, left);
}
