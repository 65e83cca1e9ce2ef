/* The text forms of loss models, and the Markov chains that some of them describe. */
#include "loss_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_text.h"

static uint64_t fraction(double probability)
{
    return probability >= 1 ? UINT64_MAX : (uint64_t)ldexp(probability, 64);
}

/* The stationary distribution follows from balance: the flow from state 1 to 3 equals the flow back by p31, the flow
 * from 3 to 2 equals the flow back by p23, and 4 always goes to 1. */
static struct loss_chain chain_of(double p13, double p31, double p32, double p23, double p14)
{
    double third = p13 > 0 ? p13 / p31 : 0, second = third > 0 && p32 > 0 ? third * p32 / p23 : 0;
    double all = 1 + second + third + p14;
    return (struct loss_chain){
        fraction(p13), fraction(p31),
        fraction(p32), fraction(p23),
        fraction(p14), {fraction(1 / all), fraction((1 + second) / all), fraction((1 + second + third) / all)}};
}

double loss_model_mean(const struct loss_model *model)
{
    switch (model->kind) {
    case LOSS_INDEPENDENT:
    case LOSS_GILBERT:
        return (double)model->loss_ppb / (double)NC_RATIO_ONE;
    case LOSS_4STATE:
        return 1 - ldexp((double)model->chain.start[1], -64);
    default:
        return -1;
    }
}

static int parse_ratio(const char *text, uint64_t *ppb, struct nc_error *error)
{
    if (model_quantity(NC_UNIT_RATIO, text, ppb, error) < 0)
        return -1;
    if (*ppb > NC_RATIO_ONE)
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': more than 100%%", text);
    return 0;
}

/* Parses thousandths exactly: digits, and up to three more after a decimal point. */
static bool parse_milli(const char *text, uint64_t *milli)
{
    char whole[MODEL_ITEM_MAX];
    size_t len = strcspn(text, ".");
    uint64_t decimals = 0;
    snprintf(whole, sizeof whole, "%.*s", (int)len, text);
    if (!model_integer(whole, milli) || *milli > LOSS_BURST_MILLI_MAX / 1000)
        return false;
    if (text[len]) {
        size_t places = strlen(text + len + 1);
        if (places > 3 || !model_integer(text + len + 1, &decimals))
            return false;
        for (; places < 3; places++)
            decimals *= 10;
    }
    *milli = *milli * 1000 + decimals;
    return true;
}

static int parse_gilbert(const char *text, struct loss_model *model, struct nc_error *error)
{
    char item[MODEL_ITEM_MAX] = "", burst[MODEL_ITEM_MAX] = "";
    if (!model_item(&text, item) || !text || !model_item(&text, burst) || text)
        return nc_fail(error, NC_EXIT_USAGE, "want gilbert:MEAN_LOSS,MEAN_BURST, such as gilbert:1%%,10");
    if (parse_ratio(item, &model->loss_ppb, error) < 0)
        return -1;
    if (!parse_milli(burst, &model->burst_milli) || model->burst_milli < 1000)
        return nc_fail(error, NC_EXIT_USAGE, "'%s': want a mean burst of 1 to %d packets, at most three decimals",
                       burst, LOSS_BURST_MILLI_MAX / 1000);
    double mean = (double)model->loss_ppb / (double)NC_RATIO_ONE, packets = (double)model->burst_milli / 1000;
    double highest = packets / (packets + 1), leave = mean < 1 ? mean / (1 - mean) / packets : 2;
    if (leave > 1)
        return nc_fail(error, NC_EXIT_USAGE,
                       "'%s': bursts of %s allow at most %.6g%% loss, one packet received between two", item, burst,
                       100 * highest);
    model->chain = chain_of(leave, 1 / packets, 0, 1, 0);
    return 0;
}

static int parse_4state(const char *text, struct loss_model *model, struct nc_error *error)
{
    uint64_t *p = model->given_ppb;
    unsigned n = 0;
    for (; text; n++) {
        char item[MODEL_ITEM_MAX];
        if (n == 5 || !model_item(&text, item))
            return nc_fail(error, NC_EXIT_USAGE, "want 4state:P13,P31,P32,P23,P14, one to five probabilities");
        if (parse_ratio(item, &p[n], error) < 0)
            return -1;
    }
    if (n < 2)
        p[1] = NC_RATIO_ONE - p[0];
    if (n < 4)
        p[3] = NC_RATIO_ONE;
    if (p[0] + p[4] > NC_RATIO_ONE)
        return nc_fail(error, NC_EXIT_USAGE, "P13 + P14 is more than 100%%");
    if (p[1] + p[2] > NC_RATIO_ONE)
        return nc_fail(error, NC_EXIT_USAGE, "P31 + P32 is more than 100%%");
    if (p[0] && !p[1])
        return nc_fail(error, NC_EXIT_USAGE, "P31 is 0: a burst would never end; want more than 0");
    if (p[2] && !p[3])
        return nc_fail(error, NC_EXIT_USAGE, "P23 is 0: state 2 would never be left; want more than 0");
    const double one = (double)NC_RATIO_ONE;
    model->chain =
        chain_of((double)p[0] / one, (double)p[1] / one, (double)p[2] / one, (double)p[3] / one, (double)p[4] / one);
    return 0;
}

