/* Any bytes as a request line. There must be an answer with "ok", and parameters must stay within their ranges. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "control.h"
#include "models.h"

/* Two sets of parameters and these functions stand in for the box (box.c). */
static struct params current[2];

json_t *box_json(struct box *box)
{
    (void)box;
    return json_pack("{s:o, s:o}", "ab", params_json(&current[0]), "ba", params_json(&current[1]));
}

const struct params *box_params(const struct box *box, unsigned direction)
{
    (void)box;
    return &current[direction];
}

int box_set(struct box *box, const struct params params[2], struct nc_error *error)
{
    (void)box;
    struct models models[2];
    if (models_build(&params[0], &models[0], error) < 0)
        return -1;
    if (models_build(&params[1], &models[1], error) < 0) {
        models_free(&models[0]);
        return -1;
    }
    models_free(&models[0]);
    models_free(&models[1]);
    for (int d = 0; d < 2; d++) {
        assert(params[d].reorder_ppb <= NC_RATIO_ONE);
        assert(memchr(params[d].loss, '\0', sizeof params[d].loss));
        assert(params[d].delay_ns <= 3600 * NC_NS_PER_S);
        assert(params[d].framing >= 0 && params[d].framing <= FRAMING_IP);
        current[d] = params[d];
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > CONTROL_LINE_MAX)
        return 0;
    json_t *answer = control_answer(NULL, (const char *)data, size);
    assert(answer && json_is_boolean(json_object_get(answer, "ok")));
    json_decref(answer);
    return 0;
}
