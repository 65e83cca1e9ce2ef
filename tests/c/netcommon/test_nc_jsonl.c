#include <unistd.h>

#include "check.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_printable.h"

/* The only line in the stream, parsed. Afterwards the stream is empty. */
static json_t *take_line(FILE *file)
{
    char line[4096];
    rewind(file);
    CHECK(fgets(line, sizeof line, file));
    CHECK(line[strlen(line) - 1] == '\n');
    CHECK(fgetc(file) == EOF);
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    CHECK(object);
    rewind(file);
    CHECK(ftruncate(fileno(file), 0) == 0);
    return object;
}

static void event_with_fields(void)
{
    FILE *file = tmpfile();
    json_t *fields = json_pack("{s:I, s:s, s:f, s:s}", "bytes", (json_int_t)1 << 53, "text", "a\nb\"c", "share", 0.1,
                               "event", "not this");
    CHECK_EQ(nc_jsonl_event(file, "interval", fields), 0);
    json_t *line = take_line(file);
    CHECK_EQ(json_integer_value(json_object_get(line, "v")), 1);
    CHECK_STR(json_string_value(json_object_get(line, "event")), "interval");
    CHECK_EQ(json_integer_value(json_object_get(line, "bytes")), (long long)1 << 53);
    CHECK_STR(json_string_value(json_object_get(line, "text")), "a\nb\"c");
    CHECK(json_real_value(json_object_get(line, "share")) == 0.1);
    json_decref(line);
    fclose(file);
}

static void event_alone(void)
{
    FILE *file = tmpfile();
    CHECK_EQ(nc_jsonl_event(file, "ready", NULL), 0);
    json_t *line = take_line(file);
    CHECK_EQ(json_object_size(line), 2);
    json_decref(line);
    fclose(file);
}

static void error_has_status_and_message(void)
{
    FILE *file = tmpfile();
    nc_log_error(file, 3, "no %s here", "libpcap");
    json_t *line = take_line(file);
    CHECK_STR(json_string_value(json_object_get(line, "event")), "error");
    CHECK_EQ(json_integer_value(json_object_get(line, "status")), 3);
    CHECK_STR(json_string_value(json_object_get(line, "message")), "no libpcap here");
    json_decref(line);
    fclose(file);
}

/* A terminal obeys control characters, and a message may quote text from a stranger, so they are escaped. Other text
 * does not change. */
static void a_terminal_is_told_nothing(void)
{
    char said[] = "\033]0;mine\a \r\n\t\177 \302\2332J \xc3\xa9 \xc2\xb5s \xc2";
    nc_printable(said);
    CHECK_STR(said, "?]0;mine? ???? ??2J \xc3\xa9 \xc2\xb5s \xc2");
    struct nc_error error;
    nc_fail(&error, 1, "'%s'", "\302\2332J");
    CHECK_STR(error.text, "'??2J'");
}

static void reader_gone(void)
{
    FILE *full = fopen("/dev/full", "w");
    CHECK(full);
    CHECK_EQ(nc_jsonl_event(full, "ready", NULL), -1);
    fclose(full);
}

int main(void)
{
    RUN(event_with_fields);
    RUN(event_alone);
    RUN(error_has_status_and_message);
    RUN(a_terminal_is_told_nothing);
    RUN(reader_gone);
    return 0;
}
