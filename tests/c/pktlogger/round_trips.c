/* Which acknowledgements are samples of the round-trip time. */
#include "round_trips.h"

#include "check.h"
#include "flows.h"

enum { SENT = 0, CAME = 1 };

static struct pl_round_trip take(struct pl_round_trips *trips, struct pl_row row)
{
    struct pl_round_trip trip;
    CHECK_EQ(pl_round_trips_packet(trips, &row, SENT, &trip), 0);
    return trip;
}

static void send_flags(struct pl_round_trips *trips, int64_t t_ns, uint64_t seq, uint32_t len, uint16_t flags)
{
    CHECK_EQ(take(trips, (struct pl_row){.t_ns = t_ns, .seq = seq, .len = len, .flags = flags, .ack = PL_NO_ACK}).ns,
             -1);
}

static void send(struct pl_round_trips *trips, int64_t t_ns, uint64_t seq, uint32_t len)
{
    send_flags(trips, t_ns, seq, len, NC_TCP_ACK);
}

/* The sample of an acknowledgement with up to two SACK blocks; a right edge of 0 stands for no block. */
static int64_t came(struct pl_round_trips *trips, int64_t t_ns, uint64_t ack, uint64_t right, uint64_t earlier)
{
    struct pl_row row = {.dir = CAME, .t_ns = t_ns, .ack = ack, .flags = NC_TCP_ACK};
    row.sack_n = (uint8_t)(!!right + !!earlier);
    row.sack_right[0] = right;
    row.sack_right[1] = earlier;
    return take(trips, row).ns;
}

static struct pl_round_trips from_syn(void)
{
    struct pl_round_trips trips = {.sack = true};
    send_flags(&trips, 0, 0, 0, NC_TCP_SYN);
    struct pl_row answer = {.dir = CAME, .t_ns = 20, .ack = 1, .flags = NC_TCP_SYN | NC_TCP_ACK};
    CHECK_EQ(take(&trips, answer).ns, 20);
    return trips;
}

static void an_acknowledgement_of_the_syn_without_one_gives_none(void)
{
    struct pl_round_trips trips = {.sack = true};
    send_flags(&trips, 0, 0, 0, NC_TCP_SYN);
    CHECK_EQ(came(&trips, 45, 1, 0, 0), -1); /* the capture missed the answer */
    send(&trips, 50, 1, 1000);
    CHECK_EQ(came(&trips, 71, 1001, 0, 0), 21);
    pl_round_trips_free(&trips);
}

static void the_newest_data_count_and_super_packets_in_parts(void)
{
    struct pl_round_trips trips = from_syn();
    send(&trips, 30, 1, 1000);
    send(&trips, 32, 1001, 3000);
    CHECK_EQ(came(&trips, 55, 2001, 0, 0), 23);
    CHECK_EQ(came(&trips, 56, 4001, 0, 0), 24);
    CHECK_EQ(came(&trips, 57, 4001, 0, 0), -1);
    pl_round_trips_free(&trips);
}

static void sack_is_the_first_acknowledgement_and_a_repair_gives_none(void)
{
    struct pl_round_trips trips = from_syn();
    send(&trips, 30, 1, 1000);
    for (int i = 1; i < 4; i++)
        send(&trips, 30 + i, (uint64_t)(i * 1000 + 1), 1000);
    CHECK_EQ(came(&trips, 51, 1, 2001, 0), 20);
    CHECK_EQ(came(&trips, 60, 1, 2001, 0), -1);    /* the network duplicated one */
    CHECK_EQ(came(&trips, 61, 1, 2001, 3001), -1); /* the second block is older: the acknowledgement for it was lost */
    send(&trips, 62, 1, 1000);
    CHECK_EQ(came(&trips, 82, 4001, 0, 0), -1); /* the acknowledgement may have waited */
    send(&trips, 90, 4001, 1000);
    CHECK_EQ(came(&trips, 111, 5001, 0, 0), 21);
    pl_round_trips_free(&trips);
}

static void data_behind_a_repair_count(void)
{
    struct pl_round_trips trips = from_syn();
    send(&trips, 30, 1, 1000);
    send(&trips, 31, 1001, 1000);
    send(&trips, 52, 1, 1000);
    send(&trips, 53, 2001, 1000);
    CHECK_EQ(came(&trips, 72, 2001, 0, 0), -1);
    CHECK_EQ(came(&trips, 73, 3001, 0, 0), 20);
    pl_round_trips_free(&trips);
}

static void a_connection_seen_from_its_middle_needs_a_round_first(void)
{
    struct pl_round_trips trips = {.sack = true};
    CHECK_EQ(came(&trips, 0, 1000, 0, 0), -1);
    send(&trips, 1, 1000, 1000); /* may be a copy; the original is then acknowledged at about this time */
    send(&trips, 2, 5000, 1000);
    CHECK_EQ(came(&trips, 3, 5000, 0, 0), -1);
    CHECK_EQ(came(&trips, 22, 6000, 0, 0), -1);
    send(&trips, 23, 6000, 1000);
    CHECK_EQ(came(&trips, 43, 7000, 0, 0), 20);
    pl_round_trips_free(&trips);
}

static void what_the_capture_missed_gives_none(void)
{
    struct pl_round_trips trips = from_syn();
    send(&trips, 30, 1, 1000);
    send(&trips, 31, 2001, 1000);
    CHECK_EQ(came(&trips, 50, 1001, 0, 0), -1);
    CHECK_EQ(came(&trips, 51, 3001, 0, 0), -1);
    CHECK_EQ(came(&trips, 60, 9001, 0, 0), -1);
    send(&trips, 70, 9001, 1000);
    CHECK_EQ(came(&trips, 90, 10001, 0, 0), 20);
    pl_round_trips_free(&trips);
}

static void without_sack_the_next_acknowledgement_decides(void)
{
    struct pl_round_trips trips = from_syn();
    trips.sack = false;
    send(&trips, 30, 1, 1000);
    for (int i = 0; i < 4; i++)
        send(&trips, 31 + i, (uint64_t)(i * 1000 + 1001), 1000);
    CHECK_EQ(came(&trips, 50, 1001, 0, 0), -1);
    CHECK_EQ(came(&trips, 51, 2001, 0, 0), 20);
    CHECK_EQ(came(&trips, 54, 2001, 0, 0), -1); /* so that the previous acknowledgement did not give a sample */
    CHECK_EQ(came(&trips, 57, 5001, 0, 0), 23); /* nothing is outstanding */
    pl_round_trips_free(&trips);
}

static void only_data_are_answered(void)
{
    struct pl_round_trips trips = from_syn();
    struct pl_row ack = {.dir = CAME, .t_ns = 50, .ack = 1001, .flags = NC_TCP_ACK};
    send(&trips, 30, 1, 1000);
    CHECK(take(&trips, ack).answer);
    CHECK(!take(&trips, ack).answer);
    send_flags(&trips, 60, 1001, 0, NC_TCP_FIN | NC_TCP_ACK);
    ack.ack = 1002;
    CHECK(!take(&trips, ack).answer);
    pl_round_trips_free(&trips);
}

int main(void)
{
    an_acknowledgement_of_the_syn_without_one_gives_none();
    the_newest_data_count_and_super_packets_in_parts();
    sack_is_the_first_acknowledgement_and_a_repair_gives_none();
    data_behind_a_repair_count();
    a_connection_seen_from_its_middle_needs_a_round_first();
    what_the_capture_missed_gives_none();
    without_sack_the_next_acknowledgement_decides();
    only_data_are_answered();
    return 0;
}
