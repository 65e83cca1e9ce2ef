/* Texts of loss models: valid texts survive parsing and formatting, and each invalid one gives a one-line error. */
#include "loss_model.h"

#include "check.h"
#include "model_text.h"

static struct loss_model model_of(const char *text)
{
    struct loss_model model;
    struct nc_error error;
    CHECK_DONE(loss_model_parse(text, &model, &error), text, error);
    return model;
}

static void texts_come_back(void)
{
    static const char *const same[] = {
        "0%",
        "0.0001%",
        "1%",
        "100%",
        "gilbert:1%,10",
        "gilbert:0.000001%,2.125",
        "4state:1%,10%,20%,30%,0.5%",
        "packets:0,5,10-12",
        "time:0ns-1s,1.2s-1.5s,5s-5000000.001us",
        "seq:100000-200000",
        "seq:1,3-9x3",
        "retransmission:2",
    };
    static const struct {
        const char *text, *formatted;
    } other[] = {
        {"0.01", "1%"},
        {"gilbert:100ppm,2.50", "gilbert:0.01%,2.500"},
        {"4state:25%", "4state:25%,75%,0%,100%,0%"},
        {"packets:12,10-11,5", "packets:5,10-12"},
        {"seq:5x1", "seq:5"},
        {"time:2s-3s,1s-2s", "time:1s-3s"},
    };
    char buf[MODEL_TEXT_MAX], again[MODEL_TEXT_MAX];
    for (size_t i = 0; i < sizeof same / sizeof same[0] + sizeof other / sizeof other[0]; i++) {
        size_t j = i - sizeof same / sizeof same[0];
        struct loss_model model = model_of(j < i ? other[j].text : same[i]);
        CHECK_STR(loss_model_format(&model, buf, sizeof buf), j < i ? other[j].formatted : same[i]);
        struct loss_model second = model_of(buf), shared = loss_model_share(&second);
        loss_model_free(&second);
        CHECK_STR(loss_model_format(&shared, again, sizeof again), buf);
        loss_model_free(&shared);
        loss_model_free(&model);
    }
}

static void longest_list_comes_back(void)
{
    struct nc_error error;
    char text[MODEL_TEXT_MAX] = "time:", buf[MODEL_TEXT_MAX];
    for (uint64_t i = 0; i < MODEL_ITEMS_MAX; i++) {
        uint64_t at = UINT64_C(999999999999000001) + 3 * i;
        model_append(text, sizeof text, "%s%lluns-%lluns", i ? "," : "", (unsigned long long)at,
                     (unsigned long long)at + 1);
    }
    struct loss_model model = model_of(text), again, more;
    again = model_of(loss_model_format(&model, buf, sizeof buf));
    CHECK_EQ(again.ranges->n, 2 * MODEL_ITEMS_MAX);
    CHECK(memcmp(again.ranges->at, model.ranges->at, 2 * MODEL_ITEMS_MAX * sizeof model.ranges->at[0]) == 0);
    loss_model_free(&model);
    loss_model_free(&again);
    model_append(text, sizeof text, ",1s-2s");
    CHECK(loss_model_parse(text, &more, &error) < 0);
    CHECK_STR(error.text, "more than 256 ranges");
}

static const struct {
    const char *text, *reason;
} wrong[] = {
    {"", "not a ratio"},
    {"abc", "not a ratio"},
    {"101%", "more than 100%"},
    {"-1%", "negative"},
    {"gilbert", "not a ratio"},
    {"gilbert:", "want gilbert:"},
    {"gilbert:1%", "want gilbert:"},
    {"gilbert:1%,2,3", "want gilbert:"},
    {"gilbert:1%,0.5", "mean burst of 1 to"},
    {"gilbert:1%,1.0001", "three decimals"},
    {"gilbert:1%,x", "mean burst"},
    {"gilbert:60%,1", "at most 50% loss"},
    {"gilbert:100%,5", "at most 83.3333% loss"},
    {"4state:", "not a ratio"},
    {"4state:1%,1%,1%,1%,1%,1%", "one to five"},
    {"4state:60%,1%,1%,1%,50%", "P13 + P14"},
    {"4state:1%,60%,50%", "P31 + P32"},
    {"4state:1%,0%", "P31 is 0"},
    {"4state:1%,1%,1%,0%", "P23 is 0"},
    {"packets:", "want a whole number"},
    {"packets:1.5", "want a whole number"},
    {"packets:3-2", "ends before"},
    {"packets:1,,2", "want a whole number"},
    {"packets:1-", "want a whole number"},
    {"packets:-1", "want a whole number"},
    {"packets:1234567890123456789", "want a whole number"},
    {"time:1s", "want FROM-TO"},
    {"time:1s-1s", "ends before"},
    {"time:2s-1s", "ends before"},
    {"time:1000000000s-2000000000s", "30 years"},
    {"seq:1x", "such as x3"},
    {"seq:1x0", "such as x3"},
    {"seq:x3", "want a whole number"},
    {"retransmission:0", "count from 1"},
    {"poisson:3", "no such loss model"},
    {"packets:1\n2", "1?2"},
};

static void wrong_texts_are_refused_in_one_line(void)
{
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct nc_error error;
        struct loss_model model = {.loss_ppb = 77};
        bool refused = loss_model_parse(wrong[i].text, &model, &error) < 0;
        if (!refused || !strstr(error.text, wrong[i].reason) || strchr(error.text, '\n') || model.loss_ppb != 77) {
            fprintf(stderr, "'%s': %s\n", wrong[i].text, refused ? error.text : "taken");
            exit(1);
        }
    }
}

int main(void)
{
    RUN(texts_come_back);
    RUN(longest_list_comes_back);
    RUN(wrong_texts_are_refused_in_one_line);
    return 0;
}
