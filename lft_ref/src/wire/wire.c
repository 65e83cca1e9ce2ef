/* Encodes and decodes frame header, report and chunk headers. */
#include "wire.h"

#include <assert.h>
#include <string.h>

#include "nc_bytes.h"

static uint64_t get48(const uint8_t *at)
{
    return (uint64_t)nc_get16(at) << 32 | nc_get32(at + 2);
}

static void put48(uint8_t *at, uint64_t value)
{
    nc_put16(at, (uint16_t)(value >> 32));
    nc_put32(at + 2, (uint32_t)value);
}

static uint32_t get24(const uint8_t *at)
{
    return (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
}

static void put24(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 16);
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)value;
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)nc_get32(at) << 32 | nc_get32(at + 4);
}

static void put64(uint8_t *at, uint64_t value)
{
    nc_put32(at, (uint32_t)(value >> 32));
    nc_put32(at + 4, (uint32_t)value);
}

size_t lft_payload_for(size_t room, size_t block)
{
    if (room < LFT_FRAME_OVERHEAD)
        return 0;
    size_t aligned = (room - LFT_HEADER_BYTES - LFT_ICV_BYTES) / block * block;
    return aligned < LFT_TRAILER_BYTES ? 0 : aligned - LFT_TRAILER_BYTES;
}

void lft_header_put(uint8_t at[LFT_HEADER_BYTES], const struct lft_header *header)
{
    nc_put32(at, header->spi);
    at[4] = header->command;
    put24(at + 5, header->number);
    put64(at + 8, header->counter);
}

struct lft_header lft_header_get(const uint8_t at[LFT_HEADER_BYTES])
{
    return (struct lft_header){
        .spi = nc_get32(at), .command = at[4], .number = get24(at + 5), .counter = get64(at + 8)};
}

uint64_t lft_number_unwrap(uint32_t number, uint64_t expected)
{
    uint32_t ahead = (number - (uint32_t)expected) & LFT_NUMBER_MASK;
    uint64_t result = expected + ahead;
    const uint64_t half = UINT64_C(1) << 23, whole = UINT64_C(1) << 24;
    return ahead >= half && result >= whole ? result - whole : result;
}

size_t lft_report_put(uint8_t *at, size_t room, const struct lft_report *report)
{
    size_t bytes = LFT_REPORT_HEADER + (size_t)report->words_n * 8 + (size_t)report->recovered_n * 3;
    assert(bytes <= room && report->words_n <= LFT_REPORT_WORDS_MAX && report->recovered_n <= LFT_RECOVERED_MAX);
    put64(at, report->largest_counter);
    nc_put32(at + 8, report->arrival_us);
    nc_put32(at + 12, report->delay_us);
    put64(at + 16, report->received_bytes);
    nc_put16(at + 24, report->words_n);
    at[26] = report->recovered_n;
    at[27] = report->flags;
    uint8_t *next = at + LFT_REPORT_HEADER;
    for (unsigned i = 0; i < report->words_n; i++, next += 8)
        put64(next, report->words[i]);
    for (unsigned i = 0; i < report->recovered_n; i++, next += 3)
        put24(next, report->recovered[i]);
    return bytes;
}

int lft_report_get(const uint8_t *at, const uint8_t *end, struct lft_report *report)
{
    if (end - at < LFT_REPORT_HEADER)
        return -1;
    report->largest_counter = get64(at);
    report->arrival_us = nc_get32(at + 8);
    report->delay_us = nc_get32(at + 12);
    report->received_bytes = get64(at + 16);
    report->words_n = nc_get16(at + 24);
    report->recovered_n = at[26];
    report->flags = at[27];
    if (report->words_n > LFT_REPORT_WORDS_MAX || report->recovered_n > LFT_RECOVERED_MAX)
        return -1;
    at += LFT_REPORT_HEADER;
    if (end - at != (long)report->words_n * 8 + (long)report->recovered_n * 3)
        return -1;
    for (unsigned i = 0; i < report->words_n; i++, at += 8)
        report->words[i] = get64(at);
    for (unsigned i = 0; i < report->recovered_n; i++, at += 3)
        report->recovered[i] = get24(at);
    return 0;
}

void lft_chunk_put(uint8_t at[LFT_CHUNK_HEADER], const struct lft_chunk *chunk)
{
    at[0] = chunk->type;
    put24(at + 1, chunk->stream);
    put48(at + 4, chunk->value);
    nc_put16(at + 10, chunk->length);
}

int lft_chunk_get(const uint8_t **cursor, const uint8_t *end, struct lft_chunk *chunk)
{
    const uint8_t *at = *cursor;
    if (at == end || *at == LFT_CHUNK_END)
        return 0;
    if (end - at < LFT_CHUNK_HEADER)
        return -1;
    chunk->type = at[0];
    chunk->stream = get24(at + 1);
    chunk->value = get48(at + 4);
    chunk->length = nc_get16(at + 10);
    chunk->body = at + LFT_CHUNK_HEADER;
    if (end - chunk->body < chunk->length)
        return -1;
    *cursor = chunk->body + chunk->length;
    return 1;
}
