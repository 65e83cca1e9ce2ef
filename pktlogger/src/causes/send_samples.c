/* Implements send_samples.h. Linux wakes a writer that waits for room when a third of the send buffer is free
 * (sk_stream_write_space), so while a writer waits, more than two thirds are in use. It began to wait when the whole
 * buffer was in use (sk_stream_memory_free), so no writer waits for a buffer that is never full, however much of it is
 * used. */
#include "send_samples.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mapping.h"
#include "thresholds.h"

#define MS INT64_C(1000000)
#define NOT_SAID UINT64_MAX

enum column {
    T_NS,
    LOCAL_PORT,
    REMOTE_PORT,
    NOTSENT,
    QUEUED,
    SNDBUF,
    TOTAL_RTO,
    OPENING,
    PACE,
    KERNEL_PACE,
    SSTHRESH,
    CWND,
    CA_STATE,
    RWND,
    SNDBUF_TIME,
    WRITTEN,
    CONGESTION,
    ALWAYS,
    WAITING,
    UNACKED,
    WINDOW,
    WINDOW_FIXED,
    TRANSFER,
    SENT,
    RETRANS,
    COLUMNS
};
enum { STATE_CWR = 2, STATE_RECOVERY = 3 }; /* value of ca_state: the window shrinks to ssthresh */

static const struct {
    const char *name;
    uint64_t most;
    bool needed;
} columns[COLUMNS] = {
    [T_NS] = {"t_ns", INT64_MAX / 2, true},
    [LOCAL_PORT] = {"local_port", UINT16_MAX, true},
    [REMOTE_PORT] = {"remote_port", UINT16_MAX, true},
    [NOTSENT] = {"notsent_bytes", UINT32_MAX, true},
    [QUEUED] = {"queued_bytes", UINT32_MAX, false},
    [SNDBUF] = {"sndbuf_bytes", UINT32_MAX, false},
    [TOTAL_RTO] = {"total_rto", UINT16_MAX, false},
    [OPENING] = {"opening_bytes", INT64_MAX / 2, false},
    [PACE] = {"max_pacing_rate_bytes_per_s", UINT64_MAX, false},
    [KERNEL_PACE] = {"pacing_rate_bytes_per_s", UINT64_MAX, false},
    [SSTHRESH] = {"snd_ssthresh", UINT32_MAX, false},
    [CWND] = {"snd_cwnd", UINT32_MAX, false},
    [CA_STATE] = {"ca_state", UINT8_MAX, false},
    [RWND] = {"rwnd_limited_us", INT64_MAX / 2000, false},
    [SNDBUF_TIME] = {"sndbuf_limited_us", INT64_MAX / 2000, false},
    [WRITTEN] = {"written_ns", INT64_MAX / 2, false},
    [CONGESTION] = {"congestion", 0, false}, /* the column is a name */
    [ALWAYS] = {"always_data", 1, false},
    [WAITING] = {"waiting_bytes", UINT64_MAX - 1, false},
    [UNACKED] = {"unacked", UINT32_MAX - 1, false},
    [WINDOW] = {"snd_wnd", UINT32_MAX, false},
    [WINDOW_FIXED] = {"window_fixed_bytes", UINT32_MAX, false},
    [TRANSFER] = {"transfer", UINT32_MAX, false},
    [SENT] = {"bytes_sent", INT64_MAX / 2, false},
    [RETRANS] = {"bytes_retrans", INT64_MAX / 2, false},
};

/* The columns of a file, in the file's order. */
struct header {
    enum column column[COLUMNS];
    int n;
};

/* Reads digits up to `stop` or the end of the line. Returns the position after them, or NULL. */
static const uint8_t *read_number(const uint8_t *at, const uint8_t *end, char stop, uint64_t limit, uint64_t *value)
{
    const uint8_t *first = at;
    *value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*value > (limit - digit) / 10)
            return NULL;
        *value = *value * 10 + digit;
    }
    if (at == first || (stop ? at == end || *at != (uint8_t)stop : at != end))
        return NULL;
    return stop ? at + 1 : at;
}

/* Reads a name of letters, digits, '_' and '-' up to `stop` or the end of the line. Returns the position after it, or
 * NULL. */
