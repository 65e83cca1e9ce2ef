/* Implements index.h. */
#include "index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"
#include "nc_tunnel.h"
#include "usual.h"

enum taken { TAKEN, COUNTED, NO_MEMORY };

/* Counts a frame without a row under the first reason that applies. */
static void count_other(struct pl_counts *counts, enum nc_decoded decoded, const struct nc_packet *packet)
{
    if (decoded == NC_TRUNCATED)
        counts->truncated++;
    else if (decoded == NC_MALFORMED)
        counts->malformed++;
    else if (!packet->ip_version)
        counts->not_ip++;
    else if (packet->fragment)
        counts->fragment++;
    else if (packet->l4 == NC_L4_UDP)
        counts->udp++;
    else if (packet->l4 == NC_L4_ESP)
        counts->esp++;
    else
        counts->ip_other++;
}

static uint16_t parts_of(uint32_t len, uint32_t part)
{
    uint64_t parts = part && len > part ? ((uint64_t)len + part - 1) / part : 1;
    return (uint16_t)(parts < UINT16_MAX ? parts : UINT16_MAX);
}

static void add_sack(struct pl_row *row, struct pl_side *peer, const struct nc_tcp *tcp)
{
    for (unsigned i = 0; i < tcp->sack_n; i++) {
        row->sack_left[i] = pl_unwrap(peer, tcp->sack[i].left, false);
        row->sack_right[i] = pl_unwrap(peer, tcp->sack[i].right, false);
    }
}

/* True when the whole handshake is known, because side 0 has answered the SYN+ACK. */
static inline __attribute__((always_inline)) void account(struct pl_flow *flow, unsigned dir, const struct pl_row *row)
{
    struct pl_side *side = &flow->side[dir];
    if (flow->third_ns) {
        flow->last_ns = row->t_ns > flow->last_ns ? row->t_ns : flow->last_ns;
        side->packets++;
        side->bytes += row->len;
        return;
    }
    if (!flow->side[0].packets && !flow->side[1].packets)
        flow->first_ns = flow->last_ns = row->t_ns;
    if (row->t_ns > flow->last_ns)
        flow->last_ns = row->t_ns;
    if (dir == 0 && flow->side[1].packets && !flow->third_ns && !(row->flags & NC_TCP_SYN))
        flow->third_ns = row->t_ns;
    if (dir == 1 && !side->packets)
        flow->asked_once = flow->side[0].packets == 1;
    if (!side->packets++)
        side->first_ns = row->t_ns;
    side->bytes += row->len;
}

static void make_row(struct pl_row *row, struct pl_flow *flow, unsigned dir, const struct pl_frame *frame,
                     const struct nc_packet *packet)
{
    const struct nc_tcp *tcp = &packet->tcp;
    struct pl_side *side = &flow->side[dir], *peer = &flow->side[!dir];
    if (pl_flow_teaches(tcp))
        pl_flow_learn(flow, dir, tcp);
    row->frame = frame->number;
    row->t_ns = frame->t_ns;
    row->len = packet->payload_len;
    row->wire_len = frame->wire;
    row->flags = tcp->flags;
    row->dir = (uint8_t)dir;
    row->tsval = tcp->has_timestamps ? tcp->tsval : 0;
    row->tsecr = tcp->has_timestamps ? tcp->tsecr : 0;
    row->ip_id = packet->ip_version == 4 ? (uint16_t)packet->ip_id : 0;
    row->ack = PL_NO_ACK;
    row->ecn = packet->ecn;
    row->options = tcp->options_len;
    row->accecn = tcp->accecn;
    row->ee0b = tcp->ee0b;
    row->eceb = tcp->eceb;
    row->ee1b = tcp->ee1b;
    row->seq = pl_unwrap(side, tcp->seq, true);
    if (tcp->flags & NC_TCP_ACK)
        row->ack = pl_unwrap(peer, tcp->ack, true);
    row->sack_n = tcp->sack_n;
    memset(row->sack_left, 0, sizeof row->sack_left);
    memset(row->sack_right, 0, sizeof row->sack_right);
    if (tcp->sack_n)
        add_sack(row, peer, tcp);
    bool scaled = !(tcp->flags & NC_TCP_SYN) && pl_flow_scaled(flow);
    row->window = scaled ? (uint32_t)tcp->window << side->wscale : tcp->window;
    if (row->window > side->window_most && tcp->flags & NC_TCP_ACK && pl_flow_scale_known(flow))
        side->window_most = row->window;
    uint32_t mss = pl_flow_bound_mss(flow, dir);
    row->part_len = mss ? pl_part_len(mss, row->options) : 0;
    row->parts = parts_of(row->len, row->part_len);
    side->cut_packets += tcp->cut;
    account(flow, dir, row);
}

