#include "tcpinfo.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "nc_clock.h"

enum layout { ANY_KERNEL, BEFORE_7, SINCE_7 }; /* which kernels have a field there */

struct info_field {
    const char *name;
    uint16_t offset;
    uint8_t bytes;
    uint8_t shift, bits; /* bits 0: the whole field */
    enum layout layout;
};

#define AT(member) offsetof(struct tcp_info, tcpi_##member)
#define PLAIN(member) {#member, AT(member), sizeof(((struct tcp_info *)0)->tcpi_##member), 0, 0, ANY_KERNEL}
#define UNIT(member, suffix)                                                                                           \
    {#member "_" #suffix, AT(member), sizeof(((struct tcp_info *)0)->tcpi_##member), 0, 0, ANY_KERNEL}
#define AFTER_SND_WND(bytes) ((uint16_t)(AT(snd_wnd) + 4 + (bytes))) /* newer than some headers we build with */

/* clang-format off */
static const struct info_field fields[] = {
    PLAIN(state), PLAIN(ca_state), PLAIN(retransmits), PLAIN(probes), PLAIN(backoff), PLAIN(options),
    {"snd_wscale", 6, 1, 0, 4, ANY_KERNEL}, {"rcv_wscale", 6, 1, 4, 4, ANY_KERNEL},
    {"delivery_rate_app_limited", 7, 1, 0, 1, ANY_KERNEL}, {"fastopen_client_fail", 7, 1, 1, 2, ANY_KERNEL},
    UNIT(rto, us), UNIT(ato, us), PLAIN(snd_mss), PLAIN(rcv_mss),
    PLAIN(unacked), PLAIN(sacked), PLAIN(lost), PLAIN(retrans), PLAIN(fackets),
    UNIT(last_data_sent, ms), UNIT(last_ack_sent, ms), UNIT(last_data_recv, ms), UNIT(last_ack_recv, ms),
    PLAIN(pmtu), PLAIN(rcv_ssthresh), UNIT(rtt, us), UNIT(rttvar, us), PLAIN(snd_ssthresh), PLAIN(snd_cwnd),
    PLAIN(advmss), PLAIN(reordering), UNIT(rcv_rtt, us), PLAIN(rcv_space), PLAIN(total_retrans),
    UNIT(pacing_rate, bytes_per_s), UNIT(max_pacing_rate, bytes_per_s), PLAIN(bytes_acked), PLAIN(bytes_received),
    PLAIN(segs_out), PLAIN(segs_in), PLAIN(notsent_bytes), UNIT(min_rtt, us), PLAIN(data_segs_in), PLAIN(data_segs_out),
    UNIT(delivery_rate, bytes_per_s), UNIT(busy_time, us), UNIT(rwnd_limited, us), UNIT(sndbuf_limited, us),
    PLAIN(delivered), PLAIN(delivered_ce), PLAIN(bytes_sent), PLAIN(bytes_retrans), PLAIN(dsack_dups),
    PLAIN(reord_seen),
    PLAIN(rcv_ooopack), PLAIN(snd_wnd),
    {"rcv_wnd", AFTER_SND_WND(0), 4, 0, 0, ANY_KERNEL}, {"rehash", AFTER_SND_WND(4), 4, 0, 0, ANY_KERNEL},
    {"total_rto", AFTER_SND_WND(8), 2, 0, 0, ANY_KERNEL},
    {"total_rto_recoveries", AFTER_SND_WND(10), 2, 0, 0, ANY_KERNEL},
    {"total_rto_time_ms", AFTER_SND_WND(12), 4, 0, 0, ANY_KERNEL},
    {"received_ce", AFTER_SND_WND(16), 4, 0, 0, ANY_KERNEL},
    {"delivered_e1_bytes", AFTER_SND_WND(20), 4, 0, 0, ANY_KERNEL},
    {"delivered_e0_bytes", AFTER_SND_WND(24), 4, 0, 0, ANY_KERNEL},
    {"delivered_ce_bytes", AFTER_SND_WND(28), 4, 0, 0, ANY_KERNEL},
    {"received_e1_bytes", AFTER_SND_WND(32), 4, 0, 0, ANY_KERNEL},
    {"received_e0_bytes", AFTER_SND_WND(36), 4, 0, 0, ANY_KERNEL},
    {"received_ce_bytes", AFTER_SND_WND(40), 4, 0, 0, ANY_KERNEL},
    {"accecn_fail_mode", AFTER_SND_WND(44), 2, 0, 0, BEFORE_7},
    {"accecn_opt_seen", AFTER_SND_WND(46), 2, 0, 0, BEFORE_7},
    {"ecn_mode", AFTER_SND_WND(44), 1, 0, 2, SINCE_7}, {"accecn_opt_seen", AFTER_SND_WND(44), 1, 2, 2, SINCE_7},
    {"accecn_fail_mode", AFTER_SND_WND(44), 1, 4, 4, SINCE_7},
};
/* clang-format on */
#define FIELDS (sizeof fields / sizeof fields[0])

static const char *const cc_names[RTTCP_CC_WORDS] = {"cc_0", "cc_1", "cc_2", "cc_3", "cc_4"};

/* Bit fields in the bytes after `options`: snd_wscale, rcv_wscale, then the flags. */
_Static_assert(offsetof(struct tcp_info, tcpi_options) == 5 && offsetof(struct tcp_info, tcpi_rto) == 8, "bit fields");
_Static_assert(AFTER_SND_WND(48) <= RTTCP_TCPINFO_BYTES, "every field fits the sample");

bool rttcp_tcpinfo_take(int fd, struct rttcp_tcpinfo *info)
{
    socklen_t size = sizeof info->raw;
    info->stream = info->cc_words = info->queued_bytes = info->sndbuf_bytes = 0;
    info->opening_bytes = info->waiting_bytes = 0;
    info->local_port = info->remote_port = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info->raw, &size) < 0)
        return false;
    info->t_ns = nc_now_ns();
    info->filled = size;
    return true;
}

