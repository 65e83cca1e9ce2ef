#include "crypto_gcm.h"

#ifdef LFT_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <threads.h>

#include "primitives.h"

struct functions {
    aes_gcm_pre_t expand;
    aes_gcm_init_t init;
    aes_gcm_enc_dec_update_t seal;
    aes_gcm_enc_dec_finalize_t seal_end;
    aes_gcm_enc_dec_t open;
};

struct lft_gcm {
    struct gcm_key_data key; /* the first member, because it needs an alignment of 64 octets */
    struct gcm_context_data context;
    const struct functions *functions;
};

/* This processor's functions, for keys of 16 and of 32 octets. The library tests all of its algorithms whenever it
 * chooses functions, which takes longer than a handshake, so they are chosen once. NULL: the library has none for this
 * processor. */
static struct functions chosen[2];
static once_flag chosen_once = ONCE_FLAG_INIT;

static void choose(void)
{
    const uint64_t wanted = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    IMB_MGR *m = alloc_mb_mgr(0);
    if (m && (m->features & wanted) == wanted) {
        init_mb_mgr_auto(m, NULL);
        if (imb_get_errno(m) == 0) {
            chosen[0] = (struct functions){m->gcm128_pre, m->gcm128_init, m->gcm128_enc_update, m->gcm128_enc_finalize,
                                           m->gcm128_dec};
            chosen[1] = (struct functions){m->gcm256_pre, m->gcm256_init, m->gcm256_enc_update, m->gcm256_enc_finalize,
                                           m->gcm256_dec};
        }
    }
    if (m)
        free_mb_mgr(m);
}

struct lft_gcm *lft_gcm_create(const uint8_t *key, size_t key_bytes)
{
    call_once(&chosen_once, choose);
    const struct functions *functions = &chosen[key_bytes == 32];
    if (!functions->expand)
        return NULL;
    struct lft_gcm *gcm = lft_secret_alloc(sizeof *gcm);
    if (!gcm)
        return NULL;
    gcm->functions = functions;
    functions->expand(key, &gcm->key);
    return gcm;
}

void lft_gcm_destroy(struct lft_gcm *gcm)
{
    lft_secret_free(gcm, sizeof *gcm);
}

void lft_gcm_seal(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  const uint8_t *rest, size_t rest_n, uint8_t *out, uint8_t tag[16])
{
    gcm->functions->init(&gcm->key, &gcm->context, iv, aad, 8);
    if (n)
        gcm->functions->seal(&gcm->key, &gcm->context, out, in, n);
    gcm->functions->seal(&gcm->key, &gcm->context, out + n, rest, rest_n);
    gcm->functions->seal_end(&gcm->key, &gcm->context, tag, 16);
}

bool lft_gcm_open(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  uint8_t *out, const uint8_t tag[16])
{
    uint8_t found[16];
    gcm->functions->open(&gcm->key, &gcm->context, out, in, n, iv, aad, 8, found, 16);
    return lft_equal(found, tag, 16);
}

#else

struct lft_gcm *lft_gcm_create(const uint8_t *key, size_t key_bytes)
{
    (void)key;
    (void)key_bytes;
    return NULL;
}

void lft_gcm_destroy(struct lft_gcm *gcm)
{
    (void)gcm;
}

void lft_gcm_seal(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  const uint8_t *rest, size_t rest_n, uint8_t *out, uint8_t tag[16])
{
    (void)gcm, (void)iv, (void)aad, (void)in, (void)n, (void)rest, (void)rest_n, (void)out, (void)tag;
}

bool lft_gcm_open(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  uint8_t *out, const uint8_t tag[16])
{
    (void)gcm, (void)iv, (void)aad, (void)in, (void)n, (void)out, (void)tag;
    return false;
}

#endif
