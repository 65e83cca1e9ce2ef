/* Tables for people, in the familiar form of iperf3's. */
#include <inttypes.h>

#include "nc_clock.h"
#include "nc_quantity.h"
#include "output.h"

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NC_NS_PER_S;
}

/* "44.1 Mbit/s" */
static const char *rate(uint64_t bps, char *out, size_t size)
{
    static const char *const units[] = {"bit/s", "Kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    double value = (double)bps;
    size_t unit = 0;
    for (; value >= 1000 && unit < sizeof units / sizeof units[0] - 1; unit++)
        value /= 1000;
    snprintf(out, size, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[unit]);
    return out;
}

/* "76.3 MB", 1 MB = 2^20 bytes */
static const char *volume(uint64_t bytes, char *out, size_t size)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit < sizeof units / sizeof units[0] - 1; unit++)
        value /= 1024;
    snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}

void rttcp_human_heading(FILE *out, bool sends, bool exchanges)
{
    if (exchanges)
        return;
    fprintf(out, "%19s  %10s  %12s%s\n", "interval", sends ? "written" : "read", "rate",
            sends ? "   retr        cwnd       rtt" : "");
}

/* Columns about a sender's TCP in an interval: sums over its streams, and their mean round-trip time. */
static void print_details(FILE *out, const json_t *streams)
{
    size_t i, n = json_array_size(streams);
    json_t *row;
    json_int_t retransmits = 0, cwnd = 0, rtt_us = 0;
    char window[32];
    json_array_foreach(streams, i, row)
    {
        retransmits += json_integer_value(json_array_get(row, DETAIL_RETRANSMITS));
        cwnd += json_integer_value(json_array_get(row, DETAIL_CWND_BYTES));
        rtt_us += json_integer_value(json_array_get(row, DETAIL_RTT_US));
    }
    if (n)
        fprintf(out, "  %5" JSON_INTEGER_FORMAT "  %10s  %5.1f ms", retransmits,
                volume((uint64_t)cwnd, window, sizeof window), (double)rtt_us / (double)n / 1000);
}

void rttcp_human_interval(FILE *out, const struct rttcp_interval *interval, bool sends, const json_t *streams)
{
    char bytes[32], bps[32];
    if (interval->has_exchanges) {
        fprintf(out, "%8.2f-%-8.2f s  %10" PRIu64 " exchanges\n", seconds(interval->start_ns),
                seconds(interval->end_ns), interval->exchanges);
        return;
    }
    /* a sender that only waits for the confirmation gets no rate, because the rate would include the waiting time */
    bool drains = sends && !interval->full;
    fprintf(out, "%8.2f-%-8.2f s  %10s  %12s", seconds(interval->start_ns), seconds(interval->end_ns),
            volume(interval->bytes, bytes, sizeof bytes),
            drains ? "" : rate(rttcp_bps(interval->bytes, interval->end_ns - interval->start_ns), bps, sizeof bps));
    if (sends)
        print_details(out, streams);
    fprintf(out, "%s\n", drains ? "  the last octets, until all are acknowledged" : "");
}

static void print_side(FILE *out, const char *role, const struct rttcp_side *side)
{
    char bytes[32], bps[32];
    double busy =
        side->elapsed_ns ? 100.0 * (double)(side->cpu_user_ns + side->cpu_system_ns) / (double)side->elapsed_ns : 0;
    fprintf(out, "  %-9s %10s in %8.3f s  %12s  cpu %5.1f %%  %" PRIu64 " calls  mss %" PRIu64 "\n", role,
            volume(side->bytes, bytes, sizeof bytes), seconds(side->elapsed_ns),
            rate(rttcp_bps(side->bytes, side->elapsed_ns), bps, sizeof bps), busy, side->calls, side->mss_bytes);
}

void rttcp_human_exchange(FILE *out, const char *lead, const struct rttcp_params *params,
                          const struct rttcp_exchange_account *account)
{
    fprintf(out,
            "%s%" PRIu64 " exchanges of %" PRIu64 " and %" PRIu64
            " bytes, %.2f a second; latency ms: min %.3f mean %.3f p50 %.3f p90 %.3f p99 %.3f p99.9 %.3f max %.3f\n",
            lead, account->exchanges, params->request_bytes, params->response_bytes,
            rttcp_report_exchanges_per_s(account), seconds(account->latency_min_ns) * 1000,
            seconds(account->latency_mean_ns) * 1000, seconds(account->latency_p50_ns) * 1000,
            seconds(account->latency_p90_ns) * 1000, seconds(account->latency_p99_ns) * 1000,
            seconds(account->latency_p999_ns) * 1000, seconds(account->latency_max_ns) * 1000);
}

static void print_way(FILE *out, const struct rttcp_report *report, int direction)
{
    const struct rttcp_way *way = &report->ways[direction];
    const struct rttcp_summary *summary = &way->summary;
    char average[32], steady[32], peak[32], window[32] = "tuned by the kernel";
    if (report->params.window_bytes)
        nc_quantity_format(NC_UNIT_BYTES, way->receiver.window_granted_bytes, window, sizeof window);
    size_t streams = json_array_size(way->sender.streams);
    fprintf(out, "%s -> %s, %zu stream%s, congestion control %s, window %s\n", way->sender.local, way->sender.remote,
            streams, streams == 1 ? "" : "s", way->sender.congestion, window);
    print_side(out, "sender", &way->sender);
    print_side(out, "receiver", &way->receiver);
    fprintf(out,
            "  short-term average %s, steady %s, peak %s, connect %.3f ms, drain %.3f ms, %" PRIu64
            " retransmissions\n",
            rate(summary->short_term_bps, average, sizeof average), rate(summary->steady_bps, steady, sizeof steady),
            rate(summary->peak_bps, peak, sizeof peak), seconds(summary->connect_ns) * 1000,
            seconds(summary->drain_ns) * 1000, summary->retransmits);
    if (report->params.request_bytes)
        rttcp_human_exchange(out, "  ", &report->params, &way->sender.exchange);
    if (report->params.verify)
        fprintf(out, "  content verified: %s\n", summary->verified);
    json_t *verdict = rttcp_report_verdict(report, direction), *reason;
    size_t i;
    json_array_foreach(json_object_get(verdict, "reasons"), i, reason)
        fprintf(out, "  not valid: %s\n", json_string_value(reason));
    json_decref(verdict);
}

void rttcp_human_end(FILE *out, const struct rttcp_report *report)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (rttcp_report_has(report, d))
            print_way(out, report, d);
}