static const uint8_t *read_control(const uint8_t *at, const uint8_t *end, char stop, uint64_t *value)
{
    const uint8_t *first = at;
    while (at < end && (isalnum(*at) || *at == '_' || *at == '-'))
        at++;
    *value = pl_control_named((const char *)first, (size_t)(at - first));
    if (stop ? at == end || *at != (uint8_t)stop : at != end)
        return NULL;
    return stop ? at + 1 : at;
}

/* Reads a value. An empty value means "not known", and *value keeps its default. */
static const uint8_t *read_value(const uint8_t *at, const uint8_t *end, char stop, enum column column, uint64_t *value)
{
    if (!columns[column].needed && (stop ? at < end && *at == (uint8_t)stop : at == end))
        return stop ? at + 1 : at;
    return column == CONGESTION ? read_control(at, end, stop, value)
                                : read_number(at, end, stop, columns[column].most, value);
}

static enum pl_answer answer(uint64_t value)
{
    return value == NOT_SAID ? PL_UNKNOWN : value ? PL_YES : PL_NO;
}

static bool read_line(const uint8_t *at, const uint8_t *end, const struct header *header, struct pl_send_sample *sample)
{
    uint64_t values[COLUMNS] = {[TOTAL_RTO] = PL_NO_TOTAL_RTO,
                                [RWND] = PL_NOT_COUNTED,
                                [SNDBUF_TIME] = PL_NOT_COUNTED,
                                [ALWAYS] = NOT_SAID,
                                [WAITING] = NOT_SAID,
                                [UNACKED] = PL_NO_UNACKED,
                                [SENT] = NOT_SAID,
                                [RETRANS] = NOT_SAID};
    for (int i = 0; i < header->n; i++) {
        enum column column = header->column[i];
        if (!(at = read_value(at, end, i + 1 < header->n ? ',' : '\0', column, &values[column])))
            return false;
    }
    *sample = (struct pl_send_sample){
        .t_ns = (int64_t)values[T_NS],
        .local_port = (uint16_t)values[LOCAL_PORT],
        .remote_port = (uint16_t)values[REMOTE_PORT],
        .notsent_bytes = (uint32_t)values[NOTSENT],
        .queued_bytes = (uint32_t)values[QUEUED],
        .sndbuf_bytes = (uint32_t)values[SNDBUF],
        .total_rto = (uint32_t)values[TOTAL_RTO],
        .opening_bytes = values[OPENING],
        .pace_bytes_per_s = values[PACE],
        .kernel_pace_bytes_per_s = values[KERNEL_PACE],
        .ssthresh = (uint32_t)values[SSTHRESH],
        .cwnd = (uint32_t)values[CWND],
        .unacked = (uint32_t)values[UNACKED],
        .window = (uint32_t)values[WINDOW],
        .window_fixed = (uint32_t)values[WINDOW_FIXED],
        .transfer = (uint32_t)values[TRANSFER],
        .given_bytes = values[SENT] == NOT_SAID || values[RETRANS] == NOT_SAID
                           ? PL_NO_GIVEN
                           : values[SENT] - values[RETRANS] + values[NOTSENT],
        .ca_state = (uint8_t)values[CA_STATE],
        .control = (uint8_t)values[CONGESTION],
        .always = (uint8_t)answer(values[ALWAYS]),
        .waits = (uint8_t)answer(values[WAITING]),
        .written_ns = (int64_t)values[WRITTEN],
        .counted_us = {[PL_RWND_LIMITED] = values[RWND], [PL_SNDBUF_LIMITED] = values[SNDBUF_TIME]},
    };
    return true;
}

/* The column with the name [at, end), or COLUMNS. */
static enum column column_named(const uint8_t *at, const uint8_t *end)
{
    size_t len = (size_t)(end - at);
    for (int column = 0; column < COLUMNS; column++)
        if (len == strlen(columns[column].name) && memcmp(at, columns[column].name, len) == 0)
            return (enum column)column;
    return COLUMNS;
}

/* Reads the names of the columns. False for an unknown, repeated or missing column. */
static bool read_header(const uint8_t *at, const uint8_t *end, struct header *header)
{
    bool seen[COLUMNS] = {false};
    *header = (struct header){.n = 0};
    for (const uint8_t *stop; at <= end; at = stop + 1) {
        stop = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
        stop = stop ? stop : end;
        enum column column = column_named(at, stop);
        if (column == COLUMNS || seen[column])
            return false;
        seen[column] = true;
        header->column[header->n++] = column;
    }
    for (int column = 0; column < COLUMNS; column++)
        if (columns[column].needed && !seen[column])
            return false;
    return seen[QUEUED] == seen[SNDBUF];
}

