/* The state of a link, for its own files. Keys: `current` seals and unseals; `previous` unseals for ten seconds after a
 * change; `pending`, in a responder, unseals until its first authentic frame makes it current. */
#ifndef LFT_LINK_INTERNAL_H
#define LFT_LINK_INTERNAL_H

#include "link.h"

enum { LFT_REPLIES = 64 };

struct lft_reply {
    struct lft_address to;
    uint8_t n, at[LFT_HANDSHAKE_MAX];
};

struct lft_link {
    struct lft_link_config config; /* without the psk */
    struct lft_link_counters counters;
    struct lft_handshake *handshake;
    struct lft_session *session;
    struct lft_engine *engine;
    struct lft_keys current, previous, pending; /* seal NULL: none */
    struct lft_address peer;                    /* destination of frames: the source address of the newest authentic
                                                 * frame */
    uint64_t newest_counter;                    /* when the last authentic frame of this association arrived */
    uint64_t epoch, peer_epoch;                 /* of this association */
    uint64_t silent_since_ns, tick_ns;
    /* The clock on which keys age: `now` plus the time for which the machine was suspended. */
    uint64_t previous_until_ns, pending_until_ns, installed_ns, suspended_ns;
    uint64_t tx_key_frames, rx_key_frames; /* under `current` */
    uint32_t path_payload_max, peer_payload_max;
    enum lft_link_contention contention;
    /* address of the rival gateway that this end refused, or of the other end that refuses this one */
    struct lft_address contender;
    uint64_t contention_ns; /* when that was last seen */
    enum lft_link_status status;
    unsigned events;

    struct lft_reply replies[LFT_REPLIES];
    unsigned replies_n;
    size_t held_bytes; /* length of a sealed frame that did not fit into the previous batch */
    uint8_t held[LFT_PAYLOAD_MAX + 128];
    uint8_t batch[LFT_BATCH_BYTES + LFT_PAYLOAD_MAX + 128];
    uint8_t opened[LFT_PAYLOAD_MAX + 128];
};

/* The files of the link, lowest layer first. A file calls only files that come before it in this list. */

/* link_settings.c */
void lft_link_apply_payload_max(struct lft_link *link);

/* link.c */
/* Takes new keys and puts them into use. When an epoch has changed this begins a new association. */
void lft_link_install(struct lft_link *link, struct lft_keys *keys, const struct lft_address *from, uint64_t now_ns);
/* Keeps keys until the first authentic frame under them arrives. */
void lft_link_await(struct lft_link *link, const struct lft_keys *keys, uint64_t now_ns);
void lft_link_drop_keys(struct lft_keys *keys);
/* True while frames of the peer still arrive on the association in use. */
bool lft_link_heard(const struct lft_link *link, uint64_t now_ns);
void lft_link_run_timers(struct lft_link *link, uint64_t now_ns);
/* The destination of an INIT: the destination of frames while the tunnel is up, otherwise the configured address. */
const struct lft_address *lft_link_init_to(const struct lft_link *link);
bool lft_link_may_send(const struct lft_link *link);
/* link_receive.c, link_batch.c: link.h. */

#endif
