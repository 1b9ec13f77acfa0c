/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as E2B's clients decide by them: a number in JSON on REST, a word in Connect RPC. */
#include <assert.h>
#include <string.h>

#include "dialects/e2b/e2b_priv.h"

static const struct {
        unsigned status;
        const char *word;
} codes[] = {
        [CAY_OK] = { 200, "unknown" },
        [CAY_INVALID] = { 400, "invalid_argument" },
        [CAY_NOT_FOUND] = { 404, "not_found" },
        [CAY_EXISTS] = { 409, "already_exists" },
        [CAY_DENIED] = { 403, "permission_denied" },
        [CAY_CONFLICT] = { 409, "failed_precondition" },
        [CAY_LIMIT] = { 429, "resource_exhausted" },
        [CAY_UNSUPPORTED] = { 501, "unimplemented" },
        [CAY_UNAVAILABLE] = { 503, "unavailable" },
        [CAY_TIMEOUT] = { 504, "deadline_exceeded" },
        [CAY_NO_SPACE] = { 507, "resource_exhausted" },
        [CAY_INTERNAL] = { 500, "internal" },
        [CAY_DAMAGED] = { 410, "data_loss" },
};
static_assert(CAY_COUNT(codes) == CAY_CODE_COUNT, "every code has both");

unsigned e2b_status(enum cay_code code)
{
        return (unsigned)code < CAY_CODE_COUNT ? codes[code].status : 500;
}

const char *e2b_connect_code(enum cay_code code)
{
        return (unsigned)code < CAY_CODE_COUNT ? codes[code].word : "internal";
}

unsigned e2b_connect_status(const char *connect_code)
{
        static const struct {
                const char *word;
                unsigned status;
        } rows[] = {
                { "invalid_argument", 400 },   { "unauthenticated", 401 }, { "permission_denied", 403 },
                { "not_found", 404 },          { "already_exists", 409 },  { "failed_precondition", 400 },
                { "resource_exhausted", 429 }, { "unimplemented", 501 },   { "unavailable", 503 },
                { "deadline_exceeded", 504 },  { "internal", 500 },        { "data_loss", 500 },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].word, connect_code) == 0)
                        return rows[i].status;
        return 500;
}

static void put_message(struct cay_json *j, const char *message)
{
        cay_json_key(j, "message");
        cay_json_text(j, message);
}

void e2b_put_error(struct cay_buf *out, enum e2b_form form, unsigned status, const char *connect_code,
                   const char *message)
{
        struct cay_json j;

        if (form == E2B_FORM_TEXT) {
                cay_buf_puts(out, message);
                return;
        }
        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "code");
        if (form == E2B_FORM_REST)
                cay_json_u64(&j, status);
        else
                cay_json_text(&j, connect_code);
        put_message(&j, message);
        cay_json_end_object(&j);
}

void e2b_put_frame_error(struct cay_buf *out, const char *connect_code, const char *message)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "error");
        cay_json_begin_object(&j);
        cay_json_key(&j, "code");
        cay_json_text(&j, connect_code);
        put_message(&j, message);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
}
