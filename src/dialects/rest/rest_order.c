/* SPDX-License-Identifier: Apache-2.0 */
/* What a client says on a stream's way back. */
#include "dialects/rest/rest_order.h"

#include <string.h>

#include "foundation/base/base64.h"

#define DEPTH 2u
#define VALUES 16u

struct said {
        const char *input, *coded, *signal;
        uint64_t rows, cols;
        bool eof;
};

static const struct cay_field fields[] = {
        { "input", CAY_FIELD_TEXT, offsetof(struct said, input), 0, "for the command to read" },
        { "input_base64", CAY_FIELD_TEXT, offsetof(struct said, coded), 0, "the same, any bytes" },
        { "eof", CAY_FIELD_BOOL, offsetof(struct said, eof), 0, "nothing more comes after it" },
        { "rows", CAY_FIELD_U64, offsetof(struct said, rows), 0, "of the terminal", .min = 1, .max = 65535 },
        { "cols", CAY_FIELD_U64, offsetof(struct said, cols), 0, "of the terminal", .min = 1, .max = 65535 },
        { "signal", CAY_FIELD_TEXT, offsetof(struct said, signal), 0, "a name or a number", .min = 1,
          .max = 15 },
        {},
};

static int check(const struct said *s, struct cay_error *err)
{
        if (s->input && s->coded)
                return cay_fail(err, CAY_INVALID, "input_base64: the same as input; set only one");
        if (!s->rows != !s->cols)
                return cay_fail(err, CAY_INVALID, "rows and cols: set both or neither");
        if (!s->input && !s->coded && !s->eof && !s->rows && !s->signal)
                return cay_fail(err, CAY_INVALID, "the message is empty");
        return 0;
}

static int take_input(struct cay_rest_order *o, const struct said *s, struct cay_error *err)
{
        int r = s->input   ? cay_buf_put(&o->input, s->input, strlen(s->input))
                : s->coded ? cay_base64_decode(s->coded, strlen(s->coded), &o->input)
                           : 0;

        return r < 0 ? cay_fail(err, CAY_INVALID, "%s: too long, or not valid base64",
                                s->input ? "input" : "input_base64")
                     : 0;
}

int cay_rest_order_read(struct cay_rest_order *o, const char *bytes, size_t len, size_t max,
                        struct cay_error *err)
{
        const struct cay_json_in_limits limits = { .bytes = max, .values = VALUES, .depth = DEPTH };
        struct said said = { 0 };

        *o = (struct cay_rest_order){ 0 };
        cay_buf_init(&o->input, max);
        if (cay_json_in_parse(bytes, len, &limits, &o->doc, err) < 0 ||
            cay_json_in_read(o->doc, cay_json_in_root(o->doc), fields, &said, NULL, err) < 0) {
                err->code = CAY_INVALID;
                return -1;
        }
        if (check(&said, err) < 0 || take_input(o, &said, err) < 0)
                return -1;
        o->order = (struct cay_op_order){ .signal = said.signal, .rows = said.rows, .cols = said.cols };
        o->has_order = said.signal || said.rows;
        o->eof = said.eof;
        return 0;
}

void cay_rest_order_done(struct cay_rest_order *o)
{
        cay_json_in_free(o->doc);
        cay_buf_done(&o->input);
        *o = (struct cay_rest_order){ 0 };
}
