/* Texts of loss, jitter and rate models, and files of numbers. If a text is accepted, it survives formatting and
 * parsing, and the model works. If it is refused, the error is one line. Input: the kind (1 byte), text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jitter_model.h"
#include "loss_model.h"
#include "model_text.h"
#include "rate_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

static void refused(const char *reason)
{
    REQUIRE(reason[0] && !strchr(reason, '\n'));
}

static void try_loss(const char *text)
{
    static struct loss_state state; /* 64 KB, cleared by init: too large to allocate for every input */
    struct nc_error error;
    char first[MODEL_TEXT_MAX], second[MODEL_TEXT_MAX];
    struct loss_model model, again;
    if (loss_model_parse(text, &model, &error) < 0) {
        refused(error.text);
        return;
    }
    loss_model_format(&model, first, sizeof first);
    REQUIRE(loss_model_parse(first, &again, &error) == 0);
    REQUIRE(strcmp(loss_model_format(&again, second, sizeof second), first) == 0);
    loss_state_init(&state, 10);
    for (uint64_t i = 0; i < 200; i++) {
        struct loss_tcp tcp = {.flow = i % 3, .seq = (uint32_t)(i % 50 * 1000), .len = 1000, .syn = i < 3};
        loss_model_hit(&state, &again, 1, &(struct loss_packet){.number = i, .time_ns = i * i, .tcp = &tcp});
    }
    loss_model_free(&model);
    loss_model_free(&again);
}

static void try_jitter(const char *text)
{
    struct nc_error error;
    char first[MODEL_TEXT_MAX], second[MODEL_TEXT_MAX];
    struct jitter_model model, again;
    struct jitter_state state = {0};
    if (strchr(text, '/') || strstr(text, ".")) /* never open existing files */
        return;
    if (jitter_model_parse(text, &model, &error) < 0) {
        refused(error.text);
        return;
    }
    jitter_model_format(&model, first, sizeof first);
    REQUIRE(jitter_model_parse(first, &again, &error) == 0);
    REQUIRE(strcmp(jitter_model_format(&again, second, sizeof second), first) == 0);
    for (uint64_t i = 0; i < 50; i++)
        REQUIRE(jitter_ns(&state, &again, 1, i, 1000) >= -1000);
    jitter_model_free(&model);
    jitter_model_free(&again);
}

static void send_some(const struct rate_trace *trace)
{
    struct rate_trace_state state;
    rate_trace_init(&state, 1000);
    uint64_t last_ns = 0;
    for (uint64_t i = 0; i < 50; i++) {
        uint64_t start_ns = i * i * 1000000, exit_ns = rate_trace_exit(&state, trace, start_ns, (uint32_t)(i * 300));
        REQUIRE(exit_ns >= start_ns && exit_ns >= last_ns);
        last_ns = exit_ns;
    }
}

static void try_rate(const char *text)
{
    struct nc_error error;
    char first[MODEL_TEXT_MAX], second[MODEL_TEXT_MAX];
    struct rate_trace trace, again;
    if (strchr(text, '/'))
        return;
    if (rate_trace_parse(text, &trace, &error) < 0) {
        refused(error.text);
        return;
    }
    rate_trace_format(&trace, first, sizeof first);
    REQUIRE(rate_trace_parse(first, &again, &error) == 0);
    REQUIRE(strcmp(rate_trace_format(&again, second, sizeof second), first) == 0);
    send_some(&again);
    rate_trace_free(&trace);
    rate_trace_free(&again);
}

static void try_file(enum table_content content, const char *data, size_t len)
{
    struct nc_error error;
    struct table *table = table_parse("file", data, len, content, &error);
    if (!table) {
        refused(error.text);
        return;
    }
    if (content == TABLE_MILLISECONDS) {
        send_some(&(struct rate_trace){.kind = RATE_MAHIMAHI, .table = table});
        send_some(&(struct rate_trace){.kind = RATE_MM_LINK, .table = table});
    } else if (content == TABLE_DURATIONS) {
        struct jitter_model model = {.kind = JITTER_TRACE, .table = table};
        struct jitter_state state = {0};
        for (uint64_t i = 0; i < table->n; i++)
            REQUIRE(jitter_ns(&state, &model, 1, i, 5) >= -5);
    }
    table_release(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *text = malloc(size); /* allocated exactly */
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 6) {
    case 0:
        try_loss(text);
        break;
    case 1:
        try_jitter(text);
        break;
    case 2:
        try_rate(text);
        break;
    default:
        try_file((enum table_content)(data[0] % 6 - 3), (const char *)data + 1, size - 1);
        break;
    }
    free(text);
    return 0;
}
