/* Parameters and models as a block: after unpacking they have the same texts, and a damaged block is refused. */
#include "models_packed.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static struct params with_tables(void)
{
    struct params params = {.delay_ns = 7, .rate_bps = 45000000, .queue_bytes = 3000};
    snprintf(params.loss, sizeof params.loss, "packets:5,10-12,900");
    snprintf(params.loss_after, sizeof params.loss_after, "seq:1000-2000x2");
    snprintf(params.jitter, sizeof params.jitter, "pareto:2ms,25%%");
    snprintf(params.rate_trace, sizeof params.rate_trace, "rate:0s=10Mbit,5s=1Mbit");
    snprintf(params.aqm, sizeof params.aqm, "codel:ecn=on");
    snprintf(params.only, sizeof params.only, "tcp,!ack-only");
    return params;
}

static void check_same(const struct models *a, const struct models *b)
{
    json_t *one = models_json(a), *other = models_json(b);
    CHECK(json_equal(one, other));
    json_decref(one);
    json_decref(other);
}

static void a_block_holds_everything(void)
{
    struct params params = with_tables(), got;
    struct models models, meant;
    struct nc_error error;
    size_t len;
    CHECK(models_build(&params, &models, &error) == 0);
    void *block = models_pack(&params, &models, &len);
    CHECK(models_unpack(block, len, &got, &meant) == 0);
    CHECK(memcmp(&got, &params, sizeof got) == 0);
    check_same(&models, &meant);
    models_free(&models); /* the two share nothing */
    CHECK(table_pairs_overlap(meant.loss.ranges, 11, 12) && !table_pairs_overlap(meant.loss.ranges, 13, 14));
    models_free(&meant);
    free(block);
}

static void a_block_of_another_length_is_refused(void)
{
    struct params params = with_tables(), got;
    struct models models, meant;
    struct nc_error error;
    size_t len;
    CHECK(models_build(&params, &models, &error) == 0);
    uint8_t *block = models_pack(&params, &models, &len);
    for (size_t cut = 0; cut < len; cut += 7)
        CHECK(models_unpack(block, cut, &got, &meant) < 0);
    for (size_t at = 0; at < 2 * sizeof(uint64_t); at += sizeof(uint64_t)) {
        block[at] ^= 8; /* a structure of another size: built from other sources */
        CHECK(models_unpack(block, len, &got, &meant) < 0);
        block[at] ^= 8;
    }
    memset(block + 2 * sizeof(uint64_t), 0xff, sizeof(uint64_t)); /* a table longer than there is memory */
    CHECK(models_unpack(block, len, &got, &meant) < 0);
    free(block);
    models_free(&models);
}

int main(void)
{
    RUN(a_block_holds_everything);
    RUN(a_block_of_another_length_is_refused);
    return 0;
}
