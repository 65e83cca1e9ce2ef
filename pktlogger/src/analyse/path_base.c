/* Implements path_base.h. Each base takes two passes over the rows. The first finds how much single delays vary, the
 * second finds the levels. */
#include "path_base.h"

#include <math.h>

#include "base_finder.h"
#include "service.h"
#include "thresholds.h"

/* A function that both passes call with the next row. `part` is NULL for a lost part. */
struct pass {
    bool noise;
    struct pl_base_noise off;
    struct pl_base_finder finder;
};

static int take(struct pass *pass, const struct pl_base_part *part)
{
    return pass->noise ? pl_base_noise_add(&pass->off, part) : pl_base_finder_add(&pass->finder, part);
}

static void lose(struct pass *pass, double work_ns)
{
    if (pass->noise)
        pl_base_noise_lost(&pass->off, work_ns);
    else
        pl_base_finder_lost(&pass->finder, work_ns);
}

/* `of`: the transfer, or the transfers that are studied. */
typedef int pass_over(struct pass *pass, const void *of, const struct pl_tables *tables, double service);

/* Runs both passes. `before_ns`: the queue that may have existed when the capture began. `least_ns`: of the tolerance. */
static int find(pass_over *over, const void *of, const struct pl_tables *tables, double service, double before_ns,
                double least_ns, struct pl_base *base)
{
    struct pass pass = {.noise = true};
    int result = over(&pass, of, tables, service);
    double tolerance_ns = fmax(pl_base_noise_end(&pass.off), least_ns);
    pass.noise = false;
    pl_base_finder_begin(&pass.finder, tolerance_ns, before_ns);
    if (result == 0)
        result = over(&pass, of, tables, service);
    return pl_base_finder_end(&pass.finder, base) < 0 ? -1 : result;
}

static double work_of(const struct pl_segment *part, double service)
{
    return service * (part->len + PL_HEADERS);
}

static double own_bytes(const struct pl_transfer *t)
{
    return (double)t->segments * t->mss;
}

static double others_bytes(const struct pl_transfer *t)
{
    return t->signs.others_bps / 8e9 * (double)(t->last_ns - t->first_ns);
}

bool pl_path_base_shared(const struct pl_transfer *t)
{
    return others_bytes(t) > PL_BASE_SHARED * own_bytes(t);
}

double pl_path_base_line(const struct pl_transfer *t, double service)
{
    double own = own_bytes(t), others = others_bytes(t);
    if (!pl_path_base_shared(t))
        return service;
    return fmin(service, fmax(t->serial_ns, service * own / (own + others)));
}

/* Takes the delay by the captures. It includes queues, in which the flows' own packets may be. */
static int over_captures(struct pass *pass, const void *of, const struct pl_tables *tables, double service)
{
    const struct pl_together *together = of;
    struct pl_passages passages;
    struct pl_segment part;
    double own = pl_path_base_line(together->whole, service);
    int result = pl_passages_begin(&passages, tables, together, false);
    while (result == 0 && pl_passages_next(&passages, &part)) {
        double work_ns = work_of(&part, service), way_ns = (double)(part.t_received_ns - part.t_sent_ns);
        const struct pl_base_part arrived = {.t_ns = part.t_sent_ns,
                                             .delay_ns = way_ns - work_of(&part, own),
                                             .work_ns = work_ns,
                                             .queued = service > 0};
        if (part.t_received_ns < 0)
            lose(pass, work_ns);
        else
            result = take(pass, &arrived);
    }
    pl_passages_end(&passages);
    return result;
}

/* Takes the delay without the time in the box's queue, by the record. If a pacer behind the box holds packets, the rest
 * may still include a queue that holds the parts of all transfers. Parts come to it when they leave the box's queue. */
