/* The text of a filter. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter_terms.h"
#include "model_text.h"

static const char names[] = "tcp, udp, syn, fin, rst, data, ack-only, sport=, dport=, src=, dst=, min-size=, max-size=";

/* Clears the bits after the prefix, so that each network has one form. */
static void mask(struct filter_term *term)
{
    for (unsigned bit = term->prefix_len; bit < 128; bit++)
        term->address[bit / 8] &= (uint8_t)~(0x80u >> (bit % 8));
}

/* ADDR or ADDR/LEN. */
static int parse_address(const char *item, const char *text, struct filter_term *term, struct nc_error *error)
{
    char address[MODEL_ITEM_MAX];
    size_t len = strcspn(text, "/");
    snprintf(address, sizeof address, "%.*s", (int)len, text);
    term->ip_version = strchr(address, ':') ? 6 : 4;
    uint64_t bits = term->ip_version == 6 ? 128 : 32, prefix_len = bits;
    if (inet_pton(term->ip_version == 6 ? AF_INET6 : AF_INET, address, term->address) != 1)
        return nc_fail(error, NC_EXIT_USAGE, "'%s': want an address, such as 10.0.0.2, 10.1.0.0/16 or 2001:db8::/32",
                       item);
    if (text[len] && (!model_integer(text + len + 1, &prefix_len) || prefix_len > bits))
        return nc_fail(error, NC_EXIT_USAGE, "'%s': want a prefix length of 0 to %u behind the /", item,
                       (unsigned)bits);
    term->prefix_len = (uint8_t)prefix_len;
    mask(term);
    return 0;
}

static int parse_term(const char *item, struct filter_term *term, struct nc_error *error)
{
    *term = (struct filter_term){.negated = item[0] == '!'};
    const char *text = item + term->negated;
    for (; term->kind < FILTER_KINDS; term->kind++) {
        const struct filter_row *row = &filter_rows[term->kind];
        size_t len = strlen(row->name);
        if (filter_takes_value(row) ? strncmp(text, row->name, len) != 0 : strcmp(text, row->name) != 0)
            continue;
        if (filter_takes_address(row))
            return parse_address(item, text + len, term, error);
        uint64_t number = 0;
        if (filter_takes_value(row) && (!model_integer(text + len, &number) || number < row->low || number > row->high))
            return nc_fail(error, NC_EXIT_USAGE, "'%s': want a whole number of %u to %u", item, row->low, row->high);
        term->number = (uint32_t)number;
        return 0;
    }
    return nc_fail(error, NC_EXIT_USAGE,
                   "'%s': no such term; want all, or terms between commas, each one of %s (with "
                   "! in front: all but these)",
                   item, names);
}

static bool is_twice(const struct filter *filter, const struct filter_term *term)
{
    for (const struct filter_term *t = filter->terms; t < term; t++)
        if (t->kind == term->kind && !t->negated)
            return filter_takes_value(&filter_rows[t->kind]);
    return false;
}

/* Refuses terms that no packet can match together: a user who writes tcp,udp means one or the other. */
static int check_together(const char *text, const struct filter *filter, struct nc_error *error)
{
    unsigned classes = TCP | UDP, versions = 1u << 4 | 1u << 6;
    uint32_t low = 0, high = UINT32_MAX;
    for (const struct filter_term *t = filter->terms; t < filter->terms + filter->n; t++) {
        const struct filter_row *row = &filter_rows[t->kind];
        if (t->negated)
            continue;
        if (is_twice(filter, t))
            return nc_fail(error, NC_EXIT_USAGE, "'%.80s': all terms must hold; give %s once", text, row->name);
        classes &= row->classes ? row->classes : classes;
        versions &= filter_takes_address(row) ? 1u << t->ip_version : versions;
        low = row->kind == MIN_SIZE ? t->number : low;
        high = row->kind == MAX_SIZE ? t->number : high;
    }
    const char *what = !classes ? "kinds of packet" : !versions ? "addresses of IPv4 and IPv6" : "sizes";
    if (!classes || !versions || low > high)
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': all terms must hold; leave out the %s that exclude each other",
                       text, what);
    return 0;
}

int filter_parse(const char *text, struct filter *filter, struct nc_error *error)
{
    struct filter parsed = {0};
    char item[MODEL_ITEM_MAX];
    const char *rest = strcmp(text, "all") == 0 ? NULL : text;
    while (rest) {
        if (parsed.n == FILTER_TERMS_MAX)
            return nc_fail(error, NC_EXIT_USAGE, "'%.40s…': more than %d terms", text, FILTER_TERMS_MAX);
        if (!model_item(&rest, item))
            return nc_fail(error, NC_EXIT_USAGE, "'%.20s…': longer than any term", rest);
        if (parse_term(item, &parsed.terms[parsed.n], error) < 0)
            return -1;
        parsed.n++;
    }
    if (check_together(text, &parsed, error) < 0)
        return -1;
    *filter = parsed;
    return 0;
}

const char *filter_format(const struct filter *filter, char *buf, size_t size)
{
    snprintf(buf, size, "%s", filter->n ? "" : "all");
    for (const struct filter_term *t = filter->terms; t < filter->terms + filter->n; t++) {
        const struct filter_row *row = &filter_rows[t->kind];
        model_append(buf, size, "%s%s%s", t == filter->terms ? "" : ",", t->negated ? "!" : "", row->name);
        if (filter_takes_address(row)) {
            char address[INET6_ADDRSTRLEN];
            inet_ntop(t->ip_version == 6 ? AF_INET6 : AF_INET, t->address, address, sizeof address);
            model_append(buf, size, "%s", address);
            if (t->prefix_len < (t->ip_version == 6 ? 128 : 32))
                model_append(buf, size, "/%u", t->prefix_len);
        } else if (filter_takes_value(row)) {
            model_append(buf, size, "%u", t->number);
        }
    }
    return buf;
}
