#include "lines.h"

#include "nc_clock.h"
#include "nc_range.h"

uint64_t serial_line_send(struct serial_line *line, uint64_t rate_bps, uint64_t arrival_ns, uint32_t bytes)
{
    if (line->rate_bps != rate_bps || arrival_ns > line->exit_ns) {
        line->rate_bps = rate_bps;
        line->fraction = 0;
    }
    if (arrival_ns > line->exit_ns)
        line->exit_ns = arrival_ns;
    uint64_t scaled = (uint64_t)bytes * 8 * NC_NS_PER_S + line->fraction;
    line->exit_ns += scaled / rate_bps;
    line->fraction = scaled % rate_bps;
    return line->exit_ns;
}

uint64_t delay_line_send(struct delay_line *line, uint64_t delay_ns, uint64_t arrival_ns)
{
    line->exit_ns = nc_max(line->exit_ns, arrival_ns + delay_ns);
    return line->exit_ns;
}
