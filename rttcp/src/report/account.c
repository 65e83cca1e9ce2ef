/* Makes this end's account of a flow that has ended; report.h has the interface. */
#include <stdio.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "report.h"
#include "sock.h"
#include "window.h"

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NC_NS_PER_S + (uint64_t)time.tv_usec * NC_NS_PER_US;
}

static void fill_usage(struct rttcp_side *side, const struct rusage *before)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    side->cpu_user_ns = timeval_ns(now.ru_utime) - timeval_ns(before->ru_utime);
    side->cpu_system_ns = timeval_ns(now.ru_stime) - timeval_ns(before->ru_stime);
    side->voluntary_switches = (uint64_t)(now.ru_nvcsw - before->ru_nvcsw);
    side->involuntary_switches = (uint64_t)(now.ru_nivcsw - before->ru_nivcsw);
    side->minor_faults = (uint64_t)(now.ru_minflt - before->ru_minflt);
    side->major_faults = (uint64_t)(now.ru_majflt - before->ru_majflt);
    side->maxrss_bytes = (uint64_t)now.ru_maxrss * 1024;
}

static struct rttcp_stream_account account_of(const struct rttcp_transfer *stream)
{
    struct rttcp_side socket_side = {0};
    struct rttcp_tcpinfo info = {0};
    struct rttcp_stream_account account = {.stream = stream->stream,
                                           .bytes = rttcp_transfer_moved(stream),
                                           .calls = stream->calls,
                                           .first_byte_ns = stream->first_byte_ns,
                                           .last_byte_ns = stream->last_byte_ns};
    rttcp_tcpinfo_take(stream->fd, &info);
    rttcp_side_describe(stream->fd, &socket_side);
    account.retransmits = rttcp_tcpinfo_get(&info, "total_retrans");
    account.options = rttcp_tcpinfo_get(&info, "options");
    account.ecn_mode = rttcp_tcpinfo_get(&info, "ecn_mode");
    account.mss_bytes = socket_side.mss_bytes;
    memcpy(account.congestion, socket_side.congestion, sizeof account.congestion);
    memcpy(account.local, stream->local, sizeof account.local);
    memcpy(account.remote, stream->remote, sizeof account.remote);
    if (!stream->verify)
        return account;
    const struct rttcp_mismatch *mismatch = &stream->verify->mismatch;
    rttcp_verify_digest(stream->verify, account.digest);
    account.bad_reads = stream->verify->bad_reads;
    account.mismatch = mismatch->found;
    account.mismatch_offset = mismatch->offset;
    memcpy(account.expected, mismatch->expected, sizeof mismatch->expected);
    memcpy(account.got, mismatch->got, sizeof mismatch->got);
    return account;
}

/* Returns the average rate up to the last byte. It begins at the end of the omitted time or, when nothing is omitted,
 * at the first byte. */
static uint64_t steady_bps(const struct rttcp_side *side, const struct rttcp_meter *meter)
{
    uint64_t from = meter->omitted_ns ? meter->omitted_ns : side->first_byte_ns;
    return side->last_byte_ns > from ? rttcp_bps(side->bytes - meter->omitted_bytes, side->last_byte_ns - from) : 0;
}

static void fill_meter(struct rttcp_side *side, struct rttcp_meter *meter)
{
    side->window_seen_max_bytes = meter->window_seen_max_bytes;
    side->peak_bps = meter->peak_bps;
    side->steady_bps = steady_bps(side, meter);
    side->intervals_dropped = meter->intervals_dropped;
    json_decref(side->intervals);
    side->intervals = meter->intervals;
    meter->intervals = NULL;
}

