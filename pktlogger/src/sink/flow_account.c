/* Implements flow_account.h. */
#include "flow_account.h"

#include <math.h>
#include <string.h>

#include "nc_range.h"

static bool is_seen(const struct pl_flow_account *account, uint64_t sequence)
{
    return account->seen[sequence % PL_ACCOUNT_WINDOW / 64] >> (sequence % 64) & 1;
}

static void set_seen(struct pl_flow_account *account, uint64_t sequence)
{
    account->seen[sequence % PL_ACCOUNT_WINDOW / 64] |= UINT64_C(1) << (sequence % 64);
}

/* Makes `sequence` the largest number, and marks the skipped numbers as not seen. */
static void move_window(struct pl_flow_account *account, uint64_t sequence)
{
    if (sequence - account->next >= PL_ACCOUNT_WINDOW)
        memset(account->seen, 0, sizeof account->seen);
    else
        for (uint64_t passed = account->next; passed <= sequence; passed++)
            account->seen[passed % PL_ACCOUNT_WINDOW / 64] &= ~(UINT64_C(1) << (passed % 64));
    account->next = sequence + 1;
}

static void note_largest(struct pl_flow_account *account, uint64_t sequence)
{
    struct pl_account_run *run = &account->runs[(account->runs_n - 1) % PL_ACCOUNT_RUNS];
    if (account->runs_n && run->first + run->n == sequence && run->arrival + run->n == account->arrivals) {
        run->n++;
        return;
    }
    account->runs[account->runs_n++ % PL_ACCOUNT_RUNS] = (struct pl_account_run){sequence, account->arrivals, 1};
}

/* How many arrivals ago the first number larger than `sequence` arrived. */
static uint64_t extent_of(const struct pl_flow_account *account, uint64_t sequence)
{
    uint64_t oldest = account->runs_n > PL_ACCOUNT_RUNS ? account->runs_n - PL_ACCOUNT_RUNS : 0, low = oldest;
    for (uint64_t high = account->runs_n - 1; low < high;) { /* finds the first run with a larger number by bisection */
        uint64_t middle = (low + high) / 2;
        const struct pl_account_run *run = &account->runs[middle % PL_ACCOUNT_RUNS];
        if (run->first + run->n > sequence + 1)
            high = middle;
        else
            low = middle + 1;
    }
    const struct pl_account_run *run = &account->runs[low % PL_ACCOUNT_RUNS];
    uint64_t inside = sequence >= run->first ? sequence - run->first + 1 : 0;
    return account->arrivals - (run->arrival + inside);
}

static void take_jitter(struct pl_flow_account *account, int64_t transit_ns)
{
    if (account->arrivals > 0) {
        double difference = fabs((double)(transit_ns - account->last_transit_ns));
        account->jitter_ns += (difference - account->jitter_ns) / 16;
    }
    account->last_transit_ns = transit_ns;
}

static enum pl_arrival judge(struct pl_flow_account *account, uint64_t sequence)
{
    if (sequence >= account->next) {
        move_window(account, sequence);
        note_largest(account, sequence);
        return PL_ARRIVAL_IN_ORDER;
    }
    if (account->next - sequence > PL_ACCOUNT_WINDOW)
        return PL_ARRIVAL_LATE;
    return is_seen(account, sequence) ? PL_ARRIVAL_DUPLICATE : PL_ARRIVAL_REORDERED;
}

enum pl_arrival pl_flow_account_take(struct pl_flow_account *account, uint64_t sequence, int64_t transit_ns,
                                     uint64_t len)
{
    enum pl_arrival kind = judge(account, sequence);
    take_jitter(account, transit_ns);
    account->bytes += len;
    if (kind == PL_ARRIVAL_LATE) {
        account->late++;
    } else if (kind == PL_ARRIVAL_DUPLICATE) {
        account->duplicates++;
    } else {
        set_seen(account, sequence);
        account->received++;
    }
    if (kind == PL_ARRIVAL_REORDERED) {
        uint64_t extent = extent_of(account, sequence);
        account->reordered++;
        account->extent_max = nc_max(account->extent_max, extent);
        account->extent_sum += (double)extent;
    }
    account->arrivals++;
    return kind;
}

void pl_flow_account_end(struct pl_flow_account *account, uint64_t total)
{
    account->ended = true;
    account->total = total;
}

uint64_t pl_flow_account_lost(const struct pl_flow_account *account)
{
    uint64_t sent = account->ended ? nc_max(account->total, account->next) : account->next;
    uint64_t came = account->received + account->late;
    return sent > came ? sent - came : 0;
}
