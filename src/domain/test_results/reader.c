/* SPDX-License-Identifier: Apache-2.0 */
/* Which format it is, and what both share. */
#include "domain/test_results/reader.h"

#include <stdlib.h>
#include <string.h>

#define DURATION_MAX_US (366 * 24 * 3600 * INT64_C(1000000))

struct cay_test_reader *cay_test_reader_new(enum cay_test_format format,
                                            void (*on_case)(void *ctx, const struct cay_test_case *c),
                                            void *ctx)
{
        struct cay_test_reader *r = calloc(1, sizeof(*r));

        if (!r)
                return NULL;
        r->format = format;
        r->on_case = on_case;
        r->ctx = ctx;
        return r;
}

void cay_test_reader_free(struct cay_test_reader *r)
{
        free(r);
}

enum cay_test_format cay_test_reader_format(const struct cay_test_reader *r)
{
        return r->format;
}

static void begin(struct cay_test_reader *r, struct cay_error *err)
{
        r->is_sniffed = true;
        if (r->format == CAY_TEST_JUNIT) {
                cay_test_junit_begin(r);
                return;
        }
        cay_test_tap_begin(r);
        for (unsigned i = 0; i < r->blanks; i++)
                cay_test_tap_feed(r, " ", 1, err);
}

/* Blanks and the mark of UTF-8 say nothing about the format. An indent is part of TAP, and is remembered. */
static size_t sniff(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err)
{
        size_t i = 0;

        for (; i < len && memchr(" \t\r\n\xef\xbb\xbf", bytes[i], 7); i++) {
                if (bytes[i] == '\n')
                        r->blanks = 0;
                else if ((bytes[i] == ' ' || bytes[i] == '\t') && r->blanks < CAY_TEST_NAME_MAX)
                        r->blanks++;
        }
        if (i < len) {
                if (r->format == CAY_TEST_AUTO)
                        r->format = bytes[i] == '<' ? CAY_TEST_JUNIT : CAY_TEST_TAP;
                begin(r, err);
        }
        return i;
}

int cay_test_reader_feed(struct cay_test_reader *r, const char *bytes, size_t len, struct cay_error *err)
{
        size_t used = r->is_sniffed ? 0 : sniff(r, bytes, len, err);

        if (!r->is_sniffed)
                return 0;
        return r->format == CAY_TEST_JUNIT ? cay_test_junit_feed(r, bytes + used, len - used, err)
                                           : cay_test_tap_feed(r, bytes + used, len - used, err);
}

int cay_test_reader_end(struct cay_test_reader *r, struct cay_error *err)
{
        if (!r->is_sniffed)
                return cay_fail(err, CAY_INVALID, "it is empty");
        return r->format == CAY_TEST_JUNIT ? cay_test_junit_end(r, err) : cay_test_tap_end(r, err);
}

void cay_test_text_put(struct cay_test_text *t, const char *bytes, size_t len)
{
        size_t room = CAY_TEST_TEXT_MAX - t->len;

        if (len > room) {
                t->is_cut = true;
                len = room;
        }
        memcpy(t->text + t->len, bytes, len);
        t->len += len;
        t->text[t->len] = '\0';
}

void cay_test_name_set(struct cay_test_name *n, const char *text, size_t len)
{
        if (len > CAY_TEST_NAME_MAX)
                len = CAY_TEST_NAME_MAX;
        memcpy(n->text, text, len);
        n->text[len] = '\0';
}

void cay_test_draft_begin(struct cay_test_reader *r)
{
        struct cay_test_draft *d = &r->draft;

        d->name.text[0] = d->class_name.text[0] = d->file.text[0] = '\0';
        d->message.len = d->text.len = 0;
        d->message.text[0] = d->text.text[0] = '\0';
        d->message.is_cut = d->text.is_cut = false;
        d->status = CAY_TEST_PASSED;
        d->duration_us = -1;
        d->line = 0;
}

void cay_test_draft_tell(struct cay_test_reader *r, const char *suite)
{
        const struct cay_test_draft *d = &r->draft;
        const struct cay_test_case c = {
                .suite = suite,
                .name = d->name.text,
                .class_name = d->class_name.text,
                .file = d->file.text,
                .message = d->message.text,
                .text = d->text.text,
                .status = d->status,
                .is_cut = d->message.is_cut || d->text.is_cut,
                .duration_us = d->duration_us,
                .line = d->line,
        };

        r->on_case(r->ctx, &c);
}

/* Digits with a dot, as decimal numbers are written; commas between thousands are passed over. */
int64_t cay_test_duration(const char *text, int64_t unit_us)
{
        int64_t whole = 0, part = 0, scale = unit_us;
        bool any = false;

        for (; (*text >= '0' && *text <= '9') || (any && *text == ','); text++) {
                if (*text == ',')
                        continue;
                any = true;
                if (whole > DURATION_MAX_US)
                        return -1;
                whole = whole * 10 + (*text - '0');
        }
        if (*text == '.')
                for (text++; *text >= '0' && *text <= '9'; text++) {
                        any = true;
                        scale /= 10;
                        part += scale * (*text - '0');
                }
        if (!any || whole > DURATION_MAX_US / unit_us)
                return -1;
        return whole * unit_us + part;
}

const char *cay_test_status_word(enum cay_test_status status)
{
        static const char *const words[CAY_TEST_STATUS_COUNT] = { "passed", "failed", "error", "skipped" };

        return (unsigned)status < CAY_TEST_STATUS_COUNT ? words[status] : "error";
}

const char *cay_test_format_word(enum cay_test_format format)
{
        return format == CAY_TEST_JUNIT ? "junit" : format == CAY_TEST_TAP ? "tap" : "auto";
}