static int parse_independent(const char *text, struct loss_model *model, struct nc_error *error)
{
    return parse_ratio(text, &model->loss_ppb, error);
}

static int parse_list(const char *text, struct loss_model *model, struct nc_error *error)
{
    model->ranges = model_ranges(text, model->kind == LOSS_TIME, error);
    return model->ranges ? 0 : -1;
}

static int parse_retransmission(const char *text, struct loss_model *model, struct nc_error *error)
{
    if (parse_list(text, model, error) < 0)
        return -1;
    if (model->ranges->at[0] == 0)
        return nc_fail(error, NC_EXIT_USAGE, "retransmissions count from 1; for first transmissions use seq:");
    return 0;
}

/* LIST or LISTxN. */
static int parse_seq(const char *text, struct loss_model *model, struct nc_error *error)
{
    char list[MODEL_TEXT_MAX];
    const char *times = strchr(text, 'x');
    size_t len = times ? (size_t)(times - text) : strlen(text);
    model->transmissions = 1;
    if (times && (!model_integer(times + 1, &model->transmissions) || model->transmissions < 1))
        return nc_fail(error, NC_EXIT_USAGE, "'%.40s': want the number of transmissions to lose, such as x3", times);
    if (len >= sizeof list)
        return nc_fail(error, NC_EXIT_USAGE, "more than %d ranges", MODEL_ITEMS_MAX);
    memcpy(list, text, len);
    list[len] = '\0';
    return parse_list(list, model, error);
}

static const struct form {
    const char *prefix;
    int (*parse)(const char *text, struct loss_model *model, struct nc_error *error);
} forms[] = {
    [LOSS_INDEPENDENT] = {"", parse_independent},
    [LOSS_GILBERT] = {"gilbert:", parse_gilbert},
    [LOSS_4STATE] = {"4state:", parse_4state},
    [LOSS_PACKETS] = {"packets:", parse_list},
    [LOSS_TIME] = {"time:", parse_list},
    [LOSS_SEQ] = {"seq:", parse_seq},
    [LOSS_RETRANSMISSION] = {"retransmission:", parse_retransmission},
};
_Static_assert(sizeof forms / sizeof forms[0] == LOSS_KINDS, "a form for every kind");

int loss_model_parse(const char *text, struct loss_model *model, struct nc_error *error)
{
    struct loss_model parsed = {0};
    if (strchr(text, ':'))
        for (parsed.kind = LOSS_GILBERT; parsed.kind < LOSS_KINDS; parsed.kind++)
            if (strncmp(text, forms[parsed.kind].prefix, strlen(forms[parsed.kind].prefix)) == 0)
                break;
    if (parsed.kind == LOSS_KINDS)
        return nc_fail(error, NC_EXIT_USAGE,
                       "no such loss model; want a share such as 1%%, or gilbert:, 4state:, packets:, time:, seq:, "
                       "retransmission:");
    if (forms[parsed.kind].parse(text + strlen(forms[parsed.kind].prefix), &parsed, error) < 0) {
        loss_model_free(&parsed);
        return -1;
    }
    *model = parsed;
    return 0;
}

const char *loss_model_format(const struct loss_model *model, char *buf, size_t size)
{
    char text[40];
    snprintf(buf, size, "%s", forms[model->kind].prefix);
    if (model->kind == LOSS_INDEPENDENT || model->kind == LOSS_GILBERT)
        model_append(buf, size, "%s", nc_quantity_format(NC_UNIT_RATIO, model->loss_ppb, text, sizeof text));
    if (model->kind == LOSS_GILBERT) {
        model_append(buf, size, ",%" PRIu64, model->burst_milli / 1000);
        if (model->burst_milli % 1000)
            model_append(buf, size, ".%03u", (unsigned)(model->burst_milli % 1000));
    }
    for (int i = 0; model->kind == LOSS_4STATE && i < 5; i++)
        model_append(buf, size, "%s%s", i ? "," : "",
                     nc_quantity_format(NC_UNIT_RATIO, model->given_ppb[i], text, sizeof text));
    if (model->ranges)
        model_ranges_format(model->ranges, model->kind == LOSS_TIME, buf, size);
    if (model->kind == LOSS_SEQ && model->transmissions > 1)
        model_append(buf, size, "x%" PRIu64, model->transmissions);
    return buf;
}
