/* Each end judges by its own evidence. The other end's report must be complete and must agree, and the worse of the two
 * verdicts counts. */
#include "check.h"
#include "report.h"

#define DIGEST "0123456789abcdef0123456789abcdef"
#define OTHER_DIGEST "0123456789abcdef0123456789abcdee"

static struct rttcp_report report;

static json_t *row(uint64_t stream, uint64_t bytes, const char *digest)
{
    struct rttcp_stream_account account = {.stream = stream, .bytes = bytes};
    snprintf(account.digest, sizeof account.digest, "%s", digest);
    return rttcp_stream_encode(&account);
}

/* A verified transfer of 100 bytes on each of two streams forward and on one stream in reverse, in the reports of both
 * ends. */
static void make_report(bool serving)
{
    rttcp_report_release(&report);
    report =
        (struct rttcp_report){.serving = serving, .params = {.bytes = 100, .verify = true, .forward = 2, .reverse = 1}};
    for (int d = 0; d < DIRECTIONS; d++) {
        struct rttcp_side *sides[] = {&report.ways[d].sender, &report.ways[d].receiver};
        for (int i = 0; i < 2; i++) {
            sides[i]->bytes = d == FORWARD ? 200 : 100;
            sides[i]->elapsed_ns = 1000000;
            sides[i]->streams = d == FORWARD ? json_pack("[o,o]", row(0, 100, DIGEST), row(1, 100, OTHER_DIGEST))
                                             : json_pack("[o]", row(2, 100, DIGEST));
        }
        report.ways[d].summary = (struct rttcp_summary){
            .connect_ns = 5, .elapsed_ns = 1000000, .complete = true, .verified = "ok", .ended_by = "bytes"};
    }
}

static json_t *first_row(struct rttcp_side *side)
{
    return json_array_get(side->streams, 0);
}

static void change_nothing(struct rttcp_way *way)
{
    (void)way;
}

static void drop_rows(struct rttcp_way *way)
{
    json_array_clear(way->receiver.streams);
}

static void drop_one_row(struct rttcp_way *way)
{
    json_array_remove(way->receiver.streams, 1);
}

static void repeat_a_row(struct rttcp_way *way)
{
    json_array_set(way->receiver.streams, 1, first_row(&way->receiver));
}

static void drop_digest(struct rttcp_way *way)
{
    json_object_set_new(first_row(&way->receiver), "digest", json_string(""));
}

static void drop_both_digests(struct rttcp_way *way)
{
    drop_digest(way);
    json_object_set_new(first_row(&way->sender), "digest", json_string(""));
}

static void shorten_both_digests(struct rttcp_way *way)
{
    json_object_set_new(first_row(&way->receiver), "digest", json_string("00"));
    json_object_set_new(first_row(&way->sender), "digest", json_string("00"));
}

static void change_digest(struct rttcp_way *way)
{
    json_object_set_new(first_row(&way->receiver), "digest", json_string(OTHER_DIGEST));
}

static void find_wrong_octet(struct rttcp_way *way)
{
    json_object_set_new(first_row(&way->receiver), "mismatch", json_true());
    json_object_set_new(first_row(&way->receiver), "mismatch_offset", json_integer(77));
}

static void find_bad_read(struct rttcp_way *way)
{
    json_object_set_new(first_row(&way->receiver), "bad_reads", json_integer(1));
}

static void receive_less(struct rttcp_way *way)
{
    way->receiver.bytes--;
}

static void move_bytes_between_streams(struct rttcp_way *way)
{
    json_object_set_new(first_row(&way->receiver), "bytes", json_integer(99));
    json_object_set_new(json_array_get(way->receiver.streams, 1), "bytes", json_integer(101));
}

static void total_without_streams(struct rttcp_way *way)
{
    way->receiver.bytes = way->sender.bytes = 300;
}

static void call_it_partial(struct rttcp_way *way)
{
    way->receiver.partial = true;
}

