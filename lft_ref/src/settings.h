/* All settings of `lft-gateway run`: one row an option, and the same names as keys of the TOML file (config.c). */
#ifndef LFT_SETTINGS_H
#define LFT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_options.h"

enum settings_bypass { BYPASS_AUTO, BYPASS_ON, BYPASS_OFF };
extern const char *const settings_bypass_names[];

struct settings {
    const char *config, *listen, *peer, *psk_file, *control, *name;
    int carriage, cipher, recovery, rate_mode, bypass;
    bool no_redundancy, router, host, proxy_bypass, parent_death;
    struct nc_strings lan, forwards, socks5, http_connect;
    uint64_t rate_bps, host_rate_bps, fec_percent, mtu, window_frames, expected_rtt_ns, memory_tx_bytes, memory_rx_bytes, socket_buffer_bytes;
    uint64_t sessions_max, half_open_max, half_open_ns, idle_ns, notsent_lowat_bytes, poll_ns;
    uint64_t dead_ns, outage_max_ns, rekey_ns, drain_ns;
    uint64_t mark, table;
};

/* The rows and how many. */
const struct nc_option *settings_rows(size_t *n);
/* From a command line (argv[0] is the verb) with, before it, the file that --config names. Dies with one line on a bad value. The texts live as long
 * as the process. */
void settings_parse(int argc, char **argv, const struct nc_usage *usage, struct settings *settings);
/* What one row alone cannot say. 0, or -1 with a one-line reason. */
int settings_check(const struct settings *settings, char *why, size_t why_size);
/* Copies fill what a limit leaves; without a limit there is nothing left. */
bool settings_redundancy(const struct settings *settings);

#endif
