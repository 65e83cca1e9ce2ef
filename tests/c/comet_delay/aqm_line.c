#include "aqm_line.h"

#include <stdlib.h>

#include "check.h"
#include "nc_clock.h"

void aqm_line_init(struct aqm_line *line, const char *text, uint64_t rate_bps, uint64_t key)
{
    struct nc_error error;
    *line = (struct aqm_line){.key = key, .size = 1024};
    if (aqm_parse(text, &line->params, &error) < 0) {
        fprintf(stderr, "%s: %s\n", text, error.text);
        exit(1);
    }
    line->params.link_rate_bps = rate_bps;
    line->fifo = malloc(line->size * sizeof *line->fifo);
    CHECK(line->fifo);
}

void aqm_line_free(struct aqm_line *line)
{
    free(line->fifo);
    line->fifo = NULL;
}

static void push(struct aqm_line *line, struct aqm_line_packet packet)
{
    if (line->head - line->tail == line->size) {
        struct aqm_line_packet *fifo = malloc(2 * line->size * sizeof *fifo);
        CHECK(fifo);
        for (uint64_t i = line->tail; i != line->head; i++)
            fifo[i % (2 * line->size)] = line->fifo[i % line->size];
        free(line->fifo);
        line->fifo = fifo;
        line->size *= 2;
    }
    line->fifo[line->head++ % line->size] = packet;
    line->backlog_bytes += packet.bytes;
}

void aqm_line_serve(struct aqm_line *line, uint64_t now_ns)
{
    while (line->tail != line->head) {
        struct aqm_line_packet packet = line->fifo[line->tail % line->size];
        uint64_t start_ns = line->free_ns > packet.arrival_ns ? line->free_ns : packet.arrival_ns;
        if (start_ns > now_ns)
            return;
        line->tail++;
        line->backlog_bytes -= packet.bytes;
        enum aqm_verdict verdict = aqm_dequeue(&line->aqm, &line->params, start_ns, start_ns - packet.arrival_ns,
                                               line->backlog_bytes, packet.bytes, packet.ect, line->key, packet.number);
        if (line->fate)
            line->fate(line->context, &packet, start_ns, verdict);
        line->marked += verdict == AQM_MARK;
        if (verdict == AQM_DROP) {
            line->dropped_out++;
            line->free_ns = start_ns; /* the next packet's turn is at the same time */
            continue;
        }
        line->delivered++;
        line->free_ns = start_ns + (uint64_t)packet.bytes * 8 * NC_NS_PER_S / line->params.link_rate_bps;
    }
}

void aqm_line_arrive(struct aqm_line *line, uint64_t now_ns, uint32_t bytes, bool ect)
{
    aqm_line_serve(line, now_ns);
    uint64_t number = line->number++;
    line->arrived++;
    enum aqm_verdict verdict =
        aqm_enqueue(&line->aqm, &line->params, now_ns, line->backlog_bytes, bytes, ect, line->key, number);
    line->marked += verdict == AQM_MARK;
    if (verdict == AQM_DROP)
        line->dropped_in++;
    else
        push(line, (struct aqm_line_packet){now_ns, number, bytes, ect});
    aqm_line_serve(line, now_ns);
}

void aqm_line_passes_low_load(const char *text)
{
    struct aqm_line line;
    aqm_line_init(&line, text, 10000000, 1);
    for (uint64_t i = 0; i < 100000; i++) /* bursts of 4 that take 4.8 ms, half the time */
        aqm_line_arrive(&line, i / 4 * 9600000, 1500, false);
    CHECK_EQ(line.dropped_in + line.dropped_out + line.marked, 0);
    aqm_line_free(&line);
}
