/* Implements survey.h. */
#include "survey.h"

static void note_size(struct pl_sizes *sizes, uint32_t len, uint32_t options)
{
    if (len == 0 || len + options < PL_MSS_LEAST)
        return;
    sizes->full++;
    sizes->largest = len > sizes->largest ? len : sizes->largest;
    if (sizes->lead == 0) {
        sizes->len = len;
        sizes->with_options = len + options;
    }
    sizes->lead += len == sizes->len ? 1 : UINT64_MAX;
}

static int note(struct pl_survey *survey, const struct pl_row *row)
{
    while (survey->facts.n <= row->flow)
        if (PL_APPEND(&survey->facts, (struct pl_facts){.bits = 0}) < 0)
            return -1;
    struct pl_facts *facts = &survey->facts.at[row->flow];
    note_size(&facts->sizes[row->dir], row->len, row->options);
    if (row->len && pl_mss_levels_add(&facts->levels[row->dir], row) < 0)
        return -1;
    if (!row->ip_id)
        return 0;
    if (row->len > 0 && row->seq < UINT64_MAX / 4)
        facts->bits |= (uint8_t)(PL_DATA_IDS << row->dir);
    if (row->ack < UINT64_MAX / 4)
        facts->bits |= (uint8_t)(PL_ACK_IDS << row->dir);
    return 0;
}

enum pl_status pl_survey_run(struct pl_survey *survey, const struct pl_source *capture, bool sample,
                             struct nc_error *error)
{
    enum { ROWS = 64 };
    struct pl_row rows[ROWS];
    enum pl_row_status next = PL_ROW;
    survey->facts.at = NULL;
    survey->facts.n = survey->facts.room = 0;
    survey->samples = (struct pl_clock_samples){.mask = 0};
    enum pl_status status = pl_index_open_source(&survey->index, capture, error);
    if (status != PL_OK)
        return status;
    while (next == PL_ROW) {
        size_t n = pl_index_rows(&survey->index, rows, ROWS, &next, error);
        for (size_t i = 0; i < n; i++) {
            const struct pl_flow *flow = &survey->index.flows.at[rows[i].flow];
            bool late = !flow->side[0].syn && !flow->side[1].syn;
            if (note(survey, &rows[i]) < 0 ||
                ((sample || late) && pl_clock_samples_add(&survey->samples, &rows[i], flow) < 0)) {
                nc_fail(error, NC_EXIT_FAILED, "out of memory");
                return PL_NO_MEMORY;
            }
        }
    }
    return next == PL_ROWS_END ? PL_OK : PL_DAMAGED;
}

void pl_survey_free(struct pl_survey *survey)
{
    pl_index_free(&survey->index);
    pl_clock_samples_free(&survey->samples);
    for (size_t i = 0; i < survey->facts.n; i++)
        for (unsigned dir = 0; dir < 2; dir++)
            free(survey->facts.at[i].levels[dir].list.at);
    free(survey->facts.at);
    survey->facts.at = NULL;
}
