/* A queue under active management in front of a serial line, in virtual time: the environment of an AQM. It is first
 * in, first out, and unbounded. */
#ifndef TEST_AQM_LINE_H
#define TEST_AQM_LINE_H

#include "aqm.h"

struct aqm_line_packet {
    uint64_t arrival_ns, number;
    uint32_t bytes;
    bool ect;
};

struct aqm_line {
    struct aqm_params params; /* link_rate_bps is the line's rate */
    uint64_t key;
    struct aqm aqm;
    struct aqm_line_packet *fifo; /* grows by doubling */
    uint64_t head, tail, size;
    uint64_t backlog_bytes, free_ns, number;
    uint64_t arrived, delivered, marked, dropped_in, dropped_out;
    /* Called for each packet that goes onto the line, or that is dropped when its turn comes; may be NULL. */
    void (*fate)(void *context, const struct aqm_line_packet *packet, uint64_t now_ns, enum aqm_verdict verdict);
    void *context;
};

/* Parameters in text form. */
void aqm_line_init(struct aqm_line *line, const char *text, uint64_t rate_bps, uint64_t key);
void aqm_line_free(struct aqm_line *line);

/* Serves the queue until `now_ns`, when a packet arrives. Times never decrease. */
void aqm_line_serve(struct aqm_line *line, uint64_t now_ns);
void aqm_line_arrive(struct aqm_line *line, uint64_t now_ns, uint32_t bytes, bool ect);

/* Bursts that keep a 10 Mbit/s line busy for half of the time must pass without drops and marks. */
void aqm_line_passes_low_load(const char *text);

#endif
