/* SPDX-License-Identifier: Apache-2.0 */
/* One form for every error. */
#include "dialects/rest/rest_error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "domain/ops/confirm.h"
#include "foundation/base/json_out.h"

static const unsigned statuses[] = {
        [CAY_OK] = 200,          [CAY_INVALID] = 400,  [CAY_NOT_FOUND] = 404, [CAY_EXISTS] = 409,
        [CAY_DENIED] = 403,      [CAY_CONFLICT] = 409, [CAY_LIMIT] = 429,     [CAY_UNSUPPORTED] = 422,
        [CAY_UNAVAILABLE] = 503, [CAY_TIMEOUT] = 504,  [CAY_NO_SPACE] = 507,  [CAY_INTERNAL] = 500,
        [CAY_DAMAGED] = 410,
};
static_assert(CAY_COUNT(statuses) == CAY_CODE_COUNT, "every code has a status");

unsigned cay_rest_status(enum cay_code code)
{
        return (unsigned)code < CAY_CODE_COUNT ? statuses[code] : 500;
}

static const struct {
        unsigned status;
        const char *word;
} words[] = {
        { 401, "unauthenticated" }, { 404, "not_found" },   { 405, "method_not_allowed" },
        { 408, "timeout" },         { 413, "too_large" },   { 414, "too_large" },
        { 421, "wrong_host" },      { 429, "limit" },       { 431, "too_large" },
        { 500, "internal" },        { 501, "unsupported" }, { 503, "unavailable" },
        { 502, "unavailable" },     { 504, "timeout" },     { 409, "conflict" },
        { 505, "unsupported" },     { 428, "confirm" },     { 403, "denied" },
        { 410, "damaged" },
};

static void add_word(const char **ret, unsigned *count, const char *word)
{
        for (unsigned i = 0; i < *count; i++)
                if (strcmp(ret[i], word) == 0)
                        return;
        if (*count < CAY_REST_WORDS_MAX)
                ret[(*count)++] = word;
}

unsigned cay_rest_error_words(const char *ret[static CAY_REST_WORDS_MAX])
{
        unsigned count = 0;

        for (unsigned code = CAY_OK + 1; code < CAY_CODE_COUNT; code++)
                add_word(ret, &count, cay_code_word(code));
        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                add_word(ret, &count, words[i].word);
        return count;
}

const char *cay_rest_status_code(unsigned status)
{
        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                if (words[i].status == status)
                        return words[i].word;
        return "invalid";
}

static void put_message(struct cay_json *j, const struct cay_rest_error *e)
{
        char text[512];

        cay_json_key(j, "message");
        if (!e->confirm || !e->confirm[0]) {
                cay_json_text(j, e->message);
                return;
        }
        snprintf(text, sizeof(text),
                 "%s: send the same request again with the field confirm set to this token, within %u s",
                 e->message, CAY_CONFIRM_MS / 1000);
        cay_json_text(j, text);
        cay_json_key(j, "confirm_why");
        cay_json_text(j, e->message);
}

int cay_rest_error_put(struct cay_buf *out, const struct cay_rest_error *e)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "error");
        cay_json_begin_object(&j);
        cay_json_key(&j, "code");
        cay_json_text(&j, e->code);
        put_message(&j, e);
        cay_json_key(&j, "field");
        cay_json_text(&j, e->field && e->field[0] ? e->field : NULL);
        cay_json_key(&j, "request_id");
        cay_json_text(&j, e->request_id);
        if (e->reason && e->reason[0]) {
                cay_json_key(&j, "reason");
                cay_json_text(&j, e->reason);
        }
        if (e->first && e->first[0]) {
                cay_json_key(&j, "first");
                cay_json_text(&j, e->first);
        }
        if (e->confirm && e->confirm[0]) {
                cay_json_key(&j, "confirm");
                cay_json_text(&j, e->confirm);
        }
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}
