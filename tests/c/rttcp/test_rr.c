/* Request and response: the turns of both ends as rows, and their calls over a connection to a peer that keeps or
 * breaks the rules. */
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "nc_clock.h"
#include "rr_io.h"

static struct nc_error error;

static struct rttcp_params exchange(uint64_t request_bytes, uint64_t response_bytes, uint64_t exchanges)
{
    return (struct rttcp_params){.bytes = exchanges * request_bytes,
                                 .request_bytes = request_bytes,
                                 .response_bytes = response_bytes,
                                 .length_bytes = 4096,
                                 .align_bytes = 4096,
                                 .timeout_ns = 300 * NC_NS_PER_MS,
                                 .forward = 1};
}

static void each_latency_runs_from_one_response_to_the_next(void)
{
    struct rttcp_params params = exchange(100, 30, 2);
    struct rttcp_rr *rr = rttcp_rr_create(&params, true);
    rttcp_rr_begin(rr, 1000, 0);
    CHECK(rttcp_rr_between(rr) && rttcp_rr_sends(rr));
    CHECK(rttcp_rr_moved(rr, 60, 1001) && !rttcp_rr_between(rr) && rttcp_rr_sends(rr));
    CHECK(rttcp_rr_moved(rr, 40, 1002) && !rttcp_rr_sends(rr) && !rttcp_rr_between(rr));
    CHECK(rttcp_rr_moved(rr, 10, 2000));
    CHECK_EQ(rr->exchanges, 0);
    CHECK(rttcp_rr_moved(rr, 20, 2500) && rttcp_rr_between(rr) && rttcp_rr_sends(rr));
    CHECK_EQ(rr->exchanges, 1);
    CHECK(rttcp_rr_moved(rr, 100, 2600) && rttcp_rr_moved(rr, 30, 5000));
    CHECK_EQ(rr->latency.n, 2);
    CHECK_EQ(rr->latency.min, 1500);
    CHECK_EQ(rr->latency.max, 2500);
    CHECK_EQ(rr->last_ns - rr->begun_ns, 4000);
    CHECK(rr->latencies.n == 0 && rr->latencies.dropped == 0); /* nobody asked for them */
    rttcp_rr_release(rr);
}

static void an_exchange_of_the_omitted_time_has_no_latency(void)
{
    struct rttcp_params params = exchange(1, 1, 3);
    struct rttcp_rr *rr = rttcp_rr_create(&params, true);
    rttcp_rr_begin(rr, 1000, 500);
    uint64_t ends[] = {1499, 1900, 2000}; /* the second turn also begins in the omitted time */
    for (int i = 0; i < 3; i++)
        CHECK(rttcp_rr_moved(rr, 1, ends[i]) && rttcp_rr_moved(rr, 1, ends[i]));
    CHECK_EQ(rr->exchanges, 3);
    CHECK_EQ(rr->latency.n, 1);
    CHECK_EQ(rr->latency.max, 100);
    rttcp_rr_release(rr);
}

static void latencies_are_kept_one_by_one_and_written_as_lines(void)
{
    struct rttcp_params params = exchange(1, 1, 4);
    struct rttcp_rr *rr = rttcp_rr_create(&params, true);
    rr->latencies.wanted = true;
    rttcp_rr_begin(rr, 1000, 500);
    uint64_t ends[] = {1499, 1900, 2000, 2700};
    for (int i = 0; i < 4; i++)
        CHECK(rttcp_rr_moved(rr, 1, ends[i]) && rttcp_rr_moved(rr, 1, ends[i]));
    char text[256] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    CHECK(rttcp_latencies_write(&rr->latencies, 3, file));
    fclose(file);
    CHECK_STR(text,
              "{\"t_ns\":1900,\"stream\":3,\"latency_ns\":100}\n{\"t_ns\":2000,\"stream\":3,\"latency_ns\":700}\n");
    rttcp_rr_release(rr);
}

static void what_is_beyond_the_bound_is_counted(void)
{
    struct rttcp_latencies latencies = {.wanted = true};
    for (uint64_t i = 0; i < RTTCP_LATENCIES_MAX + 3; i++)
        rttcp_latencies_add(&latencies, i, 1);
    CHECK_EQ(latencies.n, RTTCP_LATENCIES_MAX);
    CHECK_EQ(latencies.dropped, 3);
    CHECK_EQ(latencies.at[latencies.n - 1].t_ns, RTTCP_LATENCIES_MAX - 1);
    rttcp_latencies_release(&latencies);
}

static void a_server_answers_a_whole_request(void)
{
    struct rttcp_params params = exchange(100, 30, 2);
    struct rttcp_rr *rr = rttcp_rr_create(&params, false);
    CHECK(!rttcp_rr_sends(rr) && rttcp_rr_moved(rr, 99, 1) && !rttcp_rr_sends(rr));
    CHECK(!rttcp_rr_moved(rr, 2, 2)); /* an octet of a request that is not due yet */
    CHECK(rttcp_rr_moved(rr, 1, 2) && rttcp_rr_sends(rr));
    CHECK_EQ(rr->exchanges, 0);
    CHECK(rttcp_rr_moved(rr, 30, 3) && rttcp_rr_between(rr));
    CHECK_EQ(rr->exchanges, 1);
    CHECK_EQ(rr->latency.n, 0);
    rttcp_rr_release(rr);
}

struct end {
    struct rttcp_params params;
    struct rttcp_orders orders;
    struct rttcp_transfer transfer;
    int peer;
};

