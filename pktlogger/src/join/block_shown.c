/* Decides the fates of a block's parts from the acknowledgements alone (shown.h), where no receiver's capture
 * exists. */
#include "block.h"

#include <string.h>

/* What is known of the octets between two borders. */
struct octets {
    int64_t shown_ns; /* when an acknowledgement showed that they had arrived; -1: never; INT64_MIN: in an earlier
                       * block */
    uint32_t echo;
    uint16_t copies, before, after; /* number of copies: all, those sent before shown_ns, and those sent after it */
    uint16_t echoed,
        early; /* of the copies `before`: those sent no later than the echoed time stamp; those sent long enough before
                * the acknowledgement */
    uint16_t counted;
    int32_t duplicates; /* number of duplicates reported */
    bool awaited, sample;
    int32_t first; /* number of the copy that arrived first; -1: in an earlier block */
};

struct study {
    struct pl_block *block;
    struct octets *fates;
    size_t *next;     /* for each range between borders, the next range that no acknowledgement has shown */
    size_t *repaired; /* for each range, how many ranges before it were sent more than once */
    size_t n;
};

static size_t lower(const struct pl_block *block, uint64_t number)
{
    size_t low = 0, high = block->borders.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (block->borders.at[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t next_open(struct study *study, size_t place)
{
    size_t end = place;
    while (study->next[end] != end)
        end = study->next[end];
    while (study->next[place] != end) {
        size_t next = study->next[place];
        study->next[place] = end;
        place = next;
    }
    return end;
}

/* Marks the ranges [first, end), which lie wholly within the octets that an acknowledgement shows. */
static void paint(struct study *study, const struct pl_shown *shown, size_t first, size_t end)
{
    bool repair = shown->cumulative && study->repaired[end] > study->repaired[first];
    for (size_t b = next_open(study, first); b < end; b = next_open(study, b)) {
        struct octets *fate = &study->fates[b];
        study->next[b] = b + 1;
        fate->shown_ns = shown->t_ns;
        fate->echo = shown->echo;
        fate->awaited = shown->cumulative && b == first;
        fate->sample = !repair && !shown->delayed;
    }
}

/* Applies every acknowledgement to the block, and keeps those that concern later blocks. */
static void take_shown(struct study *study)
{
    struct pl_block *block = study->block;
    struct pl_shown_list *list = &block->join->shown;
    size_t kept = 0;
    for (size_t i = 0; i < list->list.n; i++) {
        const struct pl_shown shown = list->list.at[i];
        size_t first = lower(block, shown.left), end = lower(block, shown.right + 1);
        end = end > 0 ? end - 1 : 0; /* index of the last border at or below the octets shown */
        if (end > study->n)
            end = study->n;
        if (first < end && !shown.again)
            paint(study, &shown, first, end);
        else if (first < end) {
            study->fates[first].duplicates++;
            study->fates[end].duplicates--;
        }
        if (shown.right > block->cut)
            list->list.at[kept++] = shown;
    }
    list->list.n = kept;
}

static void count_copies(struct study *study)
{
    const struct pl_block *block = study->block;
    for (size_t i = 0; i < block->members.n; i++)
        for (size_t b = block->members.at[i].border; b < block->members.at[i].border + block->members.at[i].pieces; b++)
            study->fates[b].copies += study->fates[b].copies < UINT16_MAX - 1;
    for (size_t b = 0; b < study->n; b++)
        study->repaired[b + 1] = study->repaired[b] + (study->fates[b].copies > 1);
}

/* Counts a copy as sent before or after its octets were shown, and counts the evidence that it arrived. */
static void judge_copy(const struct study *study, struct octets *fate, const struct pl_segment *segment)
{
    const struct pl_transfer *t = study->block->join->t;
    if (fate->shown_ns == -1)
        return;
    if (segment->t_sent_ns >= fate->shown_ns) {
        fate->after += fate->after < UINT16_MAX;
        return;
    }
    bool stamped = fate->awaited && fate->echo && segment->token;
    int64_t least_ns = t->min_rtt_ns > 0 ? t->min_rtt_ns - t->min_rtt_ns / 4 : 0;
    fate->before += fate->before < UINT16_MAX;
    fate->echoed += fate->echoed < UINT16_MAX && (!stamped || (int32_t)(segment->token - fate->echo) <= 0);
    fate->early += fate->early < UINT16_MAX && fate->shown_ns - segment->t_sent_ns >= least_ns;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void find_first(struct octets *fate, int32_t duplicates)
{
    int32_t last = fate->before - 1, more = duplicates - fate->after;
    fate->first = last;
    if (last < 0)
        return;
    if (more > 0)
        fate->first = least(fate->first, last - more);
    fate->first = least(fate->first, fate->echoed - 1);
    fate->first = least(fate->first, fate->early - 1);
    fate->first = fate->first < 0 ? 0 : fate->first;
}

static void set_fate(struct study *study, const struct pl_member *member, struct pl_segment *segment)
{
    int64_t shown_ns = INT64_MIN;
    bool again = segment->seq < study->block->join->first;
    bool once = member->pieces > 0 && !again, sample = true, first = true;
    uint16_t before = 0;
    segment->repeats = member->pieces > 0;
    for (size_t b = member->border; b < member->border + member->pieces; b++) {
        struct octets *fate = &study->fates[b];
        int32_t copy = fate->counted;
        fate->counted += fate->counted < UINT16_MAX - 1;
        before = copy > before ? (uint16_t)copy : before;
        bool shown = fate->shown_ns != -1;
        segment->unseen = segment->unseen || (shown && copy >= fate->first);
        segment->repeats = segment->repeats && shown && copy > fate->first;
        first = first && shown && copy == fate->first;
        sample = sample && fate->sample && fate->copies == 1;
        once = once && fate->copies == 1 && fate->shown_ns != INT64_MIN;
        shown_ns = fate->shown_ns > shown_ns ? fate->shown_ns : shown_ns;
    }
    segment->transmission =
        (uint16_t)(before + 1 + again +
                   (member->border < study->n && member->pieces && study->fates[member->border].shown_ns == INT64_MIN));
    segment->sent_once = once;
    segment->t_acked_ns = first && member->pieces && shown_ns > segment->t_sent_ns ? shown_ns : -1;
    segment->rtt_ns = segment->t_acked_ns >= 0 && sample && once ? shown_ns - segment->t_sent_ns : -1;
    segment->joined = true;
}

static void judge(struct study *study)
{
    struct pl_block *block = study->block;
    for (size_t i = 0; i < block->members.n; i++) {
        const struct pl_member *member = &block->members.at[i];
        for (size_t b = member->border; b < member->border + member->pieces; b++)
            judge_copy(study, &study->fates[b], pl_block_segment(block, member));
    }
    int32_t duplicates = 0;
    for (size_t b = 0; b < study->n; b++) {
        duplicates += study->fates[b].duplicates;
        find_first(&study->fates[b], duplicates);
    }
    for (size_t i = 0; i < block->members.n; i++)
        set_fate(study, &block->members.at[i], pl_block_segment(block, &block->members.at[i]));
}

int pl_block_shown(struct pl_block *block)
{
    size_t n = block->borders.n ? block->borders.n - 1 : 0;
    struct study study = {
        .block = block,
        .fates = calloc(n + 1, sizeof *study.fates),
        .next = calloc(n + 1, sizeof *study.next),
        .repaired = calloc(n + 1, sizeof *study.repaired),
        .n = n,
    };
    int result = study.fates && study.next && study.repaired ? 0 : -1;
    if (result == 0) {
        for (size_t b = 0; b <= n; b++) {
            study.next[b] = b;
            study.fates[b].shown_ns = -1;
        }
        count_copies(&study);
        for (size_t b = 0; b < n && block->borders.at[b] < block->join->joined; b++) {
            study.fates[b].shown_ns = INT64_MIN;
            study.next[b] = b + 1;
        }
        take_shown(&study);
        judge(&study);
    }
    free(study.fates);
    free(study.next);
    free(study.repaired);
    return result;
}