static int over_record(struct pass *pass, const void *of, const struct pl_tables *tables, double service)
{
    struct pl_passages passages;
    struct pl_segment part;
    int result = pl_passages_begin(&passages, tables, of, true);
    while (result == 0 && pl_passages_next(&passages, &part)) {
        double work_ns = work_of(&part, service);
        int64_t elsewhere_ns = part.delay_ns - (part.t_box_exit_ns - part.t_box_in_ns);
        const struct pl_base_part arrived = {.t_ns = part.t_sent_ns,
                                             .delay_ns = (double)elsewhere_ns,
                                             .work_ns = work_ns,
                                             .held_ns = part.t_box_exit_ns - part.t_sent_ns};
        if (part.t_received_ns < 0 || part.t_box_in_ns < 0 || part.t_box_exit_ns < 0)
            lose(pass, work_ns);
        else
            result = take(pass, &arrived);
    }
    pl_passages_end(&passages);
    return result;
}

static int over_acks(struct pass *pass, const void *of, const struct pl_tables *tables, double service)
{
    const struct pl_transfer *t = of;
    struct pl_ack ack;
    int result = 0;
    (void)service;
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_ack(tables, t, &cursor, &ack); cursor.row++) {
        const struct pl_base_part arrived = {.t_ns = ack.t_sent_ns,
                                             .delay_ns = (double)(ack.t_received_ns - ack.t_sent_ns)};
        if (ack.t_received_ns >= 0 && ack.t_sent_ns >= 0)
            result = take(pass, &arrived);
    }
    return result;
}

int pl_path_base_long_queue(struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_sample queues = {.given = 0};
    struct pl_segment part;
    int result = 0;
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_passage(tables, t, &cursor, &part); cursor.row++)
        if (part.t_received_ns >= 0)
            result = pl_sample_add(&queues, (double)(pl_settled_ns(t, &part) - part.t_sent_ns - t->min_delay_ns));
    pl_sample_sort(&queues);
    double long_ns = pl_sample_quantile(&queues, PL_LONG_QUEUES);
    t->typical_queue_ns = long_ns > 0 ? (int64_t)long_ns : 0;
    pl_sample_free(&queues);
    return result;
}

int pl_path_base_see(const struct pl_together *of, const struct pl_tables *tables, double service)
{
    struct pl_transfer *t = of->whole;
    bool begun_before = !t->flow->side[0].syn && !t->flow->side[1].syn;
    double before_ns = begun_before ? (double)(t->max_delay_ns - t->min_delay_ns) : 0;
    pl_base_free(&t->seen_base);
    if (find(over_captures, of, tables, service, before_ns, 0, &t->seen_base) < 0)
        return -1;
    return t->seen_base.levels.n > 1 ? pl_path_base_long_queue(t, tables) : 0;
}

int pl_path_base_copy(struct pl_base *to, const struct pl_base *from)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < from->levels.n; i++)
        result = pl_base_append(to, from->levels.at[i].t_ns, from->levels.at[i].delay_ns);
    return result;
}

int pl_path_base_of_acks(struct pl_transfer *t, const struct pl_tables *tables)
{
    return find(over_acks, t, tables, 0, 0, 0, &t->ack_base);
}

/* A queue behind the box also holds packets that are not parts of these transfers, such as a control
 * connection's. Between two arrivals these are assumed to be less than a full packet together. */
static double behind_ns(const struct pl_together *of, double service)
{
    const struct pl_line *line = of->transfers[0]->line;
    return pl_line_known(line) && pl_line_queues_behind(line) ? service * (of->whole->mss + PL_HEADERS) : 0;
}

int pl_path_base_find(const struct pl_together *of, const struct pl_tables *tables, double service)
{
    struct pl_transfer *t = of->whole;
    if (pl_path_base_of_acks(t, tables) < 0 ||
        (t->box && find(over_record, of, tables, service, 0, behind_ns(of, service), &t->base) < 0))
        return -1;
    return t->base.levels.n ? 0 : pl_path_base_copy(&t->base, &t->seen_base);
}

int64_t pl_path_base_wait_ns(const struct pl_segment *segment, int64_t before_exit_ns, double work_ns)
{
    int64_t others_ns = segment->t_box_exit_ns - segment->t_box_in_ns - (int64_t)work_ns;
    int64_t own_ns =
        (before_exit_ns < segment->t_box_exit_ns ? before_exit_ns : segment->t_box_exit_ns) - segment->t_box_in_ns;
    int64_t wait_ns = work_ns > 0 && others_ns > own_ns ? others_ns : own_ns;
    return wait_ns > 0 ? wait_ns : 0;
}
