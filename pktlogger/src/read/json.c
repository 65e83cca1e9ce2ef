/* Implements json.h. */
#include "json.h"

#include <arpa/inet.h>
#include "stream.h"

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *pl_json_endpoint(const struct pl_flow *flow, unsigned side)
{
    char text[INET6_ADDRSTRLEN];
    inet_ntop(flow->ip_version == 4 ? AF_INET : AF_INET6, flow->side[side].address, text, sizeof text);
    return json_pack("{s:s, s:i}", "address", text, "port", (int)flow->side[side].port);
}

static json_t *side_json(const struct pl_flow *flow, unsigned i)
{
    const struct pl_side *side = &flow->side[i];
    json_t *value = pl_json_endpoint(flow, i);
    json_object_set_new(value, "syn", json_boolean(side->syn));
    json_object_set_new(value, "isn", side->based ? number(side->base) : json_null());
    json_object_set_new(value, "mss", side->has_mss ? number(side->mss) : json_null());
    json_object_set_new(value, "wscale", side->has_wscale ? number(side->wscale) : json_null());
    json_object_set_new(value, "sack_permitted", json_boolean(side->sack_permitted));
    json_object_set_new(value, "timestamps", json_boolean(side->has_timestamps));
    json_object_set_new(value, "packets", number(side->packets));
    json_object_set_new(value, "bytes", number(side->bytes));
    return value;
}

json_t *pl_json_ecn(const struct pl_flow *flow)
{
    static const char *const names[] = {
        [PL_ECN_NONE] = "none", [PL_ECN_CLASSIC] = "classic", [PL_ECN_ACCURATE] = "accecn"};
    enum pl_ecn_mode mode = pl_flow_ecn(flow);
    return mode == PL_ECN_UNKNOWN ? json_null() : json_string(names[mode]);
}

static json_t *flow_json(const struct pl_flow *flow)
{
    uint32_t mss = pl_flow_mss(flow);
    return json_pack("{s:i, s:b, s:b, s:o, s:o, s:I, s:I, s:[o, o]}", "ip_version", (int)flow->ip_version, "handshake",
                     (int)(flow->side[0].syn && flow->side[1].syn), "window_scaled", (int)pl_flow_scaled(flow),
                     "mss_in_use", mss ? number(mss) : json_null(), "ecn", pl_json_ecn(flow), "first_ns",
                     (json_int_t)flow->first_ns, "last_ns", (json_int_t)flow->last_ns, "sides", side_json(flow, 0),
                     side_json(flow, 1));
}

json_t *pl_json_drops(const struct pl_reader *reader)
{
    struct pl_drops drops = pl_reader_drops(reader);
    if (!drops.known)
        return json_null();
    return json_pack("{s:I, s:I, s:I}", "kernel", (json_int_t)drops.kernel, "interface", (json_int_t)drops.interface,
                     "process", (json_int_t)drops.process);
}

static json_t *kinds_json(const struct pl_counts *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tcp", (json_int_t)c->tcp, "udp",
                     (json_int_t)c->udp, "esp", (json_int_t)c->esp, "fragment", (json_int_t)c->fragment, "ip_other",
                     (json_int_t)c->ip_other, "not_ip", (json_int_t)c->not_ip, "truncated", (json_int_t)c->truncated,
                     "malformed", (json_int_t)c->malformed, "unknown_link", (json_int_t)c->unknown_link, "copy",
                     (json_int_t)c->copy, "no_time", (json_int_t)c->no_time, "other_interface",
                     (json_int_t)c->other_interface);
}

json_t *pl_json_capture(const struct pl_index *index)
{
    const struct pl_counts *c = &index->counts;
    bool any = c->last_ns >= c->first_ns;
    return json_pack("{s:I, s:o, s:I, s:I, s:o, s:o, s:b, s:o}", "frames", (json_int_t)c->frames, "kinds",
                     kinds_json(c), "tunnelled", (json_int_t)c->tunnelled, "options_cut", (json_int_t)c->options_cut,
                     "first_ns", any ? number((uint64_t)c->first_ns) : json_null(), "last_ns",
                     any ? number((uint64_t)c->last_ns) : json_null(), "truncated", (int)index->reader.truncated,
                     "drops", pl_json_drops(&index->reader));
}

json_t *pl_json_index(const struct pl_index *index)
{
    json_t *flows = json_array();
    for (uint32_t i = 0; i < index->flows.n; i++)
        json_array_append_new(flows, flow_json(&index->flows.at[i]));
    return json_pack("{s:i, s:o, s:o}", "v", 1, "capture", pl_json_capture(index), "flows", flows);
}

int pl_json_write(int dir_fd, const char *name, json_t *value)
{
    int result = pl_stream_json(dir_fd, name, value);
    json_decref(value);
    return result;
}
