/* The search narrows the interval between the largest size that is known to pass and the smallest that is known not
 * to. */
#include "pmtu.h"

#include "nc_clock.h"

/* The search ends when the interval has at most STEP octets: a smaller gain is not worth another probe. */
enum { STEP = 16 };
#define AGAIN_NS (600 * NC_NS_PER_S)

void pmtu_init(struct pmtu *pmtu, uint32_t base, uint32_t limit)
{
    *pmtu = (struct pmtu){.base = base < limit ? base : limit, .limit = limit, .due_ns = UINT64_MAX};
    pmtu->good = pmtu->base;
}

/* Chooses the next size: first the limit itself, then the middle of the interval. */
static void choose(struct pmtu *pmtu, uint64_t now_ns)
{
    pmtu->tries = 0;
    if (pmtu->good + STEP >= pmtu->bad) {
        pmtu->trying = 0;
        pmtu->due_ns = now_ns + AGAIN_NS;
        return;
    }
    pmtu->trying = pmtu->bad == UINT32_MAX ? pmtu->limit : pmtu->good + (pmtu->bad - pmtu->good) / 2;
    pmtu->due_ns = now_ns;
}

static void begin(struct pmtu *pmtu, uint32_t bad, uint64_t now_ns)
{
    pmtu->doubted = false;
    pmtu->good = pmtu->base;
    pmtu->bad = pmtu->base < pmtu->limit ? bad : 0;
    choose(pmtu, now_ns);
}

uint64_t pmtu_wait_ns(const struct lft_engine_state *state)
{
    return 2 * state->srtt_ns + 300 * NC_NS_PER_MS;
}

void pmtu_start(struct pmtu *pmtu, uint64_t wait_ns, uint64_t now_ns)
{
    pmtu->wait_ns = wait_ns;
    begin(pmtu, UINT32_MAX, now_ns);
}

void pmtu_doubt(struct pmtu *pmtu, uint64_t now_ns)
{
    if (pmtu->trying || pmtu->good == pmtu->base)
        return;
    pmtu->doubted = true;
    pmtu->trying = pmtu->good;
    pmtu->tries = 0;
    pmtu->due_ns = now_ns;
}

void pmtu_watch(struct pmtu *pmtu, const struct lft_engine_state *state, uint64_t now_ns)
{
    if (!state->unacknowledged_frames || state->oldest_number != pmtu->oldest) {
        pmtu->oldest = state->oldest_number;
        pmtu->oldest_since_ns = now_ns;
    } else if (now_ns - pmtu->oldest_since_ns >= NC_NS_PER_S + 4 * state->srtt_ns && !pmtu->trying &&
               pmtu->good != pmtu->base)
        pmtu_start(pmtu, pmtu_wait_ns(state), now_ns);
}

bool pmtu_answered(struct pmtu *pmtu, uint32_t payload, uint64_t now_ns)
{
    if (!pmtu->trying || payload < pmtu->trying)
        return false;
    pmtu->doubted = false;
    pmtu->good = pmtu->trying;
    if (pmtu->good == pmtu->limit)
        pmtu->bad = pmtu->limit;
    choose(pmtu, now_ns);
    return true;
}

uint32_t pmtu_poll(struct pmtu *pmtu, uint64_t now_ns)
{
    if (now_ns < pmtu->due_ns)
        return 0;
    if (!pmtu->trying) { /* the path's MTU may have changed; the size in use stays meanwhile */
        pmtu->bad = pmtu->good < pmtu->limit ? UINT32_MAX : pmtu->limit;
        pmtu_doubt(pmtu, now_ns);
        if (!pmtu->trying)
            choose(pmtu, now_ns); /* the base is never doubted: there is no smaller size */
        if (!pmtu->trying)
            return 0;
    }
    if (pmtu->tries == PMTU_TRIES) {
        if (pmtu->doubted)
            begin(pmtu, pmtu->trying, now_ns);
        else {
            pmtu->bad = pmtu->trying;
            choose(pmtu, now_ns);
        }
        if (!pmtu->trying)
            return 0;
    }
    pmtu->tries++;
    pmtu->due_ns = now_ns + pmtu->wait_ns;
    return pmtu->trying;
}

uint64_t pmtu_next_ns(const struct pmtu *pmtu)
{
    return pmtu->due_ns;
}
