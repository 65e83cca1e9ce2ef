/* The state that a running gateway shows, and the settings that may be changed. */
#include <string.h>
#include <time.h>

#include "gateway_internal.h"
#include "nc_clock.h"
#include "nc_jsonl.h"

#define COUNT(object, counters, field) json_object_set_new(object, #field, json_integer((json_int_t)(counters)->field))

static json_t *io_json(const struct io_counters *c)
{
    json_t *o = json_object();
    COUNT(o, c, rx_reads), COUNT(o, c, rx_datagrams), COUNT(o, c, rx_overflows), COUNT(o, c, tx_batches),
        COUNT(o, c, tx_datagrams);
    COUNT(o, c, tx_blocked), COUNT(o, c, tx_too_big), COUNT(o, c, tx_failed);
    return o;
}

static json_t *relay_json(const struct relay *relay)
{
    const struct relay_counters *c = relay_counters(relay);
    json_t *o = json_object();
    COUNT(o, c, near_accepted), COUNT(o, c, near_refused), COUNT(o, c, near_direct), COUNT(o, c, near_limited),
        COUNT(o, c, far_connects), COUNT(o, c, far_failed), COUNT(o, c, far_not_allowed);
    COUNT(o, c, idle_closed), COUNT(o, c, half_open_expired), COUNT(o, c, half_open_evicted),
        COUNT(o, c, places_evicted), COUNT(o, c, sockets_evicted);
    COUNT(o, c, accepts_without_descriptor), COUNT(o, c, connects_without_descriptor),
        COUNT(o, c, names_without_memory);
    COUNT(o, c, far_no_resources);
    COUNT(o, c, resets_in), COUNT(o, c, resets_out), COUNT(o, c, bytes_in), COUNT(o, c, bytes_out);
    json_object_set_new(o, "connections", json_integer((json_int_t)relay_connections(relay)));
    json_object_set_new(o, "half_open", json_integer((json_int_t)relay_half_open(relay)));
    return o;
}

static json_t *session_json(const struct lft_session *session)
{
    const struct lft_session_counters *c = lft_session_counters(session);
    struct lft_session_state state, *s = &state;
    json_t *o = json_object();
    lft_session_state(session, &state);
    COUNT(o, c, opened_here), COUNT(o, c, opened_there), COUNT(o, c, accepted), COUNT(o, c, refused),
        COUNT(o, c, finished), COUNT(o, c, reset_here);
    COUNT(o, c, reset_there), COUNT(o, c, tx_bytes), COUNT(o, c, rx_bytes), COUNT(o, c, rx_malformed),
        COUNT(o, c, rx_credit_violations);
    COUNT(o, c, streams_refused_full), COUNT(o, s, streams), COUNT(o, s, streams_active),
        COUNT(o, s, streams_lingering);
    COUNT(o, s, tx_queued_bytes), COUNT(o, s, rx_queued_bytes);
    return o;
}

static json_t *engine_json(struct lft_engine *engine, uint64_t now_ns)
{
    if (!engine)
        return json_null();
    const struct lft_engine_counters *c = lft_engine_counters(engine);
    struct lft_engine_state state, *s = &state;
    json_t *o = json_object(), *classes = json_object();
    lft_engine_state(engine, now_ns, &state);
    for (unsigned i = 0; i < LFT_CLASSES; i++)
        json_object_set_new(classes, lft_class_names[i],
                            json_pack("{s:I, s:I}", "frames", (json_int_t)c->tx_frames[i], "wire_bytes",
                                      (json_int_t)c->tx_wire_bytes[i]));
    json_object_set_new(o, "sent", classes);
    COUNT(o, c, tx_payload_bytes), COUNT(o, c, tx_repairs), COUNT(o, c, tx_probes), COUNT(o, c, timeouts),
        COUNT(o, c, go_backs), COUNT(o, c, declared_lost);
    COUNT(o, c, spurious), COUNT(o, c, rx_frames), COUNT(o, c, rx_wire_bytes), COUNT(o, c, rx_payload_bytes),
        COUNT(o, c, rx_delivered);
    COUNT(o, c, rx_duplicates), COUNT(o, c, rx_out_of_order_discarded), COUNT(o, c, rx_recovered),
        COUNT(o, c, rx_replayed), COUNT(o, c, rx_beyond_window);
    COUNT(o, c, rx_malformed), COUNT(o, c, rx_unknown_command), COUNT(o, c, rx_no_memory), COUNT(o, c, rx_bad_ack);
    COUNT(o, s, srtt_ns), COUNT(o, s, min_rtt_ns), COUNT(o, s, queue_delay_ns), COUNT(o, s, rate_bps),
        COUNT(o, s, loss_ppb);
    COUNT(o, s, unacknowledged_frames), COUNT(o, s, next_number), COUNT(o, s, expected_number), COUNT(o, s, tx_buffers),
        COUNT(o, s, rx_buffers);
    return o;
}