void rttcp_tcpinfo_take_rest(int fd, struct rttcp_tcpinfo *info)
{
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t size = sizeof info->cc, memory_size = sizeof memory;
    info->cc_words = getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, info->cc, &size) < 0 ? 0 : size / sizeof info->cc[0];
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &memory_size) == 0) {
        info->queued_bytes = memory[SK_MEMINFO_WMEM_QUEUED];
        info->sndbuf_bytes = memory[SK_MEMINFO_SNDBUF];
    }
}

static uint64_t value_of(const struct rttcp_tcpinfo *info, const struct info_field *field)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    const uint8_t *at = info->raw + field->offset;
    switch (field->bytes) {
    case 1:
        memcpy(&u8, at, 1);
        return field->bits ? (uint64_t)(u8 >> field->shift & ((1 << field->bits) - 1)) : u8;
    case 2:
        memcpy(&u16, at, 2);
        return u16;
    case 4:
        memcpy(&u32, at, 4);
        return u32;
    default:
        memcpy(&u64, at, 8);
        return u64;
    }
}

/* Linux 7.0 turned two fields of AccECN into bit fields. The struct has the same length as before, so its length does
 * not show which layout it has. */
static bool is_of_this_kernel(enum layout layout)
{
    struct utsname kernel;
    if (layout == ANY_KERNEL)
        return true;
    return uname(&kernel) == 0 && (strtol(kernel.release, NULL, 10) >= 7) == (layout == SINCE_7);
}

static bool has(const struct rttcp_tcpinfo *info, const struct info_field *field)
{
    return (uint32_t)field->offset + field->bytes <= info->filled && is_of_this_kernel(field->layout);
}

