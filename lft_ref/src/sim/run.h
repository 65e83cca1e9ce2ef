/* The state of a running trial, for run.c, ends.c and traffic.c. End A has the sources; end B reads at once. The
 * streams of --streams have the lowest numbers, then come the streams of --still, then the stream of --request. */
#ifndef LFT_RUN_H
#define LFT_RUN_H

#include "sim.h"

enum { SIM_OUTER_BYTES = 28 };

struct end {
    struct lft_engine *engine;
    struct lft_session *session;
    struct lft_key *seal, *unseal;
    struct sim_late late;
    /* wake_ns: when this end has work. ran_ns: when it last ran. run_ns: when it will run next. */
    uint64_t wake_ns, ran_ns, run_ns;
};
struct source {
    struct lft_stream *stream;
    uint64_t written, limit; /* `limit`: octets that the source writes; 0: it writes until the duration is over */
    bool accepted, finished, blocked;
};
struct sink {
    uint64_t read, done_ns;
    bool known, done;
};
struct run {
    const struct sim_trial *trial;
    struct sim_result *result;
    struct end a, b;
    struct sim_path ab, ba;
    struct source *sources;
    struct sink *sinks;
    size_t streams, changes_done;
    uint64_t now_ns, source_credit_ns, last_progress_ns;
    uint32_t payload_max;
    struct sim_meter *meter;
};

/* ends.c: an engine, a session and keys at each end, and the frames between them. */
void sim_end_init(struct run *run, struct end *end, bool first);
void sim_end_free(struct end *end);
void sim_transmit(struct run *run, struct end *end, struct sim_path *path);
void sim_receive(struct run *run, struct end *end, struct sim_path *path);

/* traffic.c: what A's sources write and B's sinks read. Every octet is a function of stream and offset, and B checks
 * it. */
bool sim_is_still(const struct run *run, size_t i); /* true for a stream whose reader will stop reading */
void sim_open_stream(struct run *run, size_t i, uint64_t bytes);
void sim_write_all(struct run *run);
void sim_events_a(struct run *run);
void sim_events_b(struct run *run);

#endif