/* Request and response: two streams carried two requests of 100 bytes. */
static void set_exchanges(struct rttcp_way *way, uint64_t at_sender, uint64_t at_receiver, uint64_t response_bytes)
{
    report.params.request_bytes = 100;
    report.params.response_bytes = 30;
    way->sender.has_exchange = way->receiver.has_exchange = true;
    way->sender.exchange = (struct rttcp_exchange_account){.exchanges = at_sender, .response_bytes = 60};
    way->receiver.exchange =
        (struct rttcp_exchange_account){.exchanges = at_receiver, .response_bytes = response_bytes};
}

static void exchange_all(struct rttcp_way *way)
{
    set_exchanges(way, 2, 2, 60);
}

static void claim_more_exchanges(struct rttcp_way *way)
{
    set_exchanges(way, 2, 3, 60);
}

static void claim_other_responses(struct rttcp_way *way)
{
    set_exchanges(way, 2, 2, 61);
}

static void claim_exchanges_without_requests(struct rttcp_way *way)
{
    set_exchanges(way, 1, 2, 60);
}

static void say_nothing_of_exchanges(struct rttcp_way *way)
{
    set_exchanges(way, 2, 2, 60);
    way->receiver.has_exchange = false;
}

static const struct {
    void (*change)(struct rttcp_way *way);
    const char *verified, *says;
} rows[] = {{change_nothing, "ok", ""},
            {drop_rows, "unknown", "receiver's account has no digest of its stream 0"},
            {drop_one_row, "unknown", "receiver's account has no digest of its stream 1"},
            {repeat_a_row, "mismatch", "digests differ"},
            {drop_digest, "unknown", "receiver's account has no digest"},
            {drop_both_digests, "unknown", "sender's account has no digest"},
            {shorten_both_digests, "unknown", "sender's account has no digest"},
            {change_digest, "mismatch", "digests differ"},
            {find_wrong_octet, "mismatch", "offset 77"},
            {find_bad_read, "mismatch", "altered the data"},
            {receive_less, "ok", "sent 200 bytes, received 199"},
            {move_bytes_between_streams, "ok", "sent 100 bytes, received 99"},
            {total_without_streams, "ok", "200 bytes in its streams and 300 in its total"},
            {call_it_partial, "ok", "partial"},
            {exchange_all, "ok", ""},
            {claim_more_exchanges, "ok", "receiver's account has 2 requests, 3 exchanges"},
            {claim_other_responses, "ok", "receiver's account has 2 requests, 2 exchanges and 61 bytes"},
            {claim_exchanges_without_requests, "ok", "sender's account has 2 requests, 1 exchanges"},
            {say_nothing_of_exchanges, "ok", "receiver's account has 2 requests"}};

static void judge_row(size_t i)
{
    const struct rttcp_summary *summary = &report.ways[FORWARD].summary;
    bool good = rows[i].says[0] == '\0';
    if (strcmp(summary->verified, rows[i].verified) != 0 || summary->complete != good ||
        (good ? report.mismatch[0] != '\0' : !strstr(report.mismatch, rows[i].says))) {
        fprintf(stderr, "row %zu: verified '%s', complete %d, '%s'\n", i, summary->verified, summary->complete,
                report.mismatch);
        exit(1);
    }
    json_t *verdict = rttcp_report_verdict(&report, FORWARD);
    CHECK_EQ(json_is_true(json_object_get(verdict, "valid")), good);
    json_decref(verdict);
}

static void accounts_that_do_not_show_it_prove_nothing(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_report(false);
        rows[i].change(&report.ways[FORWARD]);
        rttcp_report_summarise(&report, FORWARD, ENDED_BYTES);
        judge_row(i);
    }
}

/* The proposing end sent a summary that says "ok" and "complete" each time. */
static void the_serving_end_believes_its_own_accounts(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_report(true);
        rows[i].change(&report.ways[FORWARD]);
        rttcp_report_adopt(&report, FORWARD);
        CHECK_EQ(report.ways[FORWARD].summary.connect_ns, 5);
        CHECK_EQ(report.ways[FORWARD].summary.bytes, report.ways[FORWARD].receiver.bytes);
        judge_row(i);
    }
}

