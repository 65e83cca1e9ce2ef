/* All settings of `lft-gateway run`. Each is one row of a table, which makes it an option of the command line and a
 * key of the TOML file (config_file.h). */
#ifndef LFT_SETTINGS_H
#define LFT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_options.h"
#include "nc_sandbox.h"
#include "wire.h"

/* The smallest --mtu: a frame of LFT_PAYLOAD_MIN octets with the widest padding (3des-cbc) and the longest outer
 * headers (IPv6 and UDP). */
enum {
    SETTINGS_MTU_MIN = (LFT_PAYLOAD_MIN + LFT_TRAILER_BYTES + 7) / 8 * 8 + LFT_HEADER_BYTES + LFT_ICV_BYTES + 40 + 8
};

enum settings_bypass { BYPASS_AUTO, BYPASS_ON, BYPASS_OFF };
extern const char *const settings_bypass_names[];

struct settings {
    struct nc_sandbox_choice sandbox;
    const char *config, *listen, *peer, *psk_file, *gateway_name, *peer_name, *control, *name;
    int carriage, cipher, recovery, rate_mode, bypass;
    bool no_redundancy, router, host, proxy_bypass, allow_loopback, parent_death;
    struct nc_strings lan, forwards, socks5, http_connect, exclude, allow, deny;
    uint64_t rate_bps, host_rate_bps, rate_burst_ns, fec_percent, mtu, expected_rtt_ns, memory_tx_bytes,
        memory_rx_bytes, socket_buffer_bytes;
    uint64_t sessions_max, half_open_max, half_open_ns, idle_ns, poll_ns;
    uint64_t dead_ns, outage_max_ns, rekey_ns, drain_ns;
    uint64_t mark, table;
};

/* Returns the table of all settings; *n becomes its number of rows. */
const struct nc_option *settings_rows(size_t *n);
/* Parses a command line, whose argv[0] is the verb, after the file that its --config names. On a bad value it exits
 * with one line. The texts remain valid as long as the process. */
void settings_parse(int argc, char **argv, const struct nc_usage *usage, struct settings *settings);
/* Checks the conditions that involve several settings. Returns 0, or -1 with the reason. */
int settings_check(const struct settings *settings, struct nc_error *error);
/* Whether to send redundant copies. They use the capacity below the limit that other frames leave free, so they need a
 * limit. */
bool settings_redundancy(const struct settings *settings);

#endif
