/* Implements output.h. */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_set.h"

bool pl_rotates(const struct pl_rotation *rotation)
{
    return rotation->bytes || rotation->interval_ns;
}

/* Refuses existing files of this name. A reader would otherwise mistake one file for the set, or mix files of two
 * captures. */
static int refuse_existing(const char *path, struct nc_error *error)
{
    struct pl_file_set set;
    if (access(path, F_OK) == 0)
        return nc_fail(error, NC_EXIT_USAGE,
                       "--write '%.200s': this file exists, so a set of that name would not be "
                       "found; remove it or choose another name",
                       path);
    if (pl_file_set_find(&set, path) < 0)
        return nc_fail(error, NC_EXIT_USAGE, "--write '%.200s': cannot create it: %s", path, strerror(errno));
    bool found = set.n > 0;
    if (found)
        nc_fail(error, NC_EXIT_USAGE,
                "--write '%.200s': files of a set of that name exist, such as '%.200s'; remove "
                "them or choose another name",
                path, set.paths[0]);
    pl_file_set_free(&set);
    return found ? -1 : 0;
}

/* Opens the file `number`. Returns 0, or -1 with errno. */
static int begin_file(struct pl_output *output, uint64_t number, int64_t now_ns)
{
    output->number = number;
    output->begun_ns = now_ns;
    if (number == 0)
        return pl_writer_open(&output->writer, output->path, &output->info);
    if (pl_file_set_name(output->path, number, now_ns, output->name, sizeof output->name) < 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (output->kept_ns)
        output->kept_ns[number % output->rotation.files] = now_ns;
    return pl_writer_open(&output->writer, output->name, &output->info);
}

int pl_output_open(struct pl_output *output, const char *path, const struct pl_writer_info *info,
                   const struct pl_rotation *rotation, int64_t now_ns, struct nc_error *error)
{
    *output = (struct pl_output){.writer.fd = -1, .path = path, .info = *info, .rotation = *rotation};
    bool set = pl_rotates(rotation);
    if (set && refuse_existing(path, error) < 0)
        return -1;
    if (set && rotation->files && !(output->kept_ns = calloc(rotation->files, sizeof *output->kept_ns)))
        return nc_fail(error, NC_EXIT_MISSING, "out of memory");
    if (begin_file(output, set ? 1 : 0, now_ns) == 0)
        return 0;
    return nc_fail(error, NC_EXIT_USAGE, "--write '%.200s': cannot create it: %s", path, strerror(errno));
}

void pl_output_packet(struct pl_output *output, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire)
{
    if (output->writer.fd < 0)
        return;
    if (!*output->comment || t_ns < output->comment_ns) {
        pl_writer_packet(&output->writer, t_ns, data, captured, wire);
        return;
    }
    const struct pl_writer_note note = {.comment = output->comment};
    pl_writer_packet_noted(&output->writer, t_ns, data, captured, wire, &note);
    *output->comment = '\0';
}

void pl_output_comment(struct pl_output *output, int64_t t_ns, const char *text)
{
    size_t n = strlen(output->comment), room = sizeof output->comment - n;
    if (strlen(text) + 2 < room)
        snprintf(output->comment + n, room, "%s%s", n ? "; " : "", text);
    output->comment_ns = t_ns;
}

/* Removes the oldest file to be kept, whose slot in kept_ns the next file takes. */
static void remove_oldest(const struct pl_output *output, uint64_t next)
{
    char name[sizeof output->name];
    uint64_t files = output->rotation.files;
    if (files && next > files &&
        pl_file_set_name(output->path, next - files, output->kept_ns[next % files], name, sizeof name) == 0)
        unlink(name); /* a file that somebody else has removed is not an error */
}

static int finish_file(struct pl_output *output, int64_t end_ns, const struct pl_drop_counts *drops,
                       const char *comment)
{
    struct pl_writer *writer = &output->writer;
    if (writer->fd < 0) { /* an earlier error has ended the set */
        errno = writer->error;
        return -1;
    }
    pl_writer_settle(writer);
    struct pl_writer_statistics statistics = {
        .dropped_kernel = drops->kernel - output->before.kernel,
        .dropped_interface = drops->interface - output->before.interface,
        .start_ns = output->begun_ns,
        .end_ns = end_ns,
        .comment = comment,
    };
    statistics.accepted =
        writer->packets + writer->refused + drops->ring - output->before.ring + statistics.dropped_kernel;
    output->before = *drops;
    int result = pl_writer_finish(writer, &statistics), error = errno;
    if (result == 0 || writer->kept) {
        output->packets += writer->packets;
        output->bytes += writer->bytes;
    }
    errno = error;
    return result;
}

void pl_output_rotate(struct pl_output *output, int64_t now_ns, const struct pl_drop_counts *drops)
{
    if (finish_file(output, now_ns, drops, NULL) < 0)
        return;
    uint64_t next = output->number + 1;
    remove_oldest(output, next);
    if (begin_file(output, next, now_ns) == 0)
        return;
    int error = errno;
    pl_writer_abort(&output->writer);
    output->writer.error = error;
    output->writer.kept = false;
}

int pl_output_finish(struct pl_output *output, int64_t end_ns, const struct pl_drop_counts *drops)
{
    return finish_file(output, end_ns, drops, output->comment);
}

void pl_output_abort(struct pl_output *output)
{
    pl_writer_abort(&output->writer);
    free(output->kept_ns);
    output->kept_ns = NULL;
}
