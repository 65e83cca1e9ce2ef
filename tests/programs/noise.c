/* lfp-noise: a machine that is busy at random, for tests that must not fail because of it. Each processor has one
 * thread, at a real-time priority above the delay box's (10). It computes for --busy and then sleeps for a random,
 * exponential time, so that on average it is busy for --busy of every --period. The program ends after --duration, at a
 * signal, or with its parent.
 *
 * Invariant: the threads' times follow from the seed alone, which is printed. In addition a hypervisor may stop the
 * machine.
 * Rejected: stress-ng, which cannot make short loads at a real-time priority. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_options.h"

struct settings {
    uint64_t busy_ns, period_ns, duration_ns, seed, priority;
};

#define AT(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option table[] = {
    {"busy", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "3ms", 1000, NC_NS_PER_S, NULL, NULL, "length of one busy stretch",
     AT(busy_ns)},
    {"period", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "20ms", 2000, 60 * NC_NS_PER_S, NULL, NULL,
     "mean time from one to the next", AT(period_ns)},
    {"duration", 0, NC_OPT_QUANTITY, NC_UNIT_DURATION, "1h", 0, 0, NULL, NULL, "end by itself after this time",
     AT(duration_ns)},
    {"seed", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "0", 0, 0, NULL, NULL, "of the times; 0 takes one from the clock",
     AT(seed)},
    {"priority", 0, NC_OPT_QUANTITY, NC_UNIT_COUNT, "50", 1, 99, NULL, NULL,
     "real-time priority (SCHED_FIFO); the box has 10", AT(priority)},
};
/* clang-format on */
static const struct nc_usage usage = {
    .synopsis = "lfp-noise [options]",
    .purpose =
        "Keeps every processor busy now and then, above the delay box's priority: what tests must not fail because of.",
};

struct worker {
    pthread_t thread;
    int cpu;
    uint64_t random;
    uint64_t end_ns;
    const struct settings *settings;
    uint64_t busy_ns; /* so far */
    int error;
};

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t exponential_ns(uint64_t *state, uint64_t mean_ns)
{
    double uniform = ((double)(next_random(state) >> 11) + 0.5) / 9007199254740992.0;
    return (uint64_t)(-log(uniform) * (double)mean_ns);
}

static void sleep_until(uint64_t t_ns)
{
    const struct timespec until = {(time_t)(t_ns / NC_NS_PER_S), (long)(t_ns % NC_NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static int take_processor(const struct worker *worker)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)worker->cpu, &one);
    int error = pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    const struct sched_param priority = {.sched_priority = (int)worker->settings->priority};
    return error ? error : pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
}

static void *make_noise(void *argument)
{
    struct worker *worker = argument;
    const struct settings *s = worker->settings;
    worker->error = take_processor(worker);
    uint64_t now_ns = nc_now_ns();
    while (!worker->error && now_ns < worker->end_ns) {
        uint64_t begin_ns = now_ns + exponential_ns(&worker->random, s->period_ns - s->busy_ns);
        sleep_until(begin_ns < worker->end_ns ? begin_ns : worker->end_ns);
        uint64_t woken_ns = nc_now_ns();
        while ((now_ns = nc_now_ns()) < woken_ns + s->busy_ns && now_ns < worker->end_ns)
            ;
        worker->busy_ns += now_ns - woken_ns;
    }
    return NULL;
}

static int start(struct worker *workers, const struct settings *settings, uint64_t end_ns)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return 0;
    int n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &allowed))
            continue;
        workers[n] = (struct worker){
            .cpu = cpu, .random = settings->seed + (uint64_t)cpu * 1000003, .end_ns = end_ns, .settings = settings};
        if (pthread_create(&workers[n].thread, NULL, make_noise, &workers[n]))
            break;
        n++;
    }
    return n;
}

int main(int argc, char **argv)
{
    static struct worker workers[CPU_SETSIZE];
    struct settings settings;
    nc_options_parse(table, sizeof table / sizeof *table, &usage, &settings, NULL, argc, argv);
    if (settings.period_ns <= settings.busy_ns) {
        fprintf(stderr, "lfp-noise: --period: want more than --busy\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1);
    uint64_t began_ns = nc_now_ns();
    if (!settings.seed)
        settings.seed = began_ns;
    int n = start(workers, &settings, began_ns + settings.duration_ns);
    printf("{\"v\":1,\"event\":\"ready\",\"seed\":%" PRIu64 ",\"processors\":%d,\"busy_ns\":%" PRIu64
           ",\"period_ns\":%" PRIu64 "}\n",
           settings.seed, n, settings.busy_ns, settings.period_ns);
    fflush(stdout);
    uint64_t busy_ns = 0;
    int error = n ? 0 : EAGAIN;
    for (int i = 0; i < n; i++) {
        pthread_join(workers[i].thread, NULL);
        busy_ns += workers[i].busy_ns;
        error = workers[i].error ? workers[i].error : error;
    }
    if (error) {
        fprintf(stderr, "lfp-noise: --priority %" PRIu64 ": %s; run it as root\n", settings.priority, strerror(error));
        return 3;
    }
    printf("{\"v\":1,\"event\":\"end\",\"busy_ppm\":%.0f}\n",
           1e6 * (double)busy_ns / (double)(nc_now_ns() - began_ns) / n);
    return 0;
}
