#include "verdict.h"

#include "lateness.h"

static void add_count(json_t *reasons, const char *direction, uint64_t n, const char *what)
{
    if (n)
        json_array_append_new(reasons, json_sprintf("%s: %llu %s", direction, (unsigned long long)n, what));
}

static void add_lateness(json_t *reasons, const char *direction, const struct histogram *lateness, uint64_t limit_ns)
{
    uint64_t p99_ns = histogram_percentile(lateness, 0.99);
    char text[100];
    if (lateness->count && p99_ns > limit_ns)
        json_array_append_new(reasons, json_string(lateness_reason(direction, p99_ns, limit_ns, text, sizeof text)));
}

json_t *verdict_json(const struct verdict_of of[2], uint64_t limit_ns)
{
    static const char *const names[2] = {"ab", "ba"};
    json_t *reasons = json_array();
    for (int d = 0; d < 2; d++) {
        add_count(reasons, names[d], of[d].dropped_memory, "packets dropped for want of memory");
        add_count(reasons, names[d], of[d].malformed, "malformed frames dropped");
        add_count(reasons, names[d], of[d].not_taken, "packets that the far port did not take");
        add_count(reasons, names[d], of[d].dropped_unread, "packets dropped before the box could read them");
        add_count(reasons, names[d], of[d].unrecorded, "packets not in the record for want of room");
        if (of[d].port_gone)
            json_array_append_new(reasons, json_sprintf("port %c: its interface was deleted", 'a' + d));
        add_lateness(reasons, names[d], of[d].lateness, limit_ns);
    }
    return json_pack("{s:b, s:o}", "valid", json_array_size(reasons) == 0, "reasons", reasons);
}
