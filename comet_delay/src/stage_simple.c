/* The stages that need only a few lines: access line and delay. */
#include "stage.h"

#include "nc_clock.h"

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

void stage_access(struct serial_line *line, const struct params *params, struct wire_packet *packet)
{
    if (params->access_rate_bps)
        packet->time_ns =
            serial_line_send(line, params->access_rate_bps, packet->time_ns, stage_line_bytes(params, packet));
    else if (packet->time_ns < line->exit_ns) /* the line was just taken away: those before go first */
        packet->time_ns = line->exit_ns;
}

void stage_delay(uint64_t *last_ns, uint64_t delay_ns, struct wire_packet *packet)
{
    packet->time_ns += delay_ns;
    if (packet->time_ns < *last_ns)
        packet->time_ns = *last_ns;
    *last_ns = packet->time_ns;
}
