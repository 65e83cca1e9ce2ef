/* TCP_INFO from a real connection over loopback; the meter's schedule. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "meter.h"
#include "nc_clock.h"
#include "tcpinfo.h"

static void connected(int *client, int *server)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (struct sockaddr *)&at, &size);
    *client = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(*client, (struct sockaddr *)&at, size) == 0);
    *server = accept(listener, NULL, NULL);
    close(listener);
}

static void fields_have_the_kernels_values(void)
{
    int client, server;
    char data[1000] = {0};
    struct rttcp_tcpinfo info = {0};
    connected(&client, &server);
    CHECK_EQ(send(client, data, sizeof data, 0), 1000);
    CHECK_EQ(recv(server, data, sizeof data, MSG_WAITALL), 1000);
    CHECK(rttcp_tcpinfo_take(server, &info));
    CHECK_EQ(rttcp_tcpinfo_get(&info, "state"), 1);
    CHECK_EQ(rttcp_tcpinfo_get(&info, "bytes_received"), 1000);
    CHECK_EQ(rttcp_tcpinfo_get(&info, "no_such_field"), 0);
    json_t *object = rttcp_tcpinfo_encode(&info, true);
    CHECK(json_integer_value(json_object_get(object, "t_ns")) > 0);
    CHECK_EQ(json_integer_value(json_object_get(object, "bytes_received")), 1000);
    json_decref(object);
    info.filled = 8; /* a kernel that knows only the first fields */
    object = rttcp_tcpinfo_encode(&info, false);
    CHECK(json_object_get(object, "state") && !json_object_get(object, "rto_us"));
    json_decref(object);
    close(client);
    close(server);
}

static void meter_samples_while_nothing_moves(void)
{
    int client, server;
    const struct rttcp_params params = {0};
    struct rttcp_transfer stream = {.params = &params};
    connected(&client, &server);
    stream.fd = client;
    struct rttcp_meter meter = {.streams = &stream,
                                .n = 1,
                                .with_details = true,
                                .t0_ns = nc_now_ns(),
                                .interval_ns = 20 * NC_NS_PER_MS,
                                .sample_ns = 5 * NC_NS_PER_MS};
    CHECK(rttcp_meter_start(&meter));
    atomic_store(&stream.bytes, 1000000);
    usleep(110000);
    rttcp_meter_stop(&meter);
    /* a busy machine may reduce the number of points, but never increase it: one every 5 ms, and the last one */
    uint64_t elapsed = nc_now_ns() - meter.t0_ns;
    CHECK(meter.samples.n >= 2 && meter.samples.n <= elapsed / (5 * NC_NS_PER_MS) + 1);
    uint64_t total = 0, end = 0;
    size_t i;
    json_t *row;
    json_array_foreach(meter.intervals, i, row)
    {
        CHECK_EQ(json_integer_value(json_array_get(row, 0)), end); /* no gaps */
        end = (uint64_t)json_integer_value(json_array_get(row, 1));
        total += (uint64_t)json_integer_value(json_array_get(row, 2));
    }
    CHECK_EQ(total, 1000000);
    CHECK(meter.peak_bps > 0);
    CHECK_EQ(json_array_size(meter.details), json_array_size(meter.intervals));
    json_decref(meter.details);
    json_decref(meter.intervals);
    rttcp_samples_release(&meter.samples);
    close(client);
    close(server);
}

int main(void)
{
    RUN(fields_have_the_kernels_values);
    RUN(meter_samples_while_nothing_moves);
    return 0;
}
