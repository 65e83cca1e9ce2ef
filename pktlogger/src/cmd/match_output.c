/* Implements match_output.h. Names of rules and addresses need no escapes in JSON: match_rules.h says which characters
 * a name has. */
#include "match_output.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <jansson.h>

#include "nc_jsonl.h"

struct end_text {
    char address[INET6_ADDRSTRLEN];
    uint16_t port;
};

static struct end_text end_of(const struct pl_connection *connection, unsigned end)
{
    struct end_text text = {.port = connection->key.port[end]};
    inet_ntop(connection->key.ip_version == 4 ? AF_INET : AF_INET6, connection->key.address[end], text.address,
              sizeof text.address);
    return text;
}

void pl_match_print_hit(FILE *out, bool human, const struct pl_hit *hit)
{
    const struct pl_connection *connection = hit->connection;
    unsigned sender = hit->dir == 0 ? connection->opener : !connection->opener;
    struct end_text from = end_of(connection, sender), to = end_of(connection, !sender);
    char start[24] = "null";
    if (hit->start != PL_START_UNKNOWN)
        snprintf(start, sizeof start, "%" PRIu64, hit->start);
    if (human) {
        fprintf(out, "%s: %s port %u to %s port %u, flow %" PRIu64 ", bytes %s to %" PRIu64 ", frame %" PRIu64 "\n",
                hit->rule->name, from.address, from.port, to.address, to.port, connection->number,
                hit->start == PL_START_UNKNOWN ? "?" : start, hit->end, hit->frame);
        return;
    }
    fprintf(out,
            "{\"v\": %d, \"event\": \"hit\", \"rule\": \"%s\", \"line\": %u, \"flow\": %" PRIu64 ", \"dir\": %u, "
            "\"from\": {\"address\": \"%s\", \"port\": %u}, \"to\": {\"address\": \"%s\", \"port\": %u}, "
            "\"from_start\": %s, \"start\": %s, \"end\": %" PRIu64 ", \"gaps\": %" PRIu64 ", \"t_ns\": %" PRId64
            ", \"frame\": %" PRIu64 "}\n",
            NC_JSONL_VERSION, hit->rule->name, hit->rule->line, connection->number, hit->dir, from.address, from.port,
            to.address, to.port, connection->from_start ? "true" : "false", start, hit->end, hit->gaps, hit->t_ns,
            hit->frame);
}

static void print_text(const struct pl_matcher_counts *counts, const struct pl_connections *table,
                       const struct pl_match_input *input)
{
    const struct pl_stream_pool *pool = &table->pool;
    printf("%" PRIu64 " hits in %" PRIu64 " bytes of %" PRIu64 " connections (%" PRIu64 " TCP packets of %" PRIu64
           " frames)\n",
           counts->hits, counts->scanned_bytes, table->made, counts->tcp, counts->frames);
    if (pool->gaps)
        printf("%" PRIu64 " gaps, %" PRIu64 " bytes missing: a match across a gap is not found\n", pool->gaps,
               pool->gap_bytes);
    if (counts->fragments)
        printf("%" PRIu64 " IP fragments were not put together\n", counts->fragments);
    if (counts->unscanned_bytes)
        printf("%" PRIu64 " bytes were not scanned for want of memory; see --memory\n", counts->unscanned_bytes);
    if (input->dropped)
        printf("%" PRIu64 " packets were dropped by the kernel's ring; see --buffer\n", input->dropped);
}

void pl_match_print_end(bool human, const struct pl_matcher *matcher, const struct pl_match_input *input)
{
    const struct pl_matcher_counts *counts = pl_matcher_counts(matcher);
    const struct pl_connections *table = pl_matcher_connections(matcher);
    const struct pl_stream_pool *pool = &table->pool;
    if (human) {
        print_text(counts, table, input);
        return;
    }
    json_t *end = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hits", (json_int_t)counts->hits, "frames",
                            (json_int_t)counts->frames, "packets", (json_int_t)counts->tcp, "tunnelled",
                            (json_int_t)counts->tunnelled, "fragments", (json_int_t)counts->fragments, "undecoded",
                            (json_int_t)(counts->undecoded + input->unknown_links), "connections",
                            (json_int_t)table->made, "evicted", (json_int_t)table->evicted);
    json_t *bytes = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I}", "scanned_bytes",
                              (json_int_t)counts->scanned_bytes, "unscanned_bytes", (json_int_t)counts->unscanned_bytes,
                              "duplicate_bytes", (json_int_t)pool->duplicate_bytes, "outside_bytes",
                              (json_int_t)pool->outside_bytes, "gaps", (json_int_t)pool->gaps, "gap_bytes",
                              (json_int_t)pool->gap_bytes, "memory_bytes", (json_int_t)pool->used_max, "truncated",
                              (int)input->truncated, "dropped", (json_int_t)input->dropped);
    json_object_update(end, bytes);
    json_decref(bytes);
    nc_jsonl_event(stdout, "end", end);
}
