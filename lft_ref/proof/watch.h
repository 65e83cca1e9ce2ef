/* Observes the real code from within (the linker wraps some of its functions in functions of watch.c) and reports
 * violated properties. It also breaks the code on purpose, to show that each check can fail. */
#ifndef LFT_PROOF_WATCH_H
#define LFT_PROOF_WATCH_H

#include "proof.h"

/* Deliberate errors, each of which violates one property. */
enum wrong {
    RIGHT,
    NO_TIMESTAMP,    /* every INIT counts as new */
    NO_CONFIRMATION, /* the responder uses keys before it has seen a frame under them */
    RESPONSE_AGAIN,  /* the initiator takes the answer to its INIT twice */
    EPOCH_KEPT,      /* the end of an association does not change the epoch that is offered */
    EPOCH_AGAIN,     /* an end does not notice that it had the same epoch before */
    FRAMES_AGAIN,    /* a repeated frame is accepted again */
    PENDING_KEPT,    /* new pending keys do not replace the old ones */
    PENDING_YIELDS,  /* an INIT without a cookie replaces pending keys */
    COPIES_COUNT,    /* an INIT that was copied too often is not examined */
    LONG_ANSWER,     /* an answer is as long as the message it answers */
    KEY_KNOWN,       /* the outsider has the key */
    WRONGS
};
struct wrong_product {
    const char *name, *breaks; /* the property */
    enum start start;
};
extern const struct wrong_product wrong_products[WRONGS];
extern enum wrong watch_wrong;

extern const char watch_agreement[], watch_init_once[], watch_frame_once[], watch_keys_once[], watch_epoch_once[],
    watch_bounded[], watch_answer[], watch_comes_up[], watch_stays_up[], watch_forgery[];

struct watch_frames {
    uint64_t associations, taken;
};

uint64_t watch_hash(uint64_t state, const void *at, size_t n);
void watch_begin(void);
void watch_end(void);
void watch_violated(const char *property); /* the first one counts */
void watch_gone(int end);                  /* an end has stopped */
void watch_keys(void);                     /* call it whenever an end may have new keys */
bool watch_same_keys(void);
void watch_answers(unsigned answers, size_t answer_n, size_t question_n);
struct watch_frames watch_frames(int end);
void watch_frame(int to, struct watch_frames before, struct message *message);

#endif
