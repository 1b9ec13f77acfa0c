/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strangers' queries and bodies against the field table of every op: the first byte chooses the op, the first
 * line is the query, the rest the body. Whatever is refused is refused in words that name a field or nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/rest/rest_args.h"
#include "domain/ops/op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static int read_all(struct cay_rest_args *a, const char *query, const char *body, size_t len,
                    struct cay_error *err)
{
        const struct cay_json_in_limits limits = { .bytes = 1u << 20 };

        if (cay_rest_args_query(a, query, err) < 0 ||
            (len > 0 && cay_rest_args_body(a, body, len, &limits, err) < 0))
                return -1;
        return cay_rest_args_check(a, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct cay_op *op = cay_ops[size > 0 ? data[0] % cay_op_count : 0];
        char *text = malloc(size + 1);
        void *values = calloc(1, op->args_size + 1);
        struct cay_error err = { 0 };
        struct cay_rest_args args;
        char *line;

        if (size == 0 || !text || !values) {
                free(text);
                free(values);
                return 0;
        }
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        line = memchr(text, '\n', size - 1);
        if (line)
                *line++ = '\0';
        cay_rest_args_init(&args, op->fields, values);
        if (read_all(&args, text, line, line ? size - 1 - (size_t)(line - text) : 0, &err) < 0)
                HOLDS((err.code == CAY_INVALID || err.code == CAY_LIMIT) && err.msg[0]);
        else
                HOLDS(err.code == CAY_OK);
        cay_rest_args_done(&args);
        free(values);
        free(text);
        return 0;
}
