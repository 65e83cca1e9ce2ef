#include "kernel_home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kernel_calls.h"
#include "models_packed.h"

static void lend(struct record_file *record, struct comet_kernel_open *open)
{
    const char *memory = record_file_lend(record, (uint64_t *)&open->record_bytes);
    open->record = (uintptr_t)memory;
    for (unsigned d = 0; d < 2; d++) {
        const struct recorder *recorder = record_file_recorder(record, d);
        open->ring_at[d] = (uint64_t)((const char *)recorder->shared - memory);
        open->slots_at[d] = (uint64_t)((const char *)recorder->slots - memory);
        open->slots_n = recorder->n;
        open->header_bytes = recorder->header_bytes;
    }
}

int kernel_home_open(struct nc_error *error)
{
    int home = open(COMET_KERNEL_FILE, O_RDWR | O_CLOEXEC);
    return home >= 0 ? home
                     : nc_fail(error, NC_EXIT_MISSING, "--home kernel: %s: %s; only the kernel of virtual time has it",
                               COMET_KERNEL_FILE, strerror(errno));
}

int kernel_home_start(int home, const struct kernel_home_settings *settings, struct record_file *record,
                      struct nc_error *error)
{
    struct comet_kernel_open request = {.seed = settings->seed,
                                        .granularity_ns = settings->granularity_ns,
                                        .memory_bytes = settings->memory_bytes,
                                        .view_bytes = sizeof(struct direction_view)};
    if (record)
        lend(record, &request);
    if (ioctl(home, COMET_KERNEL_OPEN, &request) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_MISSING, "--home kernel: %s: %s%s", COMET_KERNEL_FILE, strerror(errno),
                   errno == EPROTO ? "; the kernel was built from other sources: make virtual" : "");
}

int kernel_home_set(int home, const struct params *const params[2], const struct models *const models[2],
                    uint64_t now_ns, struct nc_error *error)
{
    struct comet_kernel_set request = {.now_ns = now_ns};
    void *blocks[2];
    for (int d = 0; d < 2; d++) {
        size_t len = 0;
        blocks[d] = models_pack(params[d], models[d], &len);
        request.block[d] = (uintptr_t)blocks[d];
        request.len[d] = len;
    }
    int failed = !blocks[0] || !blocks[1] || ioctl(home, COMET_KERNEL_SET, &request) < 0;
    if (failed)
        nc_fail(error, NC_EXIT_FAILED, "--home kernel: the kernel does not take the parameters: %s", strerror(errno));
    free(blocks[0]);
    free(blocks[1]);
    return failed ? -1 : 0;
}

int kernel_home_view(int home, struct direction_view views[2], uint64_t *now_ns)
{
    struct comet_kernel_view request = {.to = (uintptr_t)views};
    if (ioctl(home, COMET_KERNEL_VIEW, &request) < 0)
        return -1;
    *now_ns = request.now_ns;
    return 0;
}
