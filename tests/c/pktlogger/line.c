/* The capacity of a known line. */
#include "line.h"

#include <math.h>
#include <string.h>

#include "check.h"

#define S INT64_C(1000000000)

static struct pl_lines parsed(const char *text)
{
    struct pl_lines lines;
    struct nc_error error;
    json_t *object = json_loads(text, 0, NULL);
    CHECK(object);
    CHECK_EQ(pl_lines_parse(&lines, object, &error), 0);
    json_decref(object);
    return lines;
}

static void refused(const char *text)
{
    struct pl_lines lines;
    struct nc_error error;
    json_t *object = json_loads(text, 0, NULL);
    CHECK(object);
    CHECK_EQ(pl_lines_parse(&lines, object, &error), -1);
    CHECK(strlen(error.text) > 0 && !strchr(error.text, '\n'));
    json_decref(object);
    pl_lines_free(&lines);
}

static const char changing[] =
    "{\"ab\":[{\"t_ns\":1000000000,\"rate_bps\":60000000,\"packets_per_s\":null,\"overhead_bytes\":38},"
    "{\"t_ns\":3000000000,\"rate_bps\":30000000,\"overhead_bytes\":38,\"queues_behind\":true},"
    "{\"t_ns\":4000000000,\"rate_bps\":0,\"overhead_bytes\":38},"
    "{\"t_ns\":5000000000,\"rate_bps\":null,\"packets_per_s\":1000}],"
    "\"ba\":[],\"hosts_bps\":35000000,\"per_flow\":{\"ab\":true,\"ba\":false},\"in_front\":{\"ba\":true},"
    "\"marker\":{\"ab\":\"policer\",\"ba\":\"aqm\"}}";

static void payload_is_what_headers_and_framing_leave(void)
{
    struct pl_lines lines = parsed(changing);
    const struct pl_line *line = &lines.way[0];
    struct pl_line_rates early = pl_line_carries(line, 0, 2 * S, 1448, 52);
    double share = 1448 / 1538.0;
    CHECK(fabs(early.mean_bps - 60e6 * share) < 1 && early.least_bps == early.most_bps);
    struct pl_line_rates whole = pl_line_carries(line, 2 * S, 4 * S, 1448, 52);
    CHECK(fabs(whole.least_bps - 30e6 * share) < 1 && fabs(whole.most_bps - 60e6 * share) < 1);
    CHECK(fabs(whole.mean_bps - 45e6 * share) < 1);
    CHECK_EQ(pl_line_carries(line, 4 * S, 4 * S + 1, 1448, 52).most_bps, 0); /* stopped */
    CHECK(fabs(pl_line_carries(line, 6 * S, 7 * S, 1448, 52).mean_bps - 8 * 1448e3) < 1);
    CHECK(fabs(pl_line_carries(line, 2 * S, 2 * S, 1448, 52).mean_bps - 60e6 * share) < 1); /* a moment */
    CHECK(!pl_line_known(&lines.way[1]) && !pl_line_known(NULL) && pl_line_known(line));
    CHECK_EQ(lines.hosts_bps, 35e6);
    CHECK(lines.way[0].per_flow && !lines.way[1].per_flow);
    CHECK(!lines.way[0].in_front && lines.way[1].in_front);
    CHECK(lines.way[0].marker == PL_MARKER_POLICER && lines.way[1].marker == PL_MARKER_AQM);
    pl_lines_free(&lines);
}

static void a_policer_lets_its_rate_pass_and_what_it_marks(void)
{
    static const char steps[] = "\"ab\":[{\"t_ns\":0,\"rate_bps\":60000000,\"overhead_bytes\":38}],\"ba\":[]";
    char text[512];
    for (unsigned marks = 0; marks < 2; marks++) {
        snprintf(text, sizeof text, "{%s,\"policer\":{\"ab\":{\"rate_bps\":25000000,\"marks\":%s},\"ba\":null}}", steps,
                 marks ? "true" : "false");
        struct pl_lines lines = parsed(text);
        CHECK(fabs(pl_line_policed(&lines.way[0], false, 1448, 52) - 25e6 * 1448 / 1538.0) < 1);
        CHECK_EQ(isinf(pl_line_policed(&lines.way[0], true, 1448, 52)) != 0, marks);
        CHECK_EQ(lines.way[1].policed_bps, 0);
        pl_lines_free(&lines);
    }
    snprintf(text, sizeof text, "{%s}", steps);
    struct pl_lines none = parsed(text);
    CHECK(isinf(pl_line_policed(&none.way[0], false, 1448, 52)));
    pl_lines_free(&none);
    refused("{\"ab\":[],\"ba\":[],\"policer\":{\"ab\":{\"rate_bps\":-1}}}");
    refused("{\"ab\":[],\"ba\":[],\"policer\":{\"ab\":{}}}");
}

static void a_packet_takes_its_time_at_that_moment(void)
{
    struct pl_lines lines = parsed(changing);
    const struct pl_line *line = &lines.way[0];
    CHECK(fabs(pl_line_packet_ns(line, 0, 1500) - 1538 * 8 / 0.06) < 1);
    CHECK(fabs(pl_line_packet_ns(line, 3 * S, 1500) - 1538 * 8 / 0.03) < 1);
    CHECK_EQ(pl_line_packet_ns(line, 4 * S, 1500), 0);
    CHECK(fabs(pl_line_packet_ns(line, 5 * S, 1500) - 1e6) < 1);
    CHECK(!pl_line_at(line, 0)->queues_behind && pl_line_at(line, 3 * S)->queues_behind);
    pl_lines_free(&lines);
    struct pl_lines open = parsed("{\"ab\":[{\"t_ns\":0,\"rate_bps\":null,\"overhead_bytes\":0}],\"ba\":[]}");
    CHECK_EQ(pl_line_packet_ns(&open.way[0], S, 1500), 0);
    CHECK(isinf(pl_line_carries(&open.way[0], 0, S, 1448, 52).mean_bps) && isinf(open.hosts_bps));
    pl_lines_free(&open);
}

static void nothing_is_known_without_a_description(void)
{
    struct pl_lines lines;
    struct nc_error error;
    CHECK_EQ(pl_lines_parse(&lines, NULL, &error), 0);
    CHECK(!pl_line_known(&lines.way[0]) && !pl_line_known(&lines.way[1]));
    pl_lines_free(&lines);
}

static void what_makes_no_sense_is_refused(void)
{
    refused("{\"ab\":[{\"rate_bps\":1}]}");
    refused("{\"ab\":[{\"t_ns\":0,\"rate_bps\":-1}]}");
    refused("{\"ab\":[{\"t_ns\":0,\"rate_bps\":\"60Mbit\"}]}");
    refused("{\"ab\":[{\"t_ns\":5,\"rate_bps\":1},{\"t_ns\":4,\"rate_bps\":1}]}");
    refused("{\"ab\":[{\"t_ns\":0,\"overhead_bytes\":-1}]}");
    refused("{\"ab\":[],\"hosts_bps\":\"x\"}");
}

int main(void)
{
    RUN(payload_is_what_headers_and_framing_leave);
    RUN(a_policer_lets_its_rate_pass_and_what_it_marks);
    RUN(a_packet_takes_its_time_at_that_moment);
    RUN(nothing_is_known_without_a_description);
    RUN(what_makes_no_sense_is_refused);
    return 0;
}
