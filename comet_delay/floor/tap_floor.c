/* The minimum cost of any delay box on these ports: reads, waits, writes. For `lfp bench delay.tap_floor` only.
 *
 *   comet-tap-floor PORT_A PORT_B DELAY_NS THREADS
 *
 * No model, no statistics, no super-packets (turn the hosts' offloads off), no control; real-time priority and the
 * box's own ports with their NAPI queue. On a machine comet-delay on TAPs cannot be faster than this program. It ends
 * with SIGINT or SIGTERM. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "nc_clock.h"
#include "port.h"

enum { SLOTS = 65536, SLOT_BYTES = 2048, BATCH = 32 };
#define POLL_NS (50 * NC_NS_PER_US)
#define WORK_NS (750 * NC_NS_PER_US) /* between two rests, as in the box; otherwise the kernel throttles the thread */

/* One direction: a ring of packets in order of arrival. */
struct way {
    const struct port *in, *out;
    uint8_t *slots;
    uint32_t len[SLOTS];
    uint64_t due_ns[SLOTS];
    uint32_t head, tail;
};

struct floor {
    struct way ways[2];
    uint64_t delay_ns;
    atomic_bool stop;
};

struct worker {
    struct floor *floor;
    unsigned first, n; /* ways */
};

static void rest(uint64_t ns)
{
    struct timespec pause = {0, (long)ns};
    nanosleep(&pause, NULL);
}

/* Returns whether a whole batch was read, so that more packets may wait. */
static bool turn(struct way *way, uint64_t now_ns, uint64_t delay_ns)
{
    unsigned n = 0;
    for (; n < BATCH && way->head - way->tail < SLOTS; n++, way->head++) {
        uint32_t slot = way->head % SLOTS;
        ssize_t len = port_read(way->in, way->slots + (size_t)slot * SLOT_BYTES, SLOT_BYTES);
        if (len <= NC_VNET_LEN)
            break;
        way->len[slot] = (uint32_t)len;
        way->due_ns[slot] = now_ns + delay_ns;
    }
    for (; way->tail != way->head && way->due_ns[way->tail % SLOTS] <= now_ns; way->tail++) {
        uint32_t slot = way->tail % SLOTS;
        const uint8_t *packet = way->slots + (size_t)slot * SLOT_BYTES;
        struct nc_run run = {
            .head_len = NC_VNET_LEN, .payload = packet + NC_VNET_LEN, .payload_len = way->len[slot] - NC_VNET_LEN};
        memcpy(run.head, packet, NC_VNET_LEN);
        port_write(way->out, &run, true);
    }
    return n == BATCH;
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct floor *floor = worker->floor;
    struct sched_param priority = {.sched_priority = 1};
    pthread_setschedparam(pthread_self(), SCHED_RR, &priority);
    uint64_t rested_ns = nc_now_ns();
    while (!atomic_load_explicit(&floor->stop, memory_order_relaxed)) {
        uint64_t now_ns = nc_now_ns();
        bool more = false;
        for (unsigned i = worker->first; i < worker->first + worker->n; i++)
            more |= turn(&floor->ways[i], now_ns, floor->delay_ns);
        if (!more || now_ns > rested_ns + WORK_NS) {
            rest(POLL_NS);
            rested_ns = nc_now_ns();
        }
    }
    return NULL;
}

static void *ring_memory(void)
{
    void *memory = mmap(NULL, (size_t)SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        perror("comet-tap-floor: memory");
        exit(1);
    }
    return memory;
}

static void run(struct floor *floor, unsigned threads)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    pthread_t ids[2];
    struct worker workers[2] = {{floor, 0, threads == 1 ? 2 : 1}, {floor, 1, 1}};
    for (unsigned i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, &workers[i]))
            exit(1);
    puts("{\"event\": \"ready\"}");
    fflush(stdout);
    int signal;
    sigwait(&ends, &signal);
    atomic_store(&floor->stop, true);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    puts("{\"event\": \"end\"}");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr,
                "usage: comet-tap-floor PORT_A PORT_B DELAY_NS THREADS (started by 'lfp bench delay.tap_floor')\n");
        return 2;
    }
    struct port ports[2];
    const struct port_settings settings = {.mtu = 1500, .napi = PORT_NAPI_AUTO};
    struct floor *floor = calloc(1, sizeof *floor);
    if (!floor)
        return 1;
    floor->delay_ns = strtoull(argv[3], NULL, 10);
    for (int i = 0; i < 2; i++) {
        struct nc_error error;
        if (port_open(&ports[i], argv[1 + i], &settings, &error) < 0) {
            fprintf(stderr, "comet-tap-floor: %s\n", error.text);
            return error.status;
        }
        floor->ways[i] = (struct way){.in = &ports[i], .out = &ports[!i]};
        floor->ways[i].slots = ring_memory();
    }
    run(floor, strtoul(argv[4], NULL, 10) == 2 ? 2 : 1);
    port_close(&ports[0]);
    port_close(&ports[1]);
    free(floor);
    return 0;
}