static int in_order(const void *left, const void *right)
{
    const struct pl_send_sample *a = left, *b = right;
    if (a->local_port != b->local_port)
        return a->local_port < b->local_port ? -1 : 1;
    if (a->remote_port != b->remote_port)
        return a->remote_port < b->remote_port ? -1 : 1;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

static bool is_full(const struct pl_send_sample *sample)
{
    return sample->sndbuf_bytes && sample->queued_bytes >= sample->sndbuf_bytes;
}

static bool has_third(const struct pl_send_sample *sample)
{
    return sample->queued_bytes <= sample->sndbuf_bytes / 3 * 2;
}

static bool same_buffer(const struct pl_send_sample *a, const struct pl_send_sample *b)
{
    return a->local_port == b->local_port && a->remote_port == b->remote_port && a->sndbuf_bytes == b->sndbuf_bytes;
}

/* Marks the samples at which a program that has more to give writes nothing for PL_STANDS_NS, although less than a
 * third of the buffer is free. Such a program waits for room: the buffer was full at a moment between two samples. */
static void note_standing(struct pl_send_sample *samples, size_t n)
{
    for (size_t first = 0, next; first < n; first = next) {
        struct pl_send_sample *from = &samples[first];
        for (next = first + 1; next < n && same_buffer(&samples[next], from); next++)
            if (samples[next].given_bytes != from->given_bytes || has_third(&samples[next]) ||
                samples[next].waits == PL_NO)
                break;
        bool known = from->given_bytes != PL_NO_GIVEN && !has_third(from) && from->waits != PL_NO;
        bool stands = known && samples[next - 1].t_ns - from->t_ns >= PL_STANDS_NS;
        for (size_t i = first; i < next; i++)
            samples[i].stands = stands;
    }
}

/* Marks the samples near one with a full buffer of the same size. Near means a few samples away. Later samples are
 * near, too, as long as a writer may have been waiting since: less than a third was free, and nothing was added. While
 * a writer waits, the memory in use falls from full to two thirds and rises again, three times per round trip. */
static void note_near_full(struct pl_send_sample *samples, size_t n, bool backward)
{
    bool since = false;
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        struct pl_send_sample *sample = &samples[backward ? n - 1 - i : i],
                              *before = i ? sample + (backward ? 1 : -1) : sample;
        bool same = same_buffer(sample, before);
        left = same ? left : 0;
        bool full = is_full(sample) || sample->stands;
        since = !backward &&
                (full || (since && same && !has_third(sample) && sample->queued_bytes <= before->queued_bytes));
        left = full ? PL_NEAR_FULL : left - (left > 0);
        sample->near_full |= since || left > 0;
    }
}

int pl_send_samples_parse(struct pl_send_samples *samples, const char *name, const uint8_t *at, const uint8_t *end,
                          struct nc_error *error)
{
    struct header header = {.n = 0};
    for (unsigned long long number = 1; at < end; number++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        struct pl_send_sample sample;
        stop = stop ? stop : end;
        if (number == 1) {
            if (!read_header(at, stop, &header))
                return nc_fail(
                    error, NC_EXIT_USAGE,
                    "'%.200s' line 1: want 't_ns,local_port,remote_port,notsent_bytes' and, optionally, further "
                    "columns of FORMAT.md section 3, \"Samples\", each at most once",
                    name);
        } else if (!read_line(at, stop, &header, &sample))
            return nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %llu: want %d values with commas between", name, number,
                           header.n);
        else if (PL_APPEND(&samples->list, sample) < 0)
            return nc_fail(error, NC_EXIT_FAILED, "out of memory");
        at = next;
    }
    if (samples->list.n)
        qsort(samples->list.at, samples->list.n, sizeof *samples->list.at, in_order);
    note_standing(samples->list.at, samples->list.n);
    note_near_full(samples->list.at, samples->list.n, false);
    note_near_full(samples->list.at, samples->list.n, true);
    return 0;
}

int pl_send_samples_read(struct pl_send_samples *samples, const char *path, struct nc_error *error)
{
    struct pl_mapping mapping;
    if (pl_map(path, &mapping, error) < 0)
        return -1;
    int result = pl_send_samples_parse(samples, path, mapping.data, mapping.data + mapping.len, error);
    pl_unmap(&mapping);
    return result;
}

