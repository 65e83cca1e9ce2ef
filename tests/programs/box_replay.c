/* lfp-box-replay RECORD OPTIONS…: repeats the arrivals of a record in the delay box's own code, at the same times and
 * with the options of `comet-delay run` that made the record. It compares the decisions packet by packet, and prints
 * the number of equal packets and the counts as JSON. If there is a difference, it prints the first one, with status
 * 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direction.h"
#include "direction_stats.h"
#include "settings.h"

/* The fate of a wire packet, as a record has it. */
struct decided {
    uint64_t number, t_ns, exit_ns, fate, edits, copy;
};

struct all {
    struct decided *at;
    size_t n, room;
};

static void *must(void *memory)
{
    if (!memory) {
        perror("memory");
        exit(1);
    }
    return memory;
}

static void add(struct all *all, struct decided one)
{
    if (all->n == all->room) {
        all->room = all->room ? all->room * 2 : 4096;
        all->at = must(realloc(all->at, all->room * sizeof *all->at));
    }
    all->at[all->n++] = one;
}

static void add_run(struct all *all, const struct comet_record *record)
{
    uint64_t behind_ns = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        uint16_t step = 0;
        if (i)
            memcpy(&step, record->step + 2 * (i - 1), sizeof step);
        behind_ns += step;
        add(all, (struct decided){record->number + i, record->t_ns + behind_ns,
                                  record->exit_ns ? record->exit_ns + behind_ns : 0, record->fate, record->edits,
                                  record->copy});
    }
}

static int in_order(const void *a, const void *b)
{
    const struct decided *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->copy > y->copy) - (x->copy < y->copy);
}

static struct all fates(const uint8_t *at, const uint8_t *end)
{
    struct all all = {0};
    struct comet_record record;
    enum comet_record_next next;
    while ((next = comet_record_read(&at, end, &record)) != COMET_RECORD_END)
        if (next == COMET_RECORD_GOT && record.type == COMET_RECORD_DECIDED)
            add_run(&all, &record);
    if (all.n)
        qsort(all.at, all.n, sizeof *all.at, in_order);
    return all;
}

/* Sends everything that is due by `until_ns`, each packet at its time. */
static void run_until(struct direction *d, uint64_t until_ns)
{
    uint64_t next_ns;
    struct nc_run run;
    while ((next_ns = direction_next_ns(d)) != UINT64_MAX && next_ns <= until_ns)
        while (direction_due(d, next_ns, &run))
            direction_sent(d, next_ns, true);
}

static void take(struct direction *d, const struct comet_record *frame)
{
    run_until(d, frame->t_ns - 1);
    struct packet_buffer *packet = must(direction_reserve(d));
    memset(packet->data, 0, NC_VNET_LEN + frame->frame_len);
    memcpy(packet->data, frame->data, NC_VNET_LEN + frame->captured);
    direction_take(d, packet, NC_VNET_LEN + frame->frame_len, frame->t_ns);
    run_until(d, frame->t_ns);
}

/* When the parameters took effect: the first thing that a box records. */
static uint64_t started_ns(const uint8_t *at, const uint8_t *end)
{
    struct comet_record record;
    while (comet_record_read(&at, end, &record) == COMET_RECORD_GOT)
        if (record.type == COMET_RECORD_LINE)
            return record.t_ns;
    fprintf(stderr, "no LINE record\n");
    exit(1);
}

static struct direction *rebuilt(unsigned which, const struct settings *settings, const struct params *params,
                                 uint64_t began_ns)
{
    struct nc_error error;
    struct models models;
    struct direction *d = must(calloc(1, sizeof *d));
    if (models_build(params, &models, &error) < 0 ||
        direction_init(d, which, settings->box.seed, settings->box.granularity_ns, settings->box.memory_bytes, 0) < 0)
        exit(1);
    direction_set(d, params, &models, began_ns);
    return d;
}

static int compare(unsigned which, const struct settings *settings, const struct params *params,
                   const struct comet_record_head *head, const uint8_t *at)
{
    const uint8_t *end = at + head->ring[which].head * COMET_RECORD_SLOT, *from = at;
    struct direction *d = rebuilt(which, settings, params, started_ns(at, end));
    struct comet_record_ring *ring = must(calloc(1, sizeof *ring));
    void *slots = must(calloc(head->ring_slots, COMET_RECORD_SLOT));
    struct recorder recorder;
    recorder_init(&recorder, ring, slots, head->ring_slots, head->captured_max);
    d->recorder = &recorder;
    struct comet_record record;
    enum comet_record_next next;
    while ((next = comet_record_read(&from, end, &record)) != COMET_RECORD_END)
        if (next == COMET_RECORD_GOT && record.type == COMET_RECORD_FRAME)
            take(d, &record);
    run_until(d, UINT64_MAX);
    recorder_flush(&recorder);
    struct all theirs = fates(at, end), ours = fates(slots, (uint8_t *)slots + ring->head * COMET_RECORD_SLOT);
    size_t same = 0, most = theirs.n < ours.n ? theirs.n : ours.n;
    while (same < most && memcmp(&theirs.at[same], &ours.at[same], sizeof(struct decided)) == 0)
        same++;
    if (same < most) {
        const struct decided *x = &theirs.at[same], *y = &ours.at[same];
        printf("direction %u, packet %llu: recorded %llu %llu %llu %llu %llu, here packet %llu: %llu %llu %llu %llu "
               "%llu\n",
               which, (unsigned long long)x->number, (unsigned long long)x->t_ns, (unsigned long long)x->exit_ns,
               (unsigned long long)x->fate, (unsigned long long)x->edits, (unsigned long long)x->copy,
               (unsigned long long)y->number, (unsigned long long)y->t_ns, (unsigned long long)y->exit_ns,
               (unsigned long long)y->fate, (unsigned long long)y->edits, (unsigned long long)y->copy);
        return 1;
    }
    if (theirs.n != ours.n) {
        printf("direction %u: %zu fates recorded, %zu here\n", which, theirs.n, ours.n);
        return 1;
    }
    struct direction_view view;
    direction_view(d, UINT64_MAX, &view);
    json_t *stats = direction_stats_json(&view, NULL, 0);
    char *text = json_dumps(stats, JSON_COMPACT | JSON_REAL_PRECISION(12));
    printf("%s\n", text);
    free(text);
    json_decref(stats);
    free(theirs.at);
    free(ours.at);
    free(slots);
    free(ring);
    direction_free(d);
    free(d);
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings;
    struct params params[2];
    char why[200];
    size_t len = 0, room = 1 << 20;
    if (argc < 2)
        return 2;
    FILE *file = must(fopen(argv[1], "rb"));
    uint8_t *data = must(malloc(room));
    for (size_t n; (n = fread(data + len, 1, room - len, file)) > 0;)
        if ((len += n) == room)
            data = must(realloc(data, room *= 2));
    fclose(file);
    settings_parse(argc - 1, argv + 1, &settings, params);
    if (comet_record_check(data, len, why, sizeof why) < 0) {
        printf("%s %s\n", argv[1], why);
        return 1;
    }
    const struct comet_record_head *head = (const struct comet_record_head *)(const void *)data;
    int different = 0;
    for (unsigned d = 0; d < 2 && !different; d++)
        different = compare(d, &settings, &params[d], head,
                            data + COMET_RECORD_HEAD_BYTES + d * head->ring_slots * COMET_RECORD_SLOT);
    free(data);
    return different;
}