/* One end, whose peer is the other socket of a pair. */
static struct end *make_end(struct rttcp_params params, bool client)
{
    int pair[2];
    struct end *end = calloc(1, sizeof *end);
    CHECK(end && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    end->params = params;
    end->peer = pair[1];
    end->transfer = (struct rttcp_transfer){.fd = pair[0],
                                            .source_fd = -1,
                                            .params = &end->params,
                                            .orders = &end->orders,
                                            .quota_bytes = params.bytes,
                                            .t0_ns = nc_now_ns()};
    struct timeval slice = {.tv_usec = 10000};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
    CHECK_EQ(rttcp_transfer_prepare(&end->transfer, client, &error), 0);
    rttcp_rr_begin(end->transfer.rr, nc_now_ns(), 0);
    return end;
}

static void free_end(struct end *end)
{
    rttcp_transfer_release(&end->transfer);
    close(end->peer);
    free(end);
}

static enum rttcp_ended run(struct end *end)
{
    enum rttcp_ended ended = ENDED_N;
    while (ended == ENDED_N)
        ended = rttcp_rr_once(&end->transfer, &error);
    return rttcp_rr_close(&end->transfer, ended, &error);
}

static void say(const struct end *end, size_t octets)
{
    static const uint8_t zeros[4096];
    CHECK_EQ(write(end->peer, zeros, octets), octets);
}

static void a_client_ends_after_its_exchanges(void)
{
    uint8_t got[64];
    struct end *end = make_end(exchange(8, 4, 3), true);
    say(end, 4); /* the pair of sockets holds one response; each further response is written after its request has
                  * come */
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rttcp_rr_once(&end->transfer, &error), ENDED_N);
        CHECK_EQ(read(end->peer, got, sizeof got), 8);
        CHECK_EQ(rttcp_rr_once(&end->transfer, &error), ENDED_N);
        if (i < 2)
            say(end, 4);
    }
    CHECK_EQ(rttcp_rr_once(&end->transfer, &error), ENDED_BYTES);
    shutdown(end->peer, SHUT_WR);
    CHECK_EQ(rttcp_rr_close(&end->transfer, ENDED_BYTES, &error), ENDED_BYTES);
    CHECK_EQ(read(end->peer, got, sizeof got), 0);
    CHECK_EQ(end->transfer.rr->latency.n, 3);
    CHECK_EQ(rttcp_transfer_moved(&end->transfer), 24);
    free_end(end);
}

/* The octets that a peer sends before it closes or falls silent, and the conclusion of this end. */
static const struct {
    bool client;
    size_t says;
    bool closes;
    enum rttcp_ended ended;
    const char *text;
} peers[] = {
    {true, 5, false, ENDED_ERROR, "more than the response"},
    {true, 3, true, ENDED_ERROR, "closed it before its response was whole"},
    {true, 0, true, ENDED_ERROR, "closed it before its response was whole"},
    {true, 3, false, ENDED_ERROR, "nothing arrived for 300ms (--timeout)"},
    {true, 4, false, ENDED_ERROR, "did not close it for 300ms (--timeout)"},
    {true, 4, true, ENDED_BYTES, ""},
    {false, 9, true, ENDED_ERROR, "did not await the response"},
    {false, 7, true, ENDED_ERROR, "in the middle of a request"},
    {false, 0, false, ENDED_ERROR, "nothing arrived for 300ms (--timeout)"},
    {false, 0, true, ENDED_BYTES, ""},
    {false, 8, true, ENDED_BYTES, ""},
};

static void a_peer_that_breaks_the_rules_is_named(void)
{
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        struct end *end = make_end(exchange(8, 4, 1), peers[i].client);
        if (peers[i].says)
            say(end, peers[i].says);
        if (peers[i].closes)
            shutdown(end->peer, SHUT_WR);
        error.text[0] = '\0';
        enum rttcp_ended ended = run(end);
        if (ended != peers[i].ended || !strstr(error.text, peers[i].text)) {
            fprintf(stderr, "row %zu: %s: %s\n", i, rttcp_ended_names[ended], error.text);
            exit(1);
        }
        CHECK_EQ(end->transfer.rr->exchanges, peers[i].says == (peers[i].client ? 4 : 8));
        free_end(end);
    }
}

static void a_stop_ends_a_client_between_two_exchanges(void)
{
    struct end *end = make_end(exchange(8, 4, 0), true);
    CHECK_EQ(rttcp_rr_once(&end->transfer, &error), ENDED_N);
    atomic_store(&end->orders.finish, true);
    say(end, 4);
    CHECK_EQ(rttcp_rr_once(&end->transfer, &error), ENDED_N);
    CHECK_EQ(rttcp_rr_once(&end->transfer, &error), ENDED_SIGNAL);
    CHECK_EQ(end->transfer.rr->exchanges, 1);
    free_end(end);
}

int main(void)
{
    RUN(each_latency_runs_from_one_response_to_the_next);
    RUN(an_exchange_of_the_omitted_time_has_no_latency);
    RUN(latencies_are_kept_one_by_one_and_written_as_lines);
    RUN(what_is_beyond_the_bound_is_counted);
    RUN(a_server_answers_a_whole_request);
    RUN(a_client_ends_after_its_exchanges);
    RUN(a_peer_that_breaks_the_rules_is_named);
    RUN(a_stop_ends_a_client_between_two_exchanges);
    return 0;
}
