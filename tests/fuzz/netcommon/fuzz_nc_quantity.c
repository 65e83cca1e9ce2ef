/* The quantity parser. Input: unit (1 byte), text. An accepted text must survive formatting and parsing again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nc_quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    enum nc_unit unit = (enum nc_unit)(data[0] % NC_UNIT_N);
    struct nc_error error = {0};
    char *text = malloc(size), formatted[64];
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    uint64_t value = 0, again;
    if (nc_quantity_parse(unit, text, &value, &error) == 0) {
        nc_quantity_format(unit, value, formatted, sizeof formatted);
        if (value < UINT64_C(1000000000000000000)) /* 18 digits, more are not taken */
            REQUIRE(nc_quantity_parse(unit, formatted, &again, &error) == 0 && again == value);
    } else {
        REQUIRE(error.status == NC_EXIT_USAGE && error.text[0] && !strchr(error.text, '\n'));
    }
    free(text);
    return 0;
}