static void note_time(struct pl_counts *counts, int64_t t_ns)
{
    if (t_ns < counts->first_ns)
        counts->first_ns = t_ns;
    if (t_ns > counts->last_ns)
        counts->last_ns = t_ns;
}

static enum nc_decoded decode(struct pl_index *index, const struct pl_frame *frame, struct nc_packet *packet)
{
    enum nc_link link = (enum nc_link)frame->link;
    unsigned depth;
    if (!index->tunnels)
        return nc_packet_decode(link, frame->data, frame->captured, frame->wire, packet);
    enum nc_decoded decoded = nc_tunnel_decode(link, frame->data, frame->captured, frame->wire, packet, &depth);
    index->counts.tunnelled += depth && decoded == NC_DECODED && packet->l4 == NC_L4_TCP && !packet->fragment;
    return decoded;
}

/* Gives a new flow its SYN if that comes later in the file than the first packet. */
static void learn_late(const struct pl_index *index, struct pl_flow *flow, unsigned dir, const struct nc_packet *packet)
{
    for (unsigned i = 0; i < index->late_n; i++) {
        const struct nc_packet *syn = &index->late[i];
        for (unsigned side = 0; side < 2; side++) {
            uint32_t next = side == dir ? packet->tcp.seq : packet->tcp.ack;
            const struct pl_side *own = &flow->side[side], *peer = &flow->side[!side];
            if (next == syn->tcp.seq + 1 && own->port == syn->src_port && peer->port == syn->dst_port &&
                memcmp(own->address, syn->src, 16) == 0 && memcmp(peer->address, syn->dst, 16) == 0)
                pl_flow_learn(flow, side, &syn->tcp);
        }
    }
}

/* The number of the interface at which a packet was seen. If the link type is SLL2, its header has the number. */
static uint32_t interface_of(const struct pl_frame *frame, const struct nc_packet *packet)
{
    return packet->if_index ? packet->if_index : frame->interface;
}

static bool is_chosen(const struct pl_reader *reader, const char *wanted, const struct pl_frame *frame,
                      const struct nc_packet *packet)
{
    if (!wanted || strcmp(wanted, reader->interfaces[frame->interface].name) == 0)
        return true;
    char *end;
    unsigned long number = strtoul(wanted, &end, 10);
    return *wanted >= '0' && *wanted <= '9' && !*end && number == interface_of(frame, packet);
}

/* Counts the packets of each interface, if the user chose an interface. */
static void share(struct pl_index *index, const struct pl_frame *frame, const struct nc_packet *packet, bool chosen)
{
    uint32_t number = interface_of(frame, packet);
    unsigned i = 0;
    while (i < index->share_n && index->shares[i].number != number)
        i++;
    if (i == PL_INTERFACES_SAID)
        return;
    struct pl_interface_share *share = &index->shares[i];
    if (i == index->share_n) {
        index->share_n++;
        share->number = number;
        share->chosen = chosen;
        if (!packet->if_index)
            memcpy(share->name, index->reader.interfaces[frame->interface].name, sizeof share->name);
    }
    share->packets++;
}

/* True when the frame has a TCP packet with complete sequence numbers and lengths. */
static bool is_tcp(enum nc_decoded decoded, const struct nc_packet *packet)
{
    bool whole = decoded == NC_DECODED || (decoded == NC_TRUNCATED && packet->tcp.cut);
    return whole && packet->l4 == NC_L4_TCP && !packet->fragment;
}

static enum taken put_row(struct pl_index *index, struct pl_flow *flow, unsigned dir, const struct pl_frame *frame,
                          const struct nc_packet *packet, struct pl_row *row)
{
    make_row(row, flow, dir, frame, packet);
    row->flow = (uint32_t)(flow - index->flows.at);
    index->counts.tcp++;
    index->counts.options_cut += packet->tcp.cut;
    return TAKEN;
}

