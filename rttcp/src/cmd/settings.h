/* The command line as a struct; settings.c holds the one table that names every option. */
#ifndef RTTCP_SETTINGS_H
#define RTTCP_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"
#include "key.h"
#include "message.h"
#include "nc_options.h"
#include "nc_sandbox.h"
#include "output.h"
#include "proxy.h"

struct rttcp_settings {
    bool receive;
    const char *transmit; /* host; NULL at the receiver */
    uint64_t port, data_port;
    const char *bind;
    bool ipv4, ipv6;
    bool once;
    struct nc_sandbox_choice sandbox;
    uint64_t sessions;                     /* at a time */
    uint64_t memory_bytes;                 /* of all sessions' buffers */
    uint64_t max_idle_ns, max_duration_ns; /* of a session */
    uint64_t repeat;
    struct rttcp_params params; /* parameters set by the sender's options; rttcp_settings_params() adds the rest */
    uint64_t buffers, exchanges;
    uint64_t parallel;
    bool reverse, bidir;
    const char *cpu, *peer_cpu;
    const char *key_file;
    struct rttcp_key key; /* made of key_file */
    const char *proxy_text;
    struct rttcp_proxy proxy; /* made of proxy_text */
    const char *congestion;
    bool nagle;
    uint64_t sample_ns;
    const char *samples, *latencies; /* files */
    bool json, human, classic;
    int format;
    bool format_given;
    bool parent_death;
};

/* Parses argv. For --help and for bad values it prints and exits (nc_options.h). Returns -1 with the error when options
 * contradict each other. */
int rttcp_settings_parse(struct rttcp_settings *settings, int argc, char **argv, struct nc_error *error);

/* The parameters that the sender proposes. */
struct rttcp_params rttcp_settings_params(const struct rttcp_settings *settings);

enum rttcp_format rttcp_settings_format(const struct rttcp_settings *settings, bool terminal);

#endif
