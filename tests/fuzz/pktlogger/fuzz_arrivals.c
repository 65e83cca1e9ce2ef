/* Any bytes as packets that reach a sink: payloads, each after its length in one byte. Checked: a header that was read
 * is written with the same octets, and every packet is counted once. */
#include <stdlib.h>
#include <string.h>

#include "arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_header(const uint8_t *data, size_t len)
{
    struct pl_probe probe;
    uint8_t again[PL_PROBE_LEN];
    if (!pl_probe_read(data, len, &probe))
        return;
    pl_probe_write(&probe, again);
    check(memcmp(again, data, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_arrivals *arrivals = malloc(sizeof *arrivals);
    uint64_t given = 0, ends = 0, packets = 0;
    check(arrivals && pl_arrivals_init(arrivals) == 0);
    while (size > 0) {
        size_t len = data[0] < size ? data[0] : size - 1;
        struct pl_probe probe;
        check_header(data + 1, len);
        ends += pl_probe_read(data + 1, len, &probe) && probe.end;
        check(pl_arrivals_take(arrivals, data + 1, len, len, 1000 * ++given) == 0);
        data += 1 + len;
        size -= 1 + len;
    }
    pl_arrivals_ended(arrivals);
    for (size_t i = 0; i < 4 * PL_PROBE_FLOWS_MAX; i++)
        if (arrivals->flows[i]) {
            const struct pl_flow_account *account = &arrivals->flows[i]->account;
            check(account->received + account->duplicates + account->late == account->arrivals);
            check(account->reordered <= account->received && account->extent_max <= account->arrivals);
            packets += account->arrivals;
            pl_flow_account_lost(account);
        }
    check(packets == arrivals->packets && packets + arrivals->foreign + ends == given);
    pl_arrivals_free(arrivals);
    free(arrivals);
    return 0;
}
