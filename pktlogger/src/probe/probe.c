/* Implements probe.h. */
#include "probe.h"

#include <assert.h>
#include <endian.h>

#include "nc_bytes.h"

enum { MAGIC = 0x4c465070, VERSION = 1, FLAG_END = 1 };

static void put64(uint8_t *at, uint64_t value)
{
    value = htobe64(value);
    memcpy(at, &value, sizeof value);
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)nc_get32(at) << 32 | nc_get32(at + 4);
}

void pl_probe_write(const struct pl_probe *probe, uint8_t *out)
{
    assert(probe->flows >= 1 && probe->flows <= PL_PROBE_FLOWS_MAX && probe->flow < probe->flows);
    nc_put32(out, MAGIC);
    out[4] = VERSION;
    out[5] = probe->end ? FLAG_END : 0;
    nc_put16(out + 6, probe->flow);
    nc_put32(out + 8, probe->session);
    nc_put16(out + 12, probe->flows);
    nc_put16(out + 14, 0);
    put64(out + 16, probe->sequence);
    put64(out + 24, probe->sent_ns);
}

void pl_probe_renumber(uint8_t *out, uint64_t sequence, uint64_t sent_ns)
{
    put64(out + 16, sequence);
    put64(out + 24, sent_ns);
}

bool pl_probe_read(const uint8_t *at, size_t len, struct pl_probe *probe)
{
    if (len < PL_PROBE_LEN || nc_get32(at) != MAGIC || at[4] != VERSION || (at[5] & ~FLAG_END) || nc_get16(at + 14))
        return false;
    *probe = (struct pl_probe){.session = nc_get32(at + 8),
                               .flow = nc_get16(at + 6),
                               .flows = nc_get16(at + 12),
                               .end = at[5] & FLAG_END,
                               .sequence = get64(at + 16),
                               .sent_ns = get64(at + 24)};
    return probe->flows >= 1 && probe->flows <= PL_PROBE_FLOWS_MAX && probe->flow < probe->flows &&
           probe->sequence < UINT64_C(1) << 62 && probe->sent_ns < UINT64_C(1) << 62;
}