/* True while every TCP packet gets a row. Then packets of the usual form do not need the general decoder. */
static bool is_plain(const struct pl_index *index)
{
    return !index->tunnels && !index->source.interface && (index->keep_copies || index->copies.are == PL_COPIES_NONE);
}

static __attribute__((noinline)) void unwrap_sack(struct pl_row *row, struct pl_side *peer)
{
    for (unsigned i = 0; i < row->sack_n; i++) {
        row->sack_left[i] = pl_unwrap(peer, (uint32_t)row->sack_left[i], false);
        row->sack_right[i] = pl_unwrap(peer, (uint32_t)row->sack_right[i], false);
    }
}

/* Learns from the flags how ECN marks are reported. */
static __attribute__((noinline)) void learn_marks(struct pl_flow *flow, const struct pl_row *row)
{
    const struct nc_tcp tcp = {.flags = row->flags};
    if (pl_flow_teaches(&tcp))
        pl_flow_learn(flow, row->dir, &tcp);
}

/* Makes a row of a packet of the usual form. Does nothing for any other packet. */
static inline __attribute__((always_inline)) bool take_usual(struct pl_index *index, const struct pl_frame *frame,
                                                             struct pl_row *row)
{
    const struct pl_usual_slot *slot = frame->t_ns < 0 ? NULL : pl_usual_read(index->usual, frame, row);
    if (!slot)
        return false;
    struct pl_flow *flow = &index->flows.at[slot->flow];
    struct pl_side *side = &flow->side[slot->dir], *peer = &flow->side[!slot->dir];
    uint32_t mss = pl_bound_mss(slot->mss_option, slot->fixed_options, peer->window_most);
    row->frame = frame->number;
    row->t_ns = frame->t_ns;
    row->wire_len = frame->wire;
    row->flow = index->flows.recent = slot->flow;
    row->dir = slot->dir;
    row->part_len = mss ? pl_part_len(mss, row->options) : 0;
    row->parts = parts_of(row->len, row->part_len);
    row->window <<= slot->shift;
    if (row->window > side->window_most && slot->scale_known && row->flags & NC_TCP_ACK)
        side->window_most = row->window;
    row->seq = pl_unwrap(side, (uint32_t)row->seq, true);
    row->ack = row->flags & NC_TCP_ACK ? pl_unwrap(peer, (uint32_t)row->ack, true) : PL_NO_ACK;
    if (row->sack_n)
        unwrap_sack(row, peer);
    if (NC_TCP_ACE(row->flags))
        learn_marks(flow, row);
    account(flow, slot->dir, row);
    index->counts.frames++;
    index->counts.tcp++;
    note_time(&index->counts, frame->t_ns);
    return true;
}

/* Makes a row of the frame, or counts it. A fragment has no row, because its lengths are not those of its segment. */
static __attribute__((noinline)) enum taken take_frame(struct pl_index *index, const struct pl_frame *frame,
                                                       struct pl_row *row)
{
    struct pl_counts *counts = &index->counts;
    struct nc_packet packet;
    unsigned dir;
    counts->frames++;
    if (frame->link == PL_LINK_UNKNOWN) {
        counts->unknown_link++;
        return COUNTED;
    }
    if (frame->t_ns < 0) { /* outside the range of valid times */
        counts->no_time++;
        return COUNTED;
    }
    note_time(counts, frame->t_ns);
    enum nc_decoded decoded = decode(index, frame, &packet);
    if (!is_tcp(decoded, &packet)) {
        count_other(counts, decoded, &packet);
        return COUNTED;
    }
    bool chosen = is_chosen(&index->reader, index->source.interface, frame, &packet);
    if (index->source.interface)
        share(index, frame, &packet, chosen);
    if (!chosen) {
        counts->other_interface++;
        return COUNTED;
    }
    if (!index->keep_copies && pl_copies_is(&index->copies, frame, &packet)) {
        counts->copy++;
        return COUNTED;
    }
    struct pl_flow *flow = pl_flows_find(&index->flows, &packet, &dir);
    if (!flow)
        return NO_MEMORY;
    if (index->late_n && flow->side[0].packets + flow->side[1].packets == 0)
        learn_late(index, flow, dir, &packet);
    enum taken taken = put_row(index, flow, dir, frame, &packet, row);
    pl_usual_note(index->usual, &packet, flow, row->flow, dir);
    return taken;
}