static json_t *tunnel_json(const struct gateway *gateway, uint64_t now_ns)
{
    const struct lft_link_counters *c = lft_link_counters(gateway->link);
    const struct lft_handshake_counters *h = lft_link_handshake_counters(gateway->link);
    struct lft_address peer = lft_link_peer(gateway->link);
    struct sockaddr_storage address = {0};
    char text[80], contention[CONTENTION_TEXT_BYTES];
    memcpy(&address, peer.at, peer.n);
    json_t *o = json_object(), *handshake = json_object();
    json_object_set_new(o, "status", json_string(lft_link_status_names[lft_link_status(gateway->link)]));
    json_object_set_new(o, "peer", json_string(address_text(&address, text, sizeof text)));
    json_object_set_new(o, "contention",
                        contention_text(gateway->link, now_ns, contention) ? json_string(contention) : json_null());
    json_object_set_new(o, "payload_bytes", json_integer((json_int_t)lft_link_payload_max(gateway->link)));
    json_object_set_new(o, "mtu_search", json_boolean(gateway->pmtu.trying != 0));
    COUNT(o, c, rx_datagrams), COUNT(o, c, rx_truncated), COUNT(o, c, rx_unknown_spi), COUNT(o, c, rx_bad_tag),
        COUNT(o, c, rx_keepalives);
    COUNT(o, c, rekeys), COUNT(o, c, keys_rejected), COUNT(o, c, peer_moves), COUNT(o, c, associations),
        COUNT(o, c, outages), COUNT(o, c, failed_streams_outage), COUNT(o, c, failed_streams_restart);
    COUNT(handshake, h, sent), COUNT(handshake, h, received), COUNT(handshake, h, malformed),
        COUNT(handshake, h, wrong_version), COUNT(handshake, h, wrong_source), COUNT(handshake, h, wrong_cipher);
    COUNT(handshake, h, bad_mac), COUNT(handshake, h, bad_cookie), COUNT(handshake, h, stale),
        COUNT(handshake, h, unexpected), COUNT(handshake, h, cookies);
    COUNT(handshake, h, limited), COUNT(handshake, h, completed), COUNT(handshake, h, rivals),
        COUNT(handshake, h, occupied);
    json_object_set_new(o, "handshake", handshake);
    return o;
}

static json_t *router_json(const struct router *router)
{
    if (!router)
        return json_null();
    const struct router_counters *c = router_counters(router);
    json_t *o = json_object();
    COUNT(o, c, syns), COUNT(o, c, syns_repeated), COUNT(o, c, syns_replayed), COUNT(o, c, syns_routed),
        COUNT(o, c, refused_rst), COUNT(o, c, refused_icmp), COUNT(o, c, silent);
    COUNT(o, c, bad_packets), COUNT(o, c, unexpected_accepts);
    return o;
}

static json_t *parameters_json(const struct gateway *gateway)
{
    const struct settings *s = &gateway->settings;
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s}", "carriage", io_carriage_names[s->carriage],
                     "cipher", lft_cipher_names[s->cipher], "recovery", lft_recovery_names[s->recovery], "rate_mode",
                     s->rate_mode ? "auto" : "fixed", "rate_bps", (json_int_t)s->rate_bps, "host_rate_bps",
                     (json_int_t)s->host_rate_bps, "sessions", (json_int_t)s->sessions_max, "redundancy",
                     !s->no_redundancy, "bypass", settings_bypass_names[s->bypass]);
}

