#include "train.h"

#include "wire.h"

void lft_train_begin(struct lft_train *train, unsigned frames)
{
    *train = (struct lft_train){.left = frames + 2};
}

bool lft_train_report(struct lft_train *train, const struct lft_report *report, uint64_t sent_ns, uint64_t sent_bytes,
                      struct lft_train_result *result)
{
    uint64_t counter = report->largest_counter, last = train->last;
    if (!train->first || counter < train->first || (last && counter > last))
        return false;
    if (!train->begun) {
        train->begun = true;
        train->begun_ns = sent_ns;
        train->begun_sent = sent_bytes;
        train->begun_us = report->arrival_us;
        train->begun_bytes = report->received_bytes;
        return false;
    }
    if (counter != last)
        return false;
    train->first = 0; /* done */
    *result = (struct lft_train_result){.sent_bytes = sent_bytes - train->begun_sent,
                                        .arrived_bytes = report->received_bytes - train->begun_bytes,
                                        .us = report->arrival_us - train->begun_us,
                                        .sent_ns = sent_ns - train->begun_ns};
    return result->us && result->sent_bytes >= train->bytes / 2;
}
