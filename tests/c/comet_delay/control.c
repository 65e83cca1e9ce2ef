/* Requests on the control socket: `set` applies all of its values or none. Two sets of parameters stand in for the
 * box. */
#include "control.h"

#include "box.h"
#include "check.h"

static struct params current[2];
static unsigned sets;

json_t *box_json(struct box *box)
{
    (void)box;
    return json_pack("{s:o}", "parameters", json_object());
}

const struct params *box_params(const struct box *box, unsigned direction)
{
    (void)box;
    return &current[direction];
}

int box_set(struct box *box, const struct params params[2], struct nc_error *error)
{
    (void)box;
    if (params[0].delay_ns > 1000000000)
        return nc_fail(error, NC_EXIT_USAGE, "too much for the memory");
    memcpy(current, params, sizeof current);
    sets++;
    return 0;
}

static json_t *ask(const char *request)
{
    return control_answer(NULL, request, strlen(request));
}

/* Whether the request succeeded. If it did not, its error must contain `says`. */
static bool done(const char *request, const char *says)
{
    json_t *answer = ask(request);
    bool ok = json_is_true(json_object_get(answer, "ok"));
    CHECK(ok || strstr(json_string_value(json_object_get(answer, "error")), says));
    json_decref(answer);
    return ok;
}

static void values_of_one_request_are_set_at_once(void)
{
    sets = 0;
    CHECK(done("{\"op\":\"set\",\"values\":{\"delay\":\"5ms\",\"ab-rate\":\"45Mbit\",\"ba-queue\":\"9000\"}}", ""));
    CHECK_EQ(sets, 1); /* both are set in one step, so that no packet meets the new delay with the old rate */
    CHECK_EQ(current[0].delay_ns, 5000000);
    CHECK_EQ(current[1].delay_ns, 5000000);
    CHECK_EQ(current[0].rate_bps, 45000000);
    CHECK_EQ(current[1].rate_bps, 0);
    CHECK_EQ(current[1].queue_bytes, 9000);
}

static void one_wrong_value_leaves_all_as_they_were(void)
{
    static const struct {
        const char *request, *says;
    } cases[] = {
        {"{\"op\":\"set\",\"values\":{\"delay\":\"7ms\",\"rate\":\"fast\"}}", "--rate 'fast'"},
        {"{\"op\":\"set\",\"values\":{\"delay\":\"7ms\",\"ratte\":\"1Mbit\"}}", "'ratte': no such parameter"},
        {"{\"op\":\"set\",\"values\":{\"delay\":\"7ms\",\"rate\":1000}}", "want a text with its unit"},
        {"{\"op\":\"set\",\"values\":{\"rate\":\"1Mbit\",\"delay\":\"2s\"}}", "too much for the memory"},
        {"{\"op\":\"set\",\"values\":[]}", "an object of parameter names"},
    };
    CHECK(done("{\"op\":\"set\",\"values\":{\"delay\":\"5ms\",\"rate\":\"45Mbit\"}}", ""));
    sets = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(!done(cases[i].request, cases[i].says));
        CHECK_EQ(sets, 0);
        CHECK_EQ(current[0].delay_ns, 5000000);
        CHECK_EQ(current[0].rate_bps, 45000000);
    }
}

static void the_answer_says_what_changed(void)
{
    CHECK(done("{\"op\":\"set\",\"values\":{\"delay\":\"5ms\",\"rate\":\"45Mbit\"}}", ""));
    json_t *answer = ask("{\"op\":\"set\",\"values\":{\"delay\":\"5ms\",\"ab-rate\":\"50Mbit\"}}");
    json_t *changed = json_object_get(answer, "changed");
    CHECK_EQ(json_object_size(json_object_get(changed, "ab")), 1);
    CHECK_EQ(json_integer_value(json_object_get(json_object_get(changed, "ab"), "rate_bps")), 50000000);
    CHECK_EQ(json_object_size(json_object_get(changed, "ba")), 0);
    json_decref(answer);
}

int main(void)
{
    RUN(values_of_one_request_are_set_at_once);
    RUN(one_wrong_value_leaves_all_as_they_were);
    RUN(the_answer_says_what_changed);
    return 0;
}
