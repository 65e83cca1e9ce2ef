#include "crypto_gcm.h"

#ifdef LFT_IPSEC_MB

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

struct lft_gcm {
    struct gcm_key_data key; /* first, because it needs an alignment of 64 octets */
    struct gcm_context_data context;
    IMB_MGR *manager; /* has the functions for this processor */
    aes_gcm_init_t init;
    aes_gcm_enc_dec_update_t seal;
    aes_gcm_enc_dec_finalize_t seal_end;
    aes_gcm_enc_dec_t open;
};

static void choose(struct lft_gcm *gcm, const uint8_t *key, size_t key_bytes)
{
    IMB_MGR *m = gcm->manager;
    bool wide = key_bytes == 32;
    gcm->init = wide ? m->gcm256_init : m->gcm128_init;
    gcm->seal = wide ? m->gcm256_enc_update : m->gcm128_enc_update;
    gcm->seal_end = wide ? m->gcm256_enc_finalize : m->gcm128_enc_finalize;
    gcm->open = wide ? m->gcm256_dec : m->gcm128_dec;
    (wide ? m->gcm256_pre : m->gcm128_pre)(key, &gcm->key);
}

struct lft_gcm *lft_gcm_create(const uint8_t *key, size_t key_bytes)
{
    enum { ALIGN = 64 };
    const uint64_t wanted = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ;
    struct lft_gcm *gcm = aligned_alloc(ALIGN, (sizeof *gcm + ALIGN - 1) / ALIGN * ALIGN);
    if (!gcm)
        return NULL;
    memset(gcm, 0, sizeof *gcm);
    gcm->manager = alloc_mb_mgr(0);
    if (gcm->manager && (gcm->manager->features & wanted) == wanted) {
        init_mb_mgr_auto(gcm->manager, NULL);
        if (imb_get_errno(gcm->manager) == 0) {
            choose(gcm, key, key_bytes);
            return gcm;
        }
    }
    lft_gcm_destroy(gcm);
    return NULL;
}

void lft_gcm_destroy(struct lft_gcm *gcm)
{
    if (!gcm)
        return;
    if (gcm->manager)
        free_mb_mgr(gcm->manager);
    OPENSSL_cleanse(gcm, sizeof *gcm);
    free(gcm);
}

void lft_gcm_seal(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  const uint8_t *rest, size_t rest_n, uint8_t *out, uint8_t tag[16])
{
    gcm->init(&gcm->key, &gcm->context, iv, aad, 8);
    if (n)
        gcm->seal(&gcm->key, &gcm->context, out, in, n);
    gcm->seal(&gcm->key, &gcm->context, out + n, rest, rest_n);
    gcm->seal_end(&gcm->key, &gcm->context, tag, 16);
}

bool lft_gcm_open(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  uint8_t *out, const uint8_t tag[16])
{
    uint8_t found[16];
    gcm->open(&gcm->key, &gcm->context, out, in, n, iv, aad, 8, found, 16);
    return CRYPTO_memcmp(found, tag, 16) == 0;
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
