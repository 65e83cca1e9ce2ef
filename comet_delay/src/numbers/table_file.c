/* Reads files of numbers when parameters are set. Their size is bounded, and every refusal names file and line. */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model_text.h"
#include "nc_clock.h"

#define HOUR_NS (3600 * NC_NS_PER_S)

/* Each reads one number; false when `text` is none. */
static bool signed_duration(const char *text, uint64_t *value)
{
    struct nc_error why;
    bool negative = *text == '-';
    if (nc_quantity_parse_bare(NC_UNIT_DURATION, text + negative, value, &why) < 0 || *value > HOUR_NS)
        return false;
    if (negative)
        *value = -*value;
    return true;
}

static bool netem_number(const char *text, uint64_t *value)
{
    bool negative = *text == '-';
    if (!model_integer(text + negative, value) || *value > 32767u + negative)
        return false;
    if (negative)
        *value = -*value;
    return true;
}

static bool milliseconds(const char *text, uint64_t *value)
{
    if (!model_integer(text, value) || *value > HOUR_NS / NC_NS_PER_MS * 24)
        return false;
    *value *= NC_NS_PER_MS;
    return true;
}

static const struct content {
    bool (*read)(const char *text, uint64_t *value);
    const char *wanted;
    bool rising; /* never decreases, and does not stay at 0 */
} contents[] = {
    [TABLE_DURATIONS] = {signed_duration, "a delay of at most an hour, such as 12.5ms or 0.0125 (seconds)", false},
    [TABLE_NETEM] = {netem_number, "a whole number of -32768 to 32767", false},
    [TABLE_MILLISECONDS] = {milliseconds, "a whole number of milliseconds, at most a day", true},
};

/* Finds the next number's text between white space and comments, and its line. False at the end. */
static bool next_word(const char **at, const char *end, const char **word, size_t *len, unsigned long *line)
{
    const char *c = *at;
    while (c < end && strchr(" \t\r\n#", *c)) {
        if (*c == '\0')
            break; /* strchr finds NUL in every set; it is not white space */
        if (*c == '#')
            while (c < end && *c != '\n')
                c++;
        if (c < end)
            *line += *c++ == '\n';
    }
    *word = c;
    while (c < end && (*c == '\0' || !strchr(" \t\r\n#", *c)))
        c++;
    *len = (size_t)(c - *word);
    *at = c;
    return *len > 0;
}

struct table *table_parse(const char *name, const char *data, size_t len, enum table_content content,
                          struct nc_error *error)
{
    const struct content *kind = &contents[content];
    const char *end = data + len, *word;
    struct table *table = NULL;
    unsigned long line = 1;
    for (size_t word_len; next_word(&data, end, &word, &word_len, &line);) {
        char text[MODEL_ITEM_MAX];
        uint64_t value;
        snprintf(text, sizeof text, "%.*s", word_len > 40 ? 40 : (int)word_len, word);
        if (word_len >= sizeof text || strlen(text) != word_len || !kind->read(text, &value))
            nc_fail(error, NC_EXIT_USAGE, "%s:%lu: '%s': want %s", name, line, text, kind->wanted);
        else if (kind->rising && table && value < table->at[table->n - 1])
            nc_fail(error, NC_EXIT_USAGE, "%s:%lu: '%s': before the line above; times may not fall", name, line, text);
        else if (!table_add(&table, value))
            nc_fail(error, NC_EXIT_USAGE, "%s:%lu: too many numbers; at most %d are taken", name, line,
                    TABLE_VALUES_MAX);
        else
            continue;
        table_release(table);
        return NULL;
    }
    if (!table || (kind->rising && table->at[table->n - 1] == 0)) {
        nc_fail(error, NC_EXIT_USAGE, "%s:%lu: %s", name, line,
                table ? "lasts no time; the last must be above 0" : "no numbers in it");
        table_release(table);
        return NULL;
    }
    return table;
}

/* The whole file, or NULL with the error. O_NONBLOCK, because opening a FIFO would wait for a writer. */
static char *read_whole(const char *path, size_t *len, struct nc_error *error)
{
    struct stat about;
    char *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) < 0)
        nc_fail(error, NC_EXIT_USAGE, "%s: %s; name a file that can be read", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        nc_fail(error, NC_EXIT_USAGE, "%s: not a regular file", path);
    else if (about.st_size > TABLE_FILE_BYTES_MAX)
        nc_fail(error, NC_EXIT_USAGE, "%s: larger than %d MB", path, TABLE_FILE_BYTES_MAX >> 20);
    else if (!(data = malloc((size_t)about.st_size + 1)))
        nc_fail(error, NC_EXIT_USAGE, "%s: out of memory", path);
    else {
        ssize_t got = 1;
        for (*len = 0; *len < (size_t)about.st_size && got > 0; *len += got > 0 ? (size_t)got : 0)
            got = read(fd, data + *len, (size_t)about.st_size - *len);
        if (got < 0) {
            nc_fail(error, NC_EXIT_USAGE, "%s: %s", path, strerror(errno));
            free(data);
            data = NULL;
        }
    }
    if (fd >= 0)
        close(fd);
    return data;
}

struct table *table_read(const char *path, enum table_content content, struct nc_error *error)
{
    size_t len = 0;
    char *data = read_whole(path, &len, error);
    if (!data)
        return NULL;
    struct table *table = table_parse(path, data, len, content, error);
    free(data);
    if (table && !(table->source = strdup(path))) {
        nc_fail(error, NC_EXIT_USAGE, "out of memory");
        table_release(table);
        return NULL;
    }
    return table;
}
