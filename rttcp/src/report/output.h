/* What a session prints: JSON lines for programs, tables for people, the text of 1995, or iperf3's document. The format
 * is chosen once, in struct rttcp_output. */
#ifndef RTTCP_OUTPUT_H
#define RTTCP_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "nc_error.h"
#include "meter.h"
#include "report.h"

enum rttcp_format { FORMAT_JSON, FORMAT_HUMAN, FORMAT_CLASSIC, FORMAT_IPERF3 };

struct rttcp_output {
    enum rttcp_format format;
    int lock_fd; /* file to lock while printing, because processes share stdout and lines exceed PIPE_BUF; -1: none */
};

/* Makes the lock file that this process and its children share; -1 when that fails. */
int rttcp_output_lock_create(void);

/* Prints that the receiver accepts sessions at `where`, a text of rttcp_address_text. */
void rttcp_output_ready(const struct rttcp_output *output, uint16_t port, const char *where, json_t *sandbox);
/* The sender is connected. */
void rttcp_output_start(const struct rttcp_output *output, const struct rttcp_report *report);
/* `sends`: whether this end sends. `streams`: the interval's details (meter.h), or NULL. */
void rttcp_output_interval(const struct rttcp_output *output, const struct rttcp_interval *interval, bool sends,
                           const json_t *streams);
void rttcp_output_end(const struct rttcp_output *output, const struct rttcp_report *report);
/* A proposal that the receiver refused. */
void rttcp_output_refused(const struct rttcp_output *output, const char *peer, const struct nc_error *error);
/* The receiver stops serving. */
void rttcp_output_stopped(const struct rttcp_output *output, uint64_t sessions, uint64_t failed);
/* Prints the last line of a tool that has failed. */
void rttcp_output_error(const struct rttcp_output *output, const struct nc_error *error);

/* Prints the last line of a tool that failed before a session began, when nothing has been printed yet. */
void rttcp_output_no_session(const struct rttcp_output *output, const struct nc_error *error);

/* classic.c: one side's account in the form of the tool of 1995; `letter` t or r. */
void rttcp_classic_print(FILE *out, char letter, const struct rttcp_params *params, const struct rttcp_side *side);
/* iperf3.c: the session as iperf3's document. */
json_t *rttcp_iperf3_encode(const struct rttcp_report *report);
/* Prints the iperf3 document of a tool that failed before a session began. */
json_t *rttcp_iperf3_error(const char *text);
/* human.c */
void rttcp_human_heading(FILE *out, bool sends, bool exchanges);
void rttcp_human_interval(FILE *out, const struct rttcp_interval *interval, bool sends, const json_t *streams);
/* Prints one line that begins with `lead`. */
void rttcp_human_exchange(FILE *out, const char *lead, const struct rttcp_params *params,
                          const struct rttcp_exchange_account *account);
void rttcp_human_end(FILE *out, const struct rttcp_report *report);

/* Call it at the end of a process. Returns `status`, or NC_EXIT_FAILED with a line on stderr when writing to stdout
 * failed: lost results are a failure even after a successful transfer. */
int rttcp_output_check(int status);

#endif