uint64_t rttcp_tcpinfo_get(const struct rttcp_tcpinfo *info, const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0 && has(info, &fields[i]))
            return value_of(info, &fields[i]);
    return 0;
}

json_t *rttcp_tcpinfo_encode(const struct rttcp_tcpinfo *info, bool with_time)
{
    json_t *object = json_object();
    if (with_time) {
        json_object_set_new(object, "t_ns", json_integer((json_int_t)info->t_ns));
        json_object_set_new(object, "stream", json_integer((json_int_t)info->stream));
    }
    if (info->local_port) {
        json_object_set_new(object, "local_port", json_integer(info->local_port));
        json_object_set_new(object, "remote_port", json_integer(info->remote_port));
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (!has(info, &fields[i]))
            continue;
        uint64_t value = value_of(info, &fields[i]);
        if (value > INT64_MAX) /* "no limit", in max_pacing_rate */
            value = INT64_MAX;
        json_object_set_new(object, fields[i].name, json_integer((json_int_t)value));
    }
    for (uint32_t i = 0; i < info->cc_words; i++)
        json_object_set_new(object, cc_names[i], json_integer(info->cc[i]));
    if (info->sndbuf_bytes) {
        json_object_set_new(object, "queued_bytes", json_integer(info->queued_bytes));
        json_object_set_new(object, "sndbuf_bytes", json_integer(info->sndbuf_bytes));
    }
    if (with_time && !info->local_port) {
        json_object_set_new(object, "opening_bytes", json_integer((json_int_t)info->opening_bytes));
        json_object_set_new(object, "waiting_bytes", json_integer((json_int_t)info->waiting_bytes));
    }
    return object;
}

#define CHUNK 1024
struct rttcp_sample_chunk {
    struct rttcp_sample_chunk *next;
    size_t n;
    struct rttcp_tcpinfo at[CHUNK];
};

void rttcp_samples_add(struct rttcp_samples *samples, const struct rttcp_tcpinfo *info)
{
    if (!samples->last || samples->last->n == CHUNK) {
        struct rttcp_sample_chunk *chunk = samples->n < RTTCP_SAMPLES_MAX ? malloc(sizeof *chunk) : NULL;
        if (!chunk) {
            samples->dropped++;
            return;
        }
        chunk->next = NULL;
        chunk->n = 0;
        if (samples->last)
            samples->last->next = chunk;
        else
            samples->first = chunk;
        samples->last = chunk;
    }
    samples->last->at[samples->last->n++] = *info;
    samples->n++;
}

static bool write_series(const struct rttcp_samples *samples, FILE *file)
{
    bool failed = false;
    for (const struct rttcp_sample_chunk *chunk = samples->first; chunk; chunk = chunk->next)
        for (size_t i = 0; i < chunk->n && !failed; i++) {
            json_t *line = rttcp_tcpinfo_encode(&chunk->at[i], true);
            failed = json_dumpf(line, file, JSON_COMPACT) < 0 || fputc('\n', file) == EOF;
            json_decref(line);
        }
    return !failed;
}

FILE *rttcp_file_open(const char *option, const char *path, struct nc_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        nc_fail(error, NC_EXIT_USAGE, "--%s '%s': %s", option, path, strerror(errno));
    return file;
}

int rttcp_samples_write(const struct rttcp_samples *const *series, size_t n, FILE *file, const char *path,
                        struct nc_error *error)
{
    bool written = true;
    for (size_t i = 0; i < n && written; i++)
        written = write_series(series[i], file);
    int failed = errno;
    if (fclose(file) != 0) {
        failed = written ? errno : failed;
        written = false;
    }
    return written ? 0
                   : nc_fail(error, NC_EXIT_FAILED, "--samples '%s': %s; not all of it was written", path,
                             strerror(failed));
}

void rttcp_samples_release(struct rttcp_samples *samples)
{
    for (struct rttcp_sample_chunk *chunk = samples->first, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *samples = (struct rttcp_samples){0};
}