static const struct {
    struct rttcp_summary theirs;
    const char *verified, *says;
    bool complete;
} claims[] = {
    {{.elapsed_ns = 1000000, .complete = true, .verified = "ok", .ended_by = "duration"}, "ok", "", true},
    {{.elapsed_ns = 1000000, .complete = false, .verified = "ok", .ended_by = "signal"}, "ok", "", false},
    {{.elapsed_ns = 1000000, .complete = false, .verified = "mismatch", .ended_by = "bytes"},
     "mismatch",
     "says verified 'mismatch', this end found 'ok'",
     false},
    {{.elapsed_ns = 1000000, .complete = false, .verified = "unknown", .ended_by = "bytes"},
     "unknown",
     "says verified 'unknown', this end found 'ok'",
     false},
    {{.elapsed_ns = 1000000, .complete = false, .verified = "ok", .ended_by = "bytes"},
     "ok",
     "calls the transfer incomplete",
     false},
    {{.elapsed_ns = 1000000, .complete = true, .verified = "ok", .ended_by = "error"},
     "ok",
     "calls the transfer incomplete",
     false},
    {{.elapsed_ns = 1000000, .complete = true, .verified = "ok", .ended_by = "?"},
     "ok",
     "calls the transfer incomplete",
     false},
    {{.elapsed_ns = 900000, .complete = true, .verified = "ok", .ended_by = "bytes"},
     "ok",
     "took 900000 ns; this end alone took 1000000 ns",
     false},
};

static void the_worse_verdict_of_the_two_wins(void)
{
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        make_report(true);
        report.ways[FORWARD].summary = claims[i].theirs;
        rttcp_report_adopt(&report, FORWARD);
        const struct rttcp_summary *summary = &report.ways[FORWARD].summary;
        CHECK_STR(summary->verified, claims[i].verified);
        CHECK_EQ(summary->complete, claims[i].complete);
        CHECK(claims[i].says[0] ? strstr(report.mismatch, claims[i].says) != NULL : report.mismatch[0] == '\0');
    }
}

static void the_reverse_direction_has_the_numbers_that_follow(void)
{
    make_report(false);
    rttcp_report_summarise(&report, REVERSE, ENDED_BYTES);
    CHECK_STR(report.mismatch, "");
    CHECK(report.ways[REVERSE].summary.complete);
    json_object_set_new(first_row(&report.ways[REVERSE].sender), "stream", json_integer(0));
    rttcp_report_summarise(&report, REVERSE, ENDED_BYTES);
    CHECK(strstr(report.mismatch, "sender's account does not name each of the 1 streams once"));
}

static void another_congestion_control_than_the_one_asked_for_is_not_valid(void)
{
    const char *const ran[] = {"dctcp", "dctcp-reno"};
    for (size_t i = 0; i < 2; i++) {
        make_report(false);
        snprintf(report.params.congestion, sizeof report.params.congestion, "dctcp");
        struct rttcp_side *sender = &report.ways[FORWARD].sender; /* the second of two streams fell back */
        json_object_set_new(json_array_get(sender->streams, 0), "congestion", json_string("dctcp"));
        json_object_set_new(json_array_get(sender->streams, 1), "congestion", json_string(ran[i]));
        rttcp_report_summarise(&report, FORWARD, ENDED_BYTES);
        json_t *verdict = rttcp_report_verdict(&report, FORWARD), *reasons = json_object_get(verdict, "reasons");
        CHECK_EQ(json_array_size(reasons), i);
        CHECK(i == 0 || strstr(json_string_value(json_array_get(reasons, 0)), "dctcp was asked for"));
        json_decref(verdict);
    }
}

int main(void)
{
    RUN(another_congestion_control_than_the_one_asked_for_is_not_valid);
    RUN(accounts_that_do_not_show_it_prove_nothing);
    RUN(the_serving_end_believes_its_own_accounts);
    RUN(the_worse_verdict_of_the_two_wins);
    RUN(the_reverse_direction_has_the_numbers_that_follow);
    rttcp_report_release(&report);
    return 0;
}