void pl_send_samples_free(struct pl_send_samples *samples)
{
    free(samples->list.at);
    *samples = (struct pl_send_samples){0};
}

/* The first sample that is not before `like` in the order of ports and time. */
static size_t first_from(const struct pl_send_samples *samples, const struct pl_send_sample *like)
{
    size_t low = 0, high = samples->list.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in_order(&samples->list.at[middle], like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pl_samples_of pl_send_samples_of(const struct pl_send_samples *samples, uint16_t local_port,
                                        uint16_t remote_port)
{
    struct pl_send_sample like = {.local_port = local_port, .remote_port = remote_port, .t_ns = INT64_MIN};
    size_t first = first_from(samples, &like);
    like.t_ns = INT64_MAX;
    size_t n = first_from(samples, &like) - first;
    const struct pl_send_sample *at = n ? samples->list.at + first : NULL;
    return (struct pl_samples_of){.first = at,
                                  .n = n,
                                  .transfer = n ? at[n - 1].transfer : 0,
                                  .window_fixed = n ? at[n - 1].window_fixed : 0,
                                  .written_ns = n ? at[n - 1].written_ns : 0,
                                  .always = n ? (enum pl_answer)at[n - 1].always : PL_UNKNOWN};
}

static bool sets_rate(const struct pl_send_sample *sample)
{
    return sample->control == PL_CONTROL_RATE || sample->control == PL_CONTROL_MARKED_RATE;
}

bool pl_samples_heed_no_marks(const struct pl_samples_of *samples)
{
    return samples->n && samples->first[samples->n - 1].control == PL_CONTROL_RATE;
}

bool pl_samples_set_rate(const struct pl_samples_of *samples)
{
    return samples->n && sets_rate(&samples->first[0]) && sets_rate(&samples->first[samples->n - 1]);
}

uint64_t pl_samples_opening(const struct pl_samples_of *samples)
{
    return samples->n ? samples->first[samples->n - 1].opening_bytes : 0;
}

/* Whether a sample is in slow start. Below ssthresh a window grows by slow start, unless it is shrinking to ssthresh.
 * An initial ssthresh shows slow start only for a control that is known to reduce it. */
static void see_phase(struct pl_samples_seen *seen, const struct pl_send_sample *sample)
{
    bool shrinks = sample->ca_state == STATE_CWR || sample->ca_state == STATE_RECOVERY;
    if (!sample->cwnd || !sample->ssthresh)
        return;
    if (shrinks || sample->cwnd >= sample->ssthresh)
        seen->past++;
    else if (sample->control == PL_CONTROL_WINDOW ||
             (sample->control == PL_CONTROL_UNKNOWN && sample->ssthresh != PL_SSTHRESH_FIRST))
        seen->slow++;
}

/* Buffer memory taken between a sample and the next one by the octets that the program gave. Each octet is assumed to
 * take as much memory as the octets queued at the next sample, or PL_MEMORY_MORE times as much. INFINITY: not known. */
static double added_bytes(const struct pl_send_sample *sample, uint32_t mss)
{
    const struct pl_send_sample *next = sample + 1;
    if (!same_buffer(sample, next) || sample->given_bytes == PL_NO_GIVEN || next->given_bytes == PL_NO_GIVEN ||
        next->given_bytes < sample->given_bytes || next->unacked == PL_NO_UNACKED)
        return INFINITY;
    double payload = (double)next->unacked * mss + next->notsent_bytes;
    double an_octet = fmax(next->queued_bytes / fmax(payload, mss), 1);
    return PL_MEMORY_MORE * an_octet * (double)(next->given_bytes - sample->given_bytes);
}

/* Whether the next sample shows that no writer was waiting at this one. A waiting writer gives nothing until a third of
 * the buffer is free, so the memory for what it gives adds to at most two thirds of the buffer. */
static bool went_on(const struct pl_samples_of *of, size_t at, uint32_t mss)
{
    const struct pl_send_sample *sample = &of->first[at], *next = sample + 1;
    return at + 1 < of->n && next->given_bytes > sample->given_bytes &&
           next->queued_bytes - added_bytes(sample, mss) > next->sndbuf_bytes / 3.0 * 2;
}

/* Whether earlier samples show that no writer is waiting: a third of the buffer was free, and the octets given since
 * then have not filled it, even between two samples. */
static bool never_filled(const struct pl_samples_of *of, size_t at, uint32_t mss)
{
    for (size_t i = at; i > 0 && at - i < PL_NEAR_FULL && !is_full(&of->first[i]); i--) {
        const struct pl_send_sample *before = &of->first[i - 1];
        if (has_third(&of->first[i]))
            return true;
        if (before->queued_bytes + added_bytes(before, mss) >= before->sndbuf_bytes)
            return false;
    }
    return false;
}

/* Whether a waiting writer would find no room. Where the buffer's size is unknown, only the program's own account shows
 * this. */
static bool finds_no_room(const struct pl_samples_of *of, size_t at, bool given, uint32_t mss)
{
    const struct pl_send_sample *sample = &of->first[at];
    if (given || went_on(of, at, mss) || never_filled(of, at, mss))
        return false;
    return sample->sndbuf_bytes ? is_full(sample) || (sample->near_full && !has_third(sample))
                                : sample->waits == PL_YES;
}

/* Whether less than a segment is unsent although both windows have room for it, if outstanding packets are full. Then
 * pacing holds the data back; while a packet is outstanding, Nagle's rule also can. */
static bool held_back(const struct pl_send_sample *sample, uint32_t mss)
{
    return sample->unacked < sample->cwnd && sample->notsent_bytes < mss &&
           (uint64_t)sample->unacked * mss + sample->notsent_bytes <= sample->window;
}

/* Whether both windows have room for the unsent data, if outstanding packets are full. A congestion window with room
 * for one segment may still hold the data back: Linux lets a super-packet wait until there is room for all of it, for a
 * third of the window, or for the longest super-packet (tcp_tso_should_defer, net.ipv4.tcp_tso_win_divisor). */
static bool has_room(const struct pl_send_sample *sample, uint32_t mss)
{
    uint64_t room = sample->unacked < sample->cwnd ? sample->cwnd - sample->unacked : 0;
    bool waits = room * PL_DEFER_PART < sample->cwnd && room * mss < PL_SUPER_MOST;
    return room && !waits && (sample->unacked + UINT64_C(1)) * mss <= sample->window;
}

static void see(struct pl_samples_seen *seen, const struct pl_samples_of *of, size_t at, uint32_t mss)
{
    const struct pl_send_sample *sample = &of->first[at];
    bool given = sample->waits == PL_NO || (of->written_ns && sample->t_ns >= of->written_ns);
    bool held = held_back(sample, mss), unpaced = sample->pace_bytes_per_s >= INT64_MAX;
    bool nagle = held && sample->unacked && unpaced;
    bool unsent = sample->notsent_bytes >= (given && !nagle ? 1 : mss);
    bool full = finds_no_room(of, at, given, mss);
    bool known = sample->sndbuf_bytes || sample->waits != PL_UNKNOWN;
    seen->n++;
    seen->waits += sample->waits == PL_YES && !given;
    seen->given += sample->waits == PL_NO && !unsent;
    seen->unsent += unsent;
    seen->filled += unsent && sample->cwnd && sample->unacked != PL_NO_UNACKED && sample->unacked >= sample->cwnd;
    seen->roomy += unsent && has_room(sample, mss);
    seen->kept += held && sample->notsent_bytes && sample->pace_bytes_per_s && !unpaced && !full;
    seen->full = full;
    seen->late += sample->sndbuf_bytes && !full && !given && nagle;
    seen->spent += full && !unsent;
    seen->room += known && !full && !unsent;
    seen->idle += known && !full && !unsent && sample->waits != PL_YES;
    seen->sized = seen->sized && known;
    see_phase(seen, sample);
}

/* The pacing rate by the last sample before a time, or by the first sample of all. "No limit", a value above INT64_MAX,
 * may be stored as INT64_MAX. */
static void see_pacing(struct pl_samples_seen *seen, const struct pl_send_sample *last)
{
    bool window = last->control == PL_CONTROL_WINDOW;
    bool rate = sets_rate(last) || (!window && last->ssthresh == PL_SSTHRESH_FIRST);
    seen->pace_bytes_per_s = last->pace_bytes_per_s;
    seen->kernel_pace_bytes_per_s = rate ? last->kernel_pace_bytes_per_s : 0;
    seen->unpaced = window && last->pace_bytes_per_s >= INT64_MAX;
    seen->sets_rate = sets_rate(last);
}

struct pl_samples_seen pl_samples_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss)
{
    struct pl_samples_seen seen = {.sized = true};
    while (samples->at < samples->n && samples->first[samples->at].t_ns < t0_ns)
        samples->at++;
    size_t i = samples->at;
    for (; i < samples->n && samples->first[i].t_ns < t1_ns; i++)
        see(&seen, samples, i, mss);
    if (samples->n)
        see_pacing(&seen, &samples->first[i ? i - 1 : 0]);
    if (i == 0) /* congestion control changes its rate often; the program's limit seldom changes */
        seen.kernel_pace_bytes_per_s = 0;
    return seen;
}

struct pl_samples_seen pl_samples_near(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss)
{
    struct pl_samples_seen seen = pl_samples_over(samples, t0_ns, t1_ns, mss);
    if (seen.n || samples->n == 0)
        return seen;
    size_t next = samples->at;
    bool behind =
        next == 0 || (next < samples->n && samples->first[next].t_ns - t1_ns < t0_ns - samples->first[next - 1].t_ns);
    see(&seen, samples, behind ? next : next - 1, mss);
    return seen;
}

/* The index of the first sample after t_ns. */
static size_t first_behind(const struct pl_samples_of *samples, int64_t t_ns)
{
    size_t low = 0, high = samples->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (samples->first[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum pl_counted pl_samples_timeout(const struct pl_samples_of *samples, int64_t t_ns)
{
    size_t at = first_behind(samples, t_ns + PL_COUNTED_NEAR_NS),
           before = first_behind(samples, t_ns - PL_COUNTED_NEAR_NS);
    if (at == samples->n || samples->first[at].total_rto == PL_NO_TOTAL_RTO)
        return PL_COUNTED_UNKNOWN;
    if (samples->first[at].total_rto == (before ? samples->first[before - 1].total_rto : 0))
        return PL_COUNTED_NONE;
    bool one = before && samples->first[at].t_ns - samples->first[before - 1].t_ns < PL_TIMEOUTS_APART_NS;
    return one ? PL_COUNTED_ONE : PL_COUNTED_UNKNOWN;
}

/* The increase of the counter between two samples; 0: not known. */
static double counted_ns(const struct pl_send_sample *from, const struct pl_send_sample *to, enum pl_counter counter)
{
    bool known = from->counted_us[counter] != PL_NOT_COUNTED && to->counted_us[counter] != PL_NOT_COUNTED;
    return known ? ((double)to->counted_us[counter] - (double)from->counted_us[counter]) * 1e3 : 0;
}

/* Whether a counter advanced during more than half of a span. The two samples used may lie outside the span; their
 * distance from it counts as error. */
static bool surely_counted(const struct pl_send_sample *from, const struct pl_send_sample *to, enum pl_counter counter,
                           int64_t t0_ns, int64_t t1_ns)
{
    int64_t before_ns = t0_ns > from->t_ns ? t0_ns - from->t_ns : 0;
    int64_t behind_ns = to->t_ns > t1_ns ? to->t_ns - t1_ns : 0;
    return counted_ns(from, to, counter) - (double)(before_ns + behind_ns) > (double)(t1_ns - t0_ns) / 2;
}

/* Whether the counter advanced during more than half of a span. A counter is known only at samples and in steps of a
 * jiffy, so its increase over the span is known within bounds. By the first sample, the connection may have counted the
 * whole value before the span. */
enum pl_answer pl_samples_counted(const struct pl_samples_of *samples, enum pl_counter counter, int64_t t0_ns,
                                  int64_t t1_ns)
{
    size_t behind = first_behind(samples, t1_ns - 1), before = first_behind(samples, t0_ns);
    for (size_t from = before ? before - 1 : 0; from <= before && from < behind; from++)
        for (size_t to = behind - 1; to <= behind && to < samples->n; to++)
            if (from < to && surely_counted(&samples->first[from], &samples->first[to], counter, t0_ns, t1_ns))
                return PL_YES;
    if (behind == samples->n)
        return PL_UNKNOWN;
    const struct pl_send_sample *to = &samples->first[behind], *from = before ? &samples->first[before - 1] : NULL;
    if (to->counted_us[counter] == PL_NOT_COUNTED || (from && from->counted_us[counter] == PL_NOT_COUNTED))
        return PL_UNKNOWN;
    double most_ns = ((double)to->counted_us[counter] - (from ? (double)from->counted_us[counter] : 0)) * 1e3;
    return most_ns < (double)(t1_ns - t0_ns) / 2 ? PL_NO : PL_UNKNOWN;
}
