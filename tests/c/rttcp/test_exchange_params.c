/* The parameters of request and response. An error names the parameter that is excluded, or that an answer changes. */
#include "check.h"
#include "message.h"

static struct nc_error error;

static struct rttcp_params exchanges(void)
{
    return (struct rttcp_params){.bytes = 1024,
                                 .request_bytes = 128,
                                 .response_bytes = 64,
                                 .length_bytes = 4096,
                                 .interval_ns = 1000000000,
                                 .timeout_ns = 60000000000,
                                 .align_bytes = 4096,
                                 .forward = 2};
}

static const struct {
    const char *key, *json, *says;
} wrong_exchanges[] = {
    {"response_bytes", "0", "request_bytes, response_bytes"},
    {"request_bytes", "0", "request_bytes, response_bytes"},
    {"request_bytes", "67108865", "request_bytes"},
    {"bytes", "1025", "bytes"},
    {"bytes", "128", "bytes"}, /* one request for two streams */
    {"verify", "true", "request_bytes"},
    {"window_bytes", "65536", "request_bytes"},
    {"pacing_bps", "1000000", "request_bytes"},
    {"skip_rx_copy", "true", "request_bytes"},
    {"zerocopy", "true", "request_bytes"},
    {"streams", "[{\"direction\":\"send\"},{\"direction\":\"receive\"}]", "request_bytes"},
};

static void wrong_exchanges_are_named(void)
{
    struct rttcp_params in = exchanges(), out;
    json_t *good = rttcp_params_encode(&in);
    CHECK_EQ(rttcp_params_decode(good, &out, &error), 0);
    for (size_t i = 0; i < sizeof wrong_exchanges / sizeof wrong_exchanges[0]; i++) {
        json_t *object = json_deep_copy(good);
        json_object_set_new(object, wrong_exchanges[i].key, json_loads(wrong_exchanges[i].json, JSON_DECODE_ANY, NULL));
        CHECK_EQ(rttcp_params_decode(object, &out, &error), -1);
        CHECK(strncmp(error.text, wrong_exchanges[i].says, strlen(wrong_exchanges[i].says)) == 0);
        json_decref(object);
    }
    json_decref(good);
}

static void an_answer_with_other_exchanges_is_named(void)
{
    struct rttcp_params proposed = exchanges(), answered;
    for (int i = 0; i < 2; i++) {
        answered = proposed;
        *(i ? &answered.response_bytes : &answered.request_bytes) = 2048;
        CHECK_EQ(rttcp_params_compare(&proposed, &answered, &error), -1);
        CHECK(strstr(error.text, i ? "response_bytes 2048 where 64" : "request_bytes 2048 where 128"));
    }
}

int main(void)
{
    RUN(wrong_exchanges_are_named);
    RUN(an_answer_with_other_exchanges_is_named);
    return 0;
}
