#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_log.h"

int rttcp_output_lock_create(void)
{
    return memfd_create("rttcp-output", MFD_CLOEXEC);
}

/* Takes or releases a POSIX record lock, which belongs to a process: forked children exclude each other on one
 * inherited descriptor, and a crash releases the lock. */
static void lock(const struct rttcp_output *output, short type)
{
    fflush(stdout);
    if (output->lock_fd >= 0)
        fcntl(output->lock_fd, F_SETLKW, &(struct flock){.l_type = type, .l_whence = SEEK_SET, .l_len = 1});
}

static void event(const struct rttcp_output *output, const char *name, json_t *fields)
{
    lock(output, F_WRLCK);
    nc_jsonl_event(stdout, name, fields);
    lock(output, F_UNLCK);
}

void rttcp_output_ready(const struct rttcp_output *output, uint16_t port, const char *where, json_t *sandbox)
{
    if (output->format == FORMAT_IPERF3)
        nc_log("ready at %s", where); /* stdout contains only the documents */
    else if (output->format == FORMAT_JSON)
        event(output, "ready", json_pack("{s:i, s:s, s:O}", "port", port, "address", where, "sandbox", sandbox));
    else
        printf("rttcp-r: ready at %s\n", where);
    json_decref(sandbox);
    fflush(stdout);
}

void rttcp_output_start(const struct rttcp_output *output, const struct rttcp_report *report)
{
    const struct rttcp_way *way = &report->ways[rttcp_report_main(report)];
    const struct rttcp_side *ours = report->params.forward ? &way->sender : &way->receiver;
    if (output->format == FORMAT_JSON)
        event(output, "start",
              json_pack("{s:s, s:o, s:s, s:s, s:I, s:I}", "session", report->session, "params",
                        rttcp_params_encode(&report->params), "local", ours->local, "remote", ours->remote,
                        "t0_monotonic_ns", (json_int_t)ours->t0_monotonic_ns, "t0_realtime_ns",
                        (json_int_t)ours->t0_realtime_ns));
    else if (output->format != FORMAT_IPERF3)
        printf("rttcp-t: %s -> %s\n", ours->local, ours->remote);
    if (output->format == FORMAT_HUMAN)
        rttcp_human_heading(stdout, report->params.forward > 0, report->params.request_bytes > 0);
    fflush(stdout);
}

static json_t *interval_fields(const struct rttcp_interval *interval)
{
    json_t *fields = json_pack("{s:I, s:I, s:I, s:I}", "start_ns", (json_int_t)interval->start_ns, "end_ns",
                               (json_int_t)interval->end_ns, "bytes", (json_int_t)interval->bytes, "bps",
                               (json_int_t)rttcp_bps(interval->bytes, interval->end_ns - interval->start_ns));
    if (interval->has_exchanges)
        json_object_set_new(fields, "exchanges", json_integer((json_int_t)interval->exchanges));
    return fields;
}

void rttcp_output_interval(const struct rttcp_output *output, const struct rttcp_interval *interval, bool sends,
                           const json_t *streams)
{
    if (output->format == FORMAT_JSON)
        event(output, "interval", interval_fields(interval));
    else if (output->format == FORMAT_HUMAN)
        rttcp_human_interval(stdout, interval, sends, streams);
    fflush(stdout);
}

static void classic(const struct rttcp_report *report)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (rttcp_report_has(report, d)) {
            rttcp_classic_print(stdout, 't', &report->params, &report->ways[d].sender);
            rttcp_classic_print(stdout, 'r', &report->params, &report->ways[d].receiver);
            if (report->params.request_bytes)
                rttcp_human_exchange(stdout, "rttcp-t: ", &report->params, &report->ways[d].sender.exchange);
        }
    if (report->error[0] || report->mismatch[0])
        printf("rttcp-%c: %s: %s\n", report->serving ? 'r' : 't', report->error[0] ? "incomplete" : "wrong",
               report->error[0] ? report->error : report->mismatch);
}

static void document(json_t *object)
{
    json_dumpf(object, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    fputc('\n', stdout);
    json_decref(object);
}

void rttcp_output_end(const struct rttcp_output *output, const struct rttcp_report *report)
{
    lock(output, F_WRLCK);
    switch (output->format) {
    case FORMAT_JSON:
        nc_jsonl_event(stdout, "end", rttcp_report_encode(report));
        break;
    case FORMAT_HUMAN:
        rttcp_human_end(stdout, report);
        break;
    case FORMAT_CLASSIC:
        classic(report);
        break;
    case FORMAT_IPERF3:
        document(rttcp_iperf3_encode(report));
        break;
    }
    lock(output, F_UNLCK);
}

void rttcp_output_refused(const struct rttcp_output *output, const char *peer, const struct nc_error *error)
{
    nc_log("%s: refused: %s", peer, error->text);
    if (output->format == FORMAT_JSON)
        event(
            output, "refused",
            json_pack("{s:s, s:i, s:o}", "peer", peer, "status", error->status, "message", nc_jsonl_text(error->text)));
}

void rttcp_output_stopped(const struct rttcp_output *output, uint64_t sessions, uint64_t failed)
{
    if (output->format == FORMAT_JSON)
        event(output, "stopped",
              json_pack("{s:I, s:I}", "sessions", (json_int_t)sessions, "failed", (json_int_t)failed));
    else if (output->format != FORMAT_IPERF3)
        printf("rttcp-r: %" PRIu64 " sessions served, %" PRIu64 " of them failed\n", sessions, failed);
    fflush(stdout);
}

void rttcp_output_error(const struct rttcp_output *output, const struct nc_error *error)
{
    if (output->format != FORMAT_JSON) {
        nc_log("%s", error->text);
        return;
    }
    lock(output, F_WRLCK);
    nc_log_error(stdout, error->status, "%s", error->text);
    lock(output, F_UNLCK);
}

/* Without a session no document was printed yet, so this prints one with "error", as iperf3 does. */
void rttcp_output_no_session(const struct rttcp_output *output, const struct nc_error *error)
{
    if (output->format == FORMAT_IPERF3)
        document(rttcp_iperf3_error(error->text));
    rttcp_output_error(output, error);
}

int rttcp_output_check(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    nc_log("stdout: %s; results are missing", errno ? strerror(errno) : "could not be written");
    return status == NC_EXIT_OK ? NC_EXIT_FAILED : status;
}