static void begin(struct pl_index *index, struct nc_error *error)
{
    *error = (struct nc_error){.status = NC_EXIT_FAILED};
    *index = (struct pl_index){.counts = {.first_ns = INT64_MAX, .last_ns = -1}};
}

static enum pl_status prepare_flows(struct pl_index *index, struct nc_error *error)
{
    index->usual = calloc(1, sizeof *index->usual);
    if (index->usual && pl_flows_init(&index->flows) == 0 && pl_copies_init(&index->copies) == 0)
        return PL_OK;
    nc_fail(error, NC_EXIT_FAILED, "out of memory");
    return PL_NO_MEMORY;
}

enum pl_status pl_index_open(struct pl_index *index, const uint8_t *data, size_t len, struct nc_error *error)
{
    begin(index, error);
    index->source = (struct pl_source){.data = data, .len = len};
    if (pl_reader_open(&index->reader, data, len) == 0)
        return prepare_flows(index, error);
    nc_fail(error, NC_EXIT_USAGE, "not a capture file (pcapng or pcap): %s", index->reader.why);
    return PL_NOT_A_CAPTURE;
}

enum pl_status pl_index_open_file(struct pl_index *index, const char *path, struct nc_error *error)
{
    begin(index, error);
    index->source = (struct pl_source){.path = path};
    if (pl_reader_open_file(&index->reader, path, error) == 0)
        return prepare_flows(index, error);
    return PL_NOT_A_CAPTURE;
}

enum pl_status pl_index_open_source(struct pl_index *index, const struct pl_source *source, struct nc_error *error)
{
    enum pl_status status = source->path ? pl_index_open_file(index, source->path, error)
                                         : pl_index_open(index, source->data, source->len, error);
    index->tunnels = source->tunnels;
    index->source.interface = source->interface;
    return status;
}

/* Keeps a SYN that comes too late in the file. Its number is one below the first number of its side. */
static void study_syn(struct pl_index *index, struct pl_flows *flows, const struct nc_packet *packet)
{
    unsigned dir;
    struct pl_flow *flow = pl_flows_find(flows, packet, &dir);
    if (!flow)
        return;
    const struct pl_side *before = flow->older ? &flows->at[flow->older - 1].side[dir] : NULL;
    bool first = flow->side[0].packets + flow->side[1].packets == 0 && packet->tcp.flags & NC_TCP_SYN;
    if (first && before && !before->syn && before->based && before->base == packet->tcp.seq + 1 &&
        index->late_n < sizeof index->late / sizeof *index->late)
        index->late[index->late_n++] = *packet;
    flow->side[dir].packets++;
    pl_flow_learn(flow, dir, &packet->tcp);
    pl_unwrap(&flow->side[dir], packet->tcp.seq, true);
}

/* Reads the beginning of the capture in advance, to find out whether it has packets twice. */
static void judge_copies(struct pl_index *index)
{
    struct pl_reader reader;
    struct pl_frame frame;
    struct nc_error error;
    struct nc_packet packet;
    const struct pl_source *source = &index->source;
    int opened = source->path ? pl_reader_open_file(&reader, source->path, &error)
                              : pl_reader_open(&reader, source->data, source->len);
    uint64_t tunnelled = index->counts.tunnelled;
    struct pl_flows flows;
    if (pl_flows_init(&flows) < 0)
        opened = -1;
    index->judged = true;
    for (int i = 0; opened == 0 && i < PL_COPIES_FRAMES && pl_reader_next(&reader, &frame) == PL_FRAME; i++)
        if (frame.link != PL_LINK_UNKNOWN && frame.t_ns >= 0 && is_tcp(decode(index, &frame, &packet), &packet) &&
            is_chosen(&reader, source->interface, &frame, &packet)) {
            pl_copies_study(&index->copies, &frame, &packet);
            study_syn(index, &flows, &packet);
        }
    pl_flows_free(&flows);
    index->counts.tunnelled = tunnelled;
    pl_copies_judge(&index->copies);
    pl_reader_close(&reader);
}

