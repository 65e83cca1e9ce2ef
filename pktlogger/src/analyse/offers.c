/* Implements offers.h. */
#include "offers.h"

void pl_offers_note(struct pl_offers *offers, struct pl_transfer *transfer, uint64_t ack, uint32_t window)
{
    uint64_t edge = ack + window;
    if (!transfer->scale_known)
        return;
    if (window > transfer->window_max)
        transfer->window_max = window;
    if (!offers->begun)
        *offers = (struct pl_offers){.begun = true, .first_edge = edge, .edge = edge};
    if (edge <= offers->edge)
        return;
    offers->edge = edge;
    if (ack >= offers->first_edge && window > transfer->window_kept)
        transfer->window_kept = window;
}
