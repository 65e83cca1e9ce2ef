/* Any bytes as the text of queue management. If the text is refused, the error is one line. If it is accepted, it
 * survives formatting and parsing again, and its algorithm runs. Input: text, up to a zero byte; the rest drives a
 * queue. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aqm_text.h"
#include "discipline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

enum { PACKETS = 64 };

/* A queue with its discipline, and packets for it. */
struct driven {
    struct queue queue;
    struct queue_settings settings;
    struct queued packets[PACKETS];
    struct queued_list unused;
};

static void give_back(struct driven *d, struct queued *packet)
{
    queued_push(&d->unused, packet);
}

static void give_back_dropped(struct driven *d)
{
    for (struct queued *packet; (packet = queued_pop(&d->queue.dropped));) {
        REQUIRE(packet->fate == FATE_QUEUE);
        give_back(d, packet);
    }
}

static void arrive(struct driven *d, uint64_t now_ns, uint8_t byte, uint64_t number)
{
    struct queued *packet = queued_pop(&d->unused);
    if (!packet)
        return;
    *packet = (struct queued){.arrival_ns = now_ns,
                              .number = number,
                              .flow = byte >> 4,
                              .bytes = 60 + byte * 32u,
                              .ect = byte & 1,
                              .ect1 = (byte & 3) == 3};
    packet->ack_only = byte % 5 < 2;
    packet->ack = (uint32_t)number * (byte % 3);
    if (d->queue.discipline->enqueue(&d->queue, &d->settings, packet) != FATE_PASS)
        give_back(d, packet);
    give_back_dropped(d);
}

static bool depart(struct driven *d, uint64_t now_ns)
{
    enum fate fate;
    struct queued *packet = d->queue.discipline->dequeue(&d->queue, &d->settings, now_ns, &fate);
    if (!packet)
        return false;
    REQUIRE(fate == FATE_PASS || fate == FATE_AQM);
    REQUIRE(!packet->marked || (packet->ect && d->settings.aqm->ecn));
    REQUIRE(d->settings.aqm->algorithm != AQM_NONE || fate == FATE_PASS);
    give_back(d, packet);
    return true;
}

/* Each byte is an arrival and perhaps a departure at some time, with a number of bytes on the line. */
static void drive(const struct aqm_params *params, const uint8_t *data, size_t size)
{
    static struct driven d;
    struct queue_fact facts[QUEUE_FACTS_MAX];
    d = (struct driven){.settings = {.aqm = params, .packets_max = 40, .key = 1, .drop_head = size & 1}};
    for (int i = 0; i < PACKETS; i++)
        give_back(&d, &d.packets[i]);
    void *own = calloc(1, discipline_of(params->algorithm)->own_bytes);
    REQUIRE(own);
    queue_change(&d.queue, &d.settings, own);
    uint64_t now_ns = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = data[i];
        now_ns += (uint64_t)(byte >> 5) << (byte & 31);
        d.queue.line_bytes = (uint64_t)(byte & 7) << (byte >> 3);
        arrive(&d, now_ns, byte, i);
        if (byte % 3)
            depart(&d, now_ns);
        REQUIRE((d.queue.packets == 0) == (d.queue.discipline->next(&d.queue).time_ns == UINT64_MAX));
        size_t n = d.queue.discipline->state ? d.queue.discipline->state(&d.queue, facts) : 0;
        REQUIRE(n <= QUEUE_FACTS_MAX);
    }
    while (depart(&d, now_ns))
        ;
    REQUIRE(d.queue.packets == 0 && d.queue.bytes == 0);
    free(own);
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