/* Adds a stream: the earliest first byte and the latest last byte of all streams, and sums of everything else. */
static void add_stream(struct rttcp_side *side, const struct rttcp_transfer *stream)
{
    struct rttcp_stream_account account = account_of(stream);
    if (account.first_byte_ns && (!side->first_byte_ns || account.first_byte_ns < side->first_byte_ns))
        side->first_byte_ns = account.first_byte_ns;
    if (account.last_byte_ns > side->last_byte_ns)
        side->last_byte_ns = account.last_byte_ns;
    side->bytes += account.bytes;
    side->calls += account.calls;
    side->retransmits += account.retransmits;
    side->window_clamp_resets += stream->window_clamp_resets;
    side->opening_bytes += stream->opening_bytes;
    json_array_append_new(side->streams, rttcp_stream_encode(&account));
}

static void fill_latency(struct rttcp_exchange_account *account, const struct nc_spread *latency)
{
    if (latency->n == 0)
        return;
    account->latency_min_ns = latency->min;
    account->latency_mean_ns = (uint64_t)(latency->sum / (double)latency->n + 0.5);
    account->latency_p50_ns = nc_spread_percentile(latency, 0.5);
    account->latency_p90_ns = nc_spread_percentile(latency, 0.9);
    account->latency_p99_ns = nc_spread_percentile(latency, 0.99);
    account->latency_p999_ns = nc_spread_percentile(latency, 0.999);
    account->latency_max_ns = latency->max;
}

/* Sums the streams' exchanges. The workers have ended, so the first stream's histogram may absorb the others. */
static void fill_exchange(struct rttcp_side *side, const struct rttcp_flow *flow)
{
    struct rttcp_exchange_account *account = &side->exchange;
    uint64_t begun_ns = UINT64_MAX, last_ns = 0;
    *account = (struct rttcp_exchange_account){0};
    for (uint64_t i = 0; i < flow->n; i++) {
        const struct rttcp_rr *rr = flow->streams[i].rr;
        account->exchanges += rr->exchanges;
        begun_ns = nc_min(begun_ns, rr->begun_ns);
        last_ns = nc_max(last_ns, rr->last_ns);
        if (i > 0)
            nc_spread_merge(&flow->streams[0].rr->latency, &rr->latency);
    }
    account->response_bytes = account->exchanges * flow->params->response_bytes;
    account->elapsed_ns = flow->sending && last_ns > begun_ns ? last_ns - begun_ns : 0;
    fill_latency(account, &flow->streams[0].rr->latency);
}

void rttcp_report_side(struct rttcp_side *side, struct rttcp_flow *flow)
{
    struct rttcp_tcpinfo info;
    const struct rttcp_transfer *first = &flow->streams[0];
    int fd = first->fd;
    fill_usage(side, &flow->before);
    json_decref(side->streams);
    side->streams = json_array();
    for (uint64_t i = 0; i < flow->n; i++)
        add_stream(side, &flow->streams[i]);
    side->elapsed_ns = flow->elapsed_ns;
    if (flow->sending && flow->confirmed)
        side->drain_ns = flow->elapsed_ns > side->last_byte_ns ? flow->elapsed_ns - side->last_byte_ns : 0;
    fill_meter(side, &flow->meter);
    side->has_exchange = flow->params->request_bytes > 0;
    if (side->has_exchange)
        fill_exchange(side, flow);
    rttcp_side_describe(fd, side);
    memcpy(side->local, first->local, sizeof side->local);
    memcpy(side->remote, first->remote, sizeof side->remote);
    side->window_clamp_bytes = flow->sending ? 0 : rttcp_window_clamp(fd);
    json_decref(side->tcp_info);
    side->tcp_info = rttcp_tcpinfo_take(fd, &info) ? rttcp_tcpinfo_encode(&info, false) : json_object();
}

void rttcp_report_window(struct rttcp_side *side, int fd, uint64_t window_bytes)
{
    struct rttcp_tcpinfo info = {0};
    rttcp_tcpinfo_take(fd, &info);
    side->window_scale = rttcp_tcpinfo_get(&info, "rcv_wscale");
    side->window_requested_bytes = window_bytes;
    side->window_granted_bytes = window_bytes ? rttcp_window_granted(window_bytes, side->window_scale) : 0;
}
