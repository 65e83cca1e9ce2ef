/* pktlogger anonymise: makes a capture that can be shown to others. */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "nc_jsonl.h"
#include "nc_options.h"
#include "nc_program.h"
#include "nc_secret.h"
#include "anonymise.h"
#include "command.h"
#include "spool.h"

struct settings {
    const char *write, *key;
    bool tunnels, human, json;
};

#define OFFSET(field) offsetof(struct settings, field)
static const struct nc_option options[] = {
    NC_STRING("write", write, "FILE", "pcapng file for the result; a name that ends in .zst makes it compressed",
              .letter = 'w'),
    NC_STRING("key", key, "FILE",
              "file with 64 hexadecimal digits; captures with the same key get the same mapping; default: random, not "
              "kept"),
    PL_OPTION_TUNNELS(tunnels),
    PL_OPTIONS_HUMAN_JSON(human, json),
};
static const struct nc_usage usage = {
    .synopsis = "pktlogger anonymise FILE -w FILE [--key FILE] [--tunnels]",
    .purpose = "Writes the TCP packets of a capture without payload, MAC addresses and names, and with other addresses "
               "and ports.",
    .epilog = "Addresses keep prefixes (Crypto-PAn). FORMAT.md, section 14, says what stays.",
};

enum { DIGITS = 2 * PL_PAN_KEY };

/* Reads the key from its file, or draws a random one. Returns 0, or -1 with a reason. */
static int get_key(const char *file, uint8_t key[PL_PAN_KEY], struct nc_error *error)
{
    uint8_t text[DIGITS + 2] = "";
    size_t bytes = 0;
    if (!file)
        return getrandom(key, PL_PAN_KEY, 0) == PL_PAN_KEY
                   ? 0
                   : nc_fail(error, NC_EXIT_FAILED, "no random key: %s", strerror(errno));
    ssize_t n = nc_secret_read("--key", file, text, DIGITS + 1, error);
    if (n < 0)
        return -1;
    bool whole = n == DIGITS || (n == DIGITS + 1 && text[DIGITS] == '\n');
    text[DIGITS] = '\0';
    bool good =
        whole && OPENSSL_hexstr2buf_ex(key, PL_PAN_KEY, &bytes, (const char *)text, '\0') == 1 && bytes == PL_PAN_KEY;
    OPENSSL_cleanse(text, sizeof text);
    return good ? 0 : nc_fail(error, NC_EXIT_USAGE, "--key '%.200s': want %d hexadecimal digits", file, (int)DIGITS);
}

/* The capture's own count of missing packets, as statistics for the result; NULL if it has none. */
static const struct pl_writer_statistics *statistics_of(const struct pl_reader *reader, const struct pl_writer *writer,
                                                        const struct pl_anonymised *done,
                                                        struct pl_writer_statistics *out)
{
    struct pl_drops drops = pl_reader_drops(reader);
    *out = (struct pl_writer_statistics){
        .accepted = writer->delivered[0] + drops.kernel + drops.process,
        .dropped_kernel = drops.kernel,
        .dropped_interface = drops.interface,
        .start_ns = done->first_ns,
        .end_ns = done->last_ns,
    };
    return drops.known ? out : NULL;
}

static void print_end(const struct pl_reader *reader, const struct pl_anonymised *done, const char *file, bool human)
{
    if (human)
        printf("%llu TCP packets of %llu frames\n", (unsigned long long)done->packets,
               (unsigned long long)done->frames);
    else
        nc_jsonl_event(stdout, "end",
                       json_pack("{s:o, s:I, s:I, s:b}", "file", nc_jsonl_text(file), "frames",
                                 (json_int_t)done->frames, "packets", (json_int_t)done->packets, "truncated",
                                 (int)reader->truncated));
}

/* Writes the result under its name. An error leaves no file. Returns the exit status. */
static int write_result(struct pl_reader *reader, struct pl_pan *pan, const struct settings *settings, const char *file,
                        bool human)
{
    static const struct pl_writer_info info = {
        .interface = "anonymised", .linktype = PL_LINKTYPE_SLL2, .snap_bytes = PL_ANONYMOUS_MAX};
    struct pl_writer writer;
    struct pl_writer_statistics statistics;
    struct pl_anonymised done;
    struct nc_error error;
    if (pl_writer_open(&writer, settings->write, &info) < 0)
        return pl_fail(human, NC_EXIT_FAILED, "--write '%s': %s", settings->write, strerror(errno));
    if (pl_anonymise(reader, &writer, pan, settings->tunnels, &done, &error) < 0) {
        pl_writer_abort(&writer);
        return pl_fail(human, error.status, "'%s': %s", file, error.text);
    }
    pl_reader_report(reader, file);
    if (!done.packets) {
        pl_writer_abort(&writer);
        return pl_fail(human, NC_EXIT_FAILED, "'%s': none of its %llu frames is a TCP packet%s", file,
                       (unsigned long long)done.frames, settings->tunnels ? "" : "; --tunnels looks inside tunnels");
    }
    if (pl_writer_finish(&writer, statistics_of(reader, &writer, &done, &statistics)) < 0)
        return pl_fail(human, NC_EXIT_FAILED, "--write '%s': %s", settings->write, strerror(errno));
    print_end(reader, &done, settings->write, human);
    return NC_EXIT_OK;
}

static int anonymise(const struct settings *settings, const char *file, bool human)
{
    uint8_t key[PL_PAN_KEY];
    struct pl_reader reader;
    struct nc_error error;
    char copy[PL_SPOOL_NAME];
    if (get_key(settings->key, key, &error) < 0)
        return pl_report(human, &error);
    struct pl_pan *pan = pl_pan_create(key);
    OPENSSL_cleanse(key, sizeof key);
    if (!pan)
        return pl_fail(human, NC_EXIT_MISSING, "no AES-128, or no memory for it");
    const char *opened = pl_spooled(file, copy, &error);
    int status;
    if (!opened)
        status = pl_report(human, &error);
    else {
        if (pl_reader_open_file(&reader, opened, &error) < 0)
            status = pl_report(human, &error);
        else
            status = write_result(&reader, pan, settings, file, human);
        pl_reader_close(&reader);
    }
    pl_pan_free(pan);
    return status;
}

int pl_cmd_anonymise(int argc, char **argv)
{
    struct settings settings;
    int first = nc_options_parse(options, sizeof options / sizeof *options, &usage, &settings, NULL, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    if (argc - first != 1 || !settings.write)
        return pl_fail(human, NC_EXIT_USAGE,
                       "want one capture file and --write: pktlogger anonymise FILE -w FILE [--key FILE]");
    return anonymise(&settings, argv[first], human);
}