json_t *gateway_state(const struct gateway *gateway)
{
    uint64_t now_ns = nc_now_ns();
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    json_t *o = json_object();
    json_object_set_new(o, "parameters", parameters_json(gateway));
    json_object_set_new(o, "tunnel", tunnel_json(gateway, now_ns));
    json_object_set_new(o, "engine", engine_json(lft_link_engine(gateway->link), now_ns));
    json_object_set_new(o, "session", session_json(lft_link_session(gateway->link)));
    json_object_set_new(o, "relay", relay_json(gateway->relay));
    json_object_set_new(o, "router", router_json(gateway->router));
    json_object_set_new(o, "io", io_json(io_counters(gateway->io)));
    json_object_set(o, "sandbox", gateway->sandbox);
    json_object_set_new(o, "bypassed", json_boolean(gateway->health.bypassed));
    json_object_set_new(o, "draining", json_boolean(gateway->draining));
    json_object_set_new(o, "uptime_ns", json_integer((json_int_t)(now_ns - gateway->started_ns)));
    json_object_set_new(o, "cpu_ns", json_integer((json_int_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec));
    return o;
}

json_t *gateway_ready(const struct gateway *gateway)
{
    char listen_text[80];
    struct nc_clock_pair clock = nc_clock_pair_read();
    return json_pack("{s:O, s:s, s:o, s:{s:I, s:I}}", "sandbox", gateway->sandbox, "listen",
                     address_text(&gateway->io_settings.local, listen_text, sizeof listen_text), "control",
                     nc_jsonl_text(gateway->settings.control ? gateway->settings.control : ""), "clock", "monotonic_ns",
                     (json_int_t)clock.monotonic_ns, "realtime_ns", (json_int_t)clock.realtime_ns);
}

static const struct nc_option *find_row(const char *key)
{
    static const char *const changeable[] = {"rate", "rate-mode", "host-rate", "bypass"};
    size_t n;
    const struct nc_option *rows = settings_rows(&n);
    for (size_t c = 0; c < sizeof changeable / sizeof changeable[0]; c++)
        for (size_t i = 0; strcmp(key, changeable[c]) == 0 && i < n; i++)
            if (rows[i].kind != NC_OPT_SECTION && strcmp(rows[i].name, key) == 0)
                return &rows[i];
    return NULL;
}

/* Redundancy can be switched on and off here, while the command-line option only switches it off. */
static int set_redundancy(struct gateway *gateway, const char *value, bool apply, struct nc_error *error)
{
    bool on = strcmp(value, "on") == 0;
    if (!on && strcmp(value, "off") != 0)
        return nc_fail(error, NC_EXIT_USAGE, "redundancy '%.40s': want on or off", value);
    if (apply) {
        gateway->settings.no_redundancy = !on;
        lft_link_set_redundancy(gateway->link, settings_redundancy(&gateway->settings));
    }
    return 0;
}

/* Puts checked settings into force. */
static void apply_settings(struct gateway *gateway, const struct settings *changed)
{
    bool host = changed->host_rate_bps != gateway->settings.host_rate_bps;
    bool net = changed->rate_bps != gateway->settings.rate_bps || changed->rate_mode != gateway->settings.rate_mode;
    gateway->settings = *changed;
    if (net) {
        lft_link_set_rate(gateway->link, (enum lft_rate_mode)changed->rate_mode, changed->rate_bps, nc_now_ns());
        lft_link_set_redundancy(gateway->link, settings_redundancy(changed));
    }
    if (host)
        relay_set_host_rate(gateway->relay, changed->host_rate_bps);
}

int gateway_set(struct gateway *gateway, const char *key, const char *value, bool apply, struct nc_error *error)
{
    struct settings changed = gateway->settings;
    const struct nc_option *row = find_row(key);
    if (strcmp(key, "redundancy") == 0)
        return set_redundancy(gateway, value, apply, error);
    if (!row)
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': want one of rate, rate-mode, host-rate, redundancy, bypass",
                       key);
    if (nc_option_set(row, value, &changed, error) < 0 || settings_check(&changed, error) < 0)
        return -1;
    if (apply)
        apply_settings(gateway, &changed);
    return 0;
}