void pl_index_judge_as(struct pl_index *index, const struct pl_index *first)
{
    index->judged = first->judged;
    index->copies.are = first->copies.are;
    memcpy(index->late, first->late, sizeof index->late);
    index->late_n = first->late_n;
}

static void end_rows(const struct pl_index *index, enum pl_next next, enum pl_row_status *status,
                     struct nc_error *error)
{
    *status = next == PL_END ? PL_ROWS_END : PL_ROWS_FAILED;
    if (next != PL_END)
        nc_fail(error, NC_EXIT_FAILED, "damaged at %s", index->reader.why);
}

/* Makes rows of frames of the usual form while there are such frames and room for rows. It is a separate function, so
 * that the values of a packet stay in registers from its block to its row. */
static __attribute__((noinline)) size_t take_run(struct pl_index *index, struct pl_row *rows, size_t n, size_t most)
{
    struct pl_frame frame;
    while (n < most && pl_reader_usual(&index->reader, &frame)) {
        if (!take_usual(index, &frame, &rows[n])) {
            index->held = frame;
            index->holds = true;
            break;
        }
        n++;
    }
    return n;
}

static __attribute__((noinline)) bool take_held(struct pl_index *index, struct pl_row *row)
{
    return take_usual(index, &index->held, row);
}

size_t pl_index_rows(struct pl_index *index, struct pl_row *rows, size_t most, enum pl_row_status *status,
                     struct nc_error *error)
{
    if (!index->judged)
        judge_copies(index);
    const bool plain = is_plain(index);
    *status = PL_ROW;
    for (size_t n = 0; n < most;) {
        if (plain && !index->holds && (n = take_run(index, rows, n, most)) == most)
            break;
        if (!index->holds) {
            enum pl_next next = pl_reader_next(&index->reader, &index->held);
            if (next != PL_FRAME)
                return end_rows(index, next, status, error), n;
            if (plain && take_held(index, &rows[n])) {
                n++;
                continue;
            }
        }
        index->holds = n > 0;
        if (n)
            return n;
        enum taken taken = take_frame(index, &index->held, rows);
        if (taken == NO_MEMORY) {
            nc_fail(error, NC_EXIT_FAILED, "out of memory");
            *status = PL_ROWS_FAILED;
            return 0;
        }
        n = taken == TAKEN;
    }
    return most;
}

enum pl_row_status pl_index_next(struct pl_index *index, struct pl_row *row, struct nc_error *error)
{
    enum pl_row_status status;
    pl_index_rows(index, row, 1, &status, error);
    return status;
}

bool pl_index_undecoded(const struct pl_index *index)
{
    const struct pl_counts *counts = &index->counts;
    return counts->frames && counts->frames == counts->unknown_link + counts->malformed;
}

void pl_index_report(const struct pl_index *index, const char *path)
{
    pl_reader_report(&index->reader, path);
    if (index->counts.no_time)
        nc_log("'%s': %llu packets have no time (Simple Packet Blocks) and no rows", path,
               (unsigned long long)index->counts.no_time);
    if (index->counts.options_cut)
        nc_log("'%s': %llu TCP packets were cut within their options, so their SACK blocks and time stamps, and the "
               "MSS and "
               "window scale of a SYN, are not known where they were cut off; capture 128 octets of each packet",
               path, (unsigned long long)index->counts.options_cut);
    for (unsigned i = 0; i < index->share_n; i++) {
        const struct pl_interface_share *share = &index->shares[i];
        nc_log("'%s': interface %u%s%s%s %s: %llu TCP packets", path, share->number, *share->name ? " (" : "",
               share->name, *share->name ? ")" : "", share->chosen ? "is the chosen one" : "is left out",
               (unsigned long long)share->packets);
    }
    if (index->counts.copy)
        nc_log("'%s': %llu TCP packets are copies of others (captured several times) and have no rows", path,
               (unsigned long long)index->counts.copy);
    if (index->counts.fragment)
        nc_log("'%s': %llu IP fragments have no rows; a smaller MTU at the sender avoids them", path,
               (unsigned long long)index->counts.fragment);
}

void pl_index_free(struct pl_index *index)
{
    pl_reader_close(&index->reader);
    pl_flows_free(&index->flows);
    pl_copies_free(&index->copies);
    free(index->usual);
    index->usual = NULL;
}
