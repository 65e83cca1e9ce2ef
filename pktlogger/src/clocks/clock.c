/* Implements clock.h. */
#include "clock.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nc_quantity.h"

/* Whether a frame of the stepped capture comes after the step at the start of piece i. */
static bool is_behind(const struct pl_clock *clock, unsigned i, uint64_t frame, int64_t t_ns)
{
    const struct pl_clock_piece *piece = &clock->pieces[i];
    if (frame <= piece->after_frame || frame >= piece->from_frame)
        return frame >= piece->from_frame;
    bool forward = (piece->offset_ns > clock->pieces[i - 1].offset_ns) == (clock->stepped == 1);
    return forward ? t_ns >= piece->turn_ns : t_ns < piece->turn_ns;
}

static const struct pl_clock_piece *piece_at(const struct pl_clock *clock, uint64_t frame, int64_t t_ns)
{
    unsigned i = clock->piece_n - 1;
    while (i > 0 && !is_behind(clock, i, frame, t_ns))
        i--;
    return &clock->pieces[i];
}

/* Limits a time to the range of capture times, because the clock of a damaged capture can have any value. */
static int64_t within(int64_t t_ns)
{
    const int64_t latest_ns = INT64_C(1) << 62;
    return t_ns < 0 ? 0 : t_ns > latest_ns ? latest_ns : t_ns;
}

int64_t pl_clock_map(const struct pl_clock *clock, int end, uint64_t frame, int64_t t_ns)
{
    if (!clock->piece_n)
        return t_ns;
    const struct pl_clock_piece *piece = end == clock->stepped ? piece_at(clock, frame, t_ns) : &clock->pieces[0];
    if (!end)
        return within(t_ns + (piece->offset_ns - clock->pieces[0].offset_ns));
    int64_t ahead_ns = t_ns - piece->offset_ns; /* the time on the first clock, before the correction for drift */
    double drifted = clock->drift / (1 + clock->drift) * (double)(ahead_ns - clock->at_ns);
    return within(ahead_ns - llround(drifted));
}

/* Reads a signed duration that ends at a comma. */
static int parse_offset(const char *text, int64_t *offset_ns)
{
    char number[64];
    bool negative = *text == '-';
    uint64_t value;
    struct nc_error ignored;
    text += *text == '-' || *text == '+';
    size_t len = strcspn(text, ",");
    if (len >= sizeof number)
        return -1;
    memcpy(number, text, len);
    number[len] = '\0';
    if (nc_quantity_parse(NC_UNIT_DURATION, number, &value, &ignored) < 0 || value > INT64_MAX / 4)
        return -1;
    *offset_ns = negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

int pl_clock_parse(struct pl_clock *clock, const char *text, struct nc_error *error)
{
    *clock = (struct pl_clock){.kind = strcmp(text, "estimate") == 0 ? PL_CLOCK_UNKNOWN : PL_CLOCK_SAME,
                               .drift_error = -1,
                               .error_ns = -1,
                               .bound_ns = -1};
    if (clock->kind == PL_CLOCK_UNKNOWN || strcmp(text, "same") == 0)
        return 0;
    const char *comma = strchr(text, ',');
    char *end = NULL;
    double ppm = comma ? strtod(comma + 1, &end) : 0;
    clock->kind = PL_CLOCK_GIVEN;
    clock->piece_n = 1;
    if (comma && end != comma + 1 && !*end && fabs(ppm) <= 100000 &&
        parse_offset(text, &clock->pieces[0].offset_ns) == 0) {
        clock->drift = ppm * 1e-6;
        return 0;
    }
    return nc_fail(
        error, NC_EXIT_USAGE,
        "--clock '%s': allowed are same, estimate, and OFFSET,PPM with the time by which the receiver's clock "
        "is ahead and its drift, as in -300ms,20",
        text);
}

const char *pl_clock_name(const struct pl_clock *clock)
{
    static const char *const names[] = {[PL_CLOCK_SAME] = "same",
                                        [PL_CLOCK_GIVEN] = "given",
                                        [PL_CLOCK_UNKNOWN] = "unknown",
                                        [PL_CLOCK_ONE] = "one",
                                        [PL_CLOCK_TWO] = "two"};
    return names[clock->kind];
}
