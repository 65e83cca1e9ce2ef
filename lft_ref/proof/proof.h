/* A world: two real links, everything that they have sent, and what an outsider without the key can do with it. Time
 * and randomness are controlled, so a list of actions makes the same world each time. */
#ifndef LFT_PROOF_PROOF_H
#define LFT_PROOF_PROOF_H

#include "handshake_internal.h"
#include "link_internal.h"

enum { INITIATOR, RESPONDER, ENDS, OUTSIDER = ENDS, ALL };
enum { INITIATOR_ADDRESS = 1, RESPONDER_ADDRESS, OUTSIDER_ADDRESS = 9 };
enum { MESSAGES_MAX = 96, OCTETS_MAX = 512, KEY_SETS_MAX = 96, KEYS_MAX = 96, EPOCHS_MAX = 64 };

/* A datagram that an end has made. The outsider has a copy of each. */
struct message {
    uint8_t by, type; /* type 0: a frame */
    uint32_t spi;
    bool taken; /* for a frame: the other end has accepted it */
    size_t n;
    uint8_t at[OCTETS_MAX];
};

/* Keys that an end has derived from a finished handshake. */
struct key_set {
    int end;
    unsigned incarnation;
    uint64_t seal, unseal; /* the keys themselves, hashed */
    uint32_t spi_out, spi_in;
    uint64_t epoch, peer_epoch, rekey_ns;
    uint32_t peer_spi; /* the SPI in the hello from which the keys are derived; each message has a new one */
    bool used;
};

/* What watch.c remembers. */
struct watched {
    const char *violated; /* the property that is violated; NULL: none */
    struct {
        const struct lft_key *key;
        uint64_t hash;
        int end;
    } keys[KEYS_MAX]; /* that exist */
    unsigned keys_n;
    struct key_set sets[KEY_SETS_MAX];
    unsigned sets_n;
    int in_use[ENDS]; /* of `sets`; -1: none */
    struct {
        int end;
        uint64_t epoch;
    } begun[EPOCHS_MAX];
    unsigned begun_n;
    uint64_t associations[ENDS];
    struct lft_keys forgotten; /* by a wrong product */
};

struct world {
    struct lft_link *link[ENDS];
    uint64_t now_ns, rekey_ns;
    int acting; /* whose code runs */
    unsigned incarnation[ALL], restarts[ENDS];
    uint64_t draws[ALL]; /* of randomness */
    struct message messages[MESSAGES_MAX];
    unsigned messages_n;
    struct watched watched;
};

enum action_kind {
    DELIVER,  /* a message to the other end, from the address of the end that made it */
    COPY,     /* a message to the other end, from the outsider's address */
    STRIP,    /* an INIT without its mac2 */
    WAIT,     /* 0.3 s, 3 s or 25 s, in which nothing arrives */
    RESTART,  /* of an end */
    SET_BACK, /* restart of the initiator with a clock that is an hour behind */
};
struct action {
    uint8_t kind, which; /* a message, a time or an end */
};

/* The situations from which the actions begin. */
enum start { FRESH, UP, RESPONDER_NEW, INITIATOR_NEW, REKEYING, INITIATOR_TWICE, STARTS };
extern const char *const start_names[STARTS];

/* The world whose links are running now; watch.c needs it. */
extern struct world *world;

void world_begin(enum start start);
void world_end(void);
bool world_allows(struct action action); /* restarts are bounded */
void world_act(struct action action);
void world_describe(struct action action);
/* Returns a hash of everything that determines what the ends do next, except counters of copies. */
uint64_t world_state(void);
/* Delivers octets to an end as if from an address, and checks the effects. */
void world_deliver(int to, uint8_t from, const uint8_t *at, size_t n);
/* Takes everything that the ends have to send now. */
typedef void world_emit(int end, uint8_t to, const uint8_t *at, size_t n);
void world_transmit(world_emit *emit);
uint64_t world_next_ns(void);
/* Returns whether both ends are up under the same keys. */
bool world_is_up(void);

/* recovery.c: from now on the network is honest, but the outsider copies every message. False, with `violated` set,
 * when the tunnel does not come up in time or does not stay up. Sets *ns to how long it took. */
bool world_recovers(uint64_t *ns);
/* forgery.c: no message that the outsider forges changes anything. */
void world_try_forgeries(void);

#endif
