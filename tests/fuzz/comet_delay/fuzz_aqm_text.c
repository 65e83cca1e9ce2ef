/* Any bytes as the text form of queue management: what is refused is explained in one line; what is accepted survives
 * formatting and parsing again, and its algorithm runs. Input: text, up to a zero byte; what follows drives a queue. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aqm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

/* Each byte is an arrival and a departure at some time and depth; marks need an ECN-capable packet and `ecn`. */
static void drive(const struct aqm_params *params, const uint8_t *data, size_t size)
{
    struct aqm aqm = {0};
    uint64_t now_ns = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = data[i];
        uint64_t backlog = (uint64_t)(byte & 7) << (byte >> 3), sojourn = (uint64_t)byte << (byte & 31);
        bool ect = byte & 1;
        now_ns += (uint64_t)(byte >> 5) << (byte & 31);
        enum aqm_verdict in = aqm_enqueue(&aqm, params, now_ns, backlog, 60 + byte * 32u, ect, 1, i);
        enum aqm_verdict out = aqm_dequeue(&aqm, params, now_ns, sojourn, backlog, 60 + byte * 32u, ect, 1, i);
        REQUIRE((in != AQM_MARK && out != AQM_MARK) || (ect && params->ecn));
        REQUIRE(params->algorithm != AQM_NONE || (in == AQM_PASS && out == AQM_PASS));
        REQUIRE(aqm.pie.probability >= 0 && aqm.pie.probability <= 1 && aqm.red.average_bytes >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nc_error error;
    char *text = malloc(size + 1), once[AQM_TEXT_MAX], twice[AQM_TEXT_MAX];
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    struct aqm_params params, again;
    if (aqm_parse(text, &params, &error) == 0) {
        aqm_format(&params, once, sizeof once);
        REQUIRE(aqm_parse(once, &again, &error) == 0);
        REQUIRE(strcmp(aqm_format(&again, twice, sizeof twice), once) == 0);
        params.link_rate_bps = size % 3 * 10000000;
        size_t used = strlen(text);
        drive(&params, data + used, size - used);
    } else {
        REQUIRE(error.text[0] && !strchr(error.text, '\n'));
    }
    free(text);
    return 0;
}
