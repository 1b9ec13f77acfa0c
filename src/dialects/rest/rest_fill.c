/* SPDX-License-Identifier: Apache-2.0 */
/* All of a request but its body, into an op's arguments. */
#include "dialects/rest/rest_fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialects/rest/rest_range.h"

static int set_if_known(struct cay_rest_args *a, const char *name, const char *value, struct cay_error *err)
{
        if (!value || !cay_rest_args_has(a, name))
                return 0;
        return cay_rest_args_set(a, name, strlen(name), value, err);
}

static int set_number(struct cay_rest_args *a, const char *name, uint64_t value, struct cay_error *err)
{
        char text[24];

        snprintf(text, sizeof(text), "%" PRIu64, value);
        return cay_rest_args_set(a, name, strlen(name), text, err);
}

/*
 * A range applies to what the query names. If-Range compares with a validator, which our answers never have,
 * so it cannot match, and the whole is answered.
 */
static int set_range(struct cay_rest_args *a, const struct cay_http_request *req, struct cay_error *err)
{
        static const char *const names[] = { "offset", "length", "tail" };
        const char *value = cay_http_request_header(req, "Range");
        struct cay_rest_range range;

        for (unsigned i = 0; i < CAY_COUNT(names); i++)
                if (!cay_rest_args_has(a, names[i]) || cay_rest_args_is_set(a, names[i]))
                        return 0;
        if (!value || cay_http_request_header_count(req, "Range") != 1 ||
            cay_http_request_header(req, "If-Range") || !cay_rest_range_read(value, &range))
                return 0;
        a->by_range = true;
        if (range.is_tail)
                return set_number(a, "tail", range.length, err);
        if (range.has_length && set_number(a, "length", range.length, err) < 0)
                return -1;
        return set_number(a, "offset", range.from, err);
}

bool cay_rest_accepts(const struct cay_http_request *req, const char *type)
{
        const char *accept = cay_http_request_header(req, "Accept");

        return accept && strstr(accept, type) != NULL;
}

/*
 * A browser that reconnects uses the same URL as before, and gives its position in this field: it overrides
 * the query.
 */
static int set_last_event(struct cay_rest_args *a, const char *value, struct cay_error *err)
{
        const char *name = cay_rest_args_has(a, "from") ? "from" : "after";

        if (!value || !value[0] || !cay_rest_args_has(a, name))
                return 0;
        return cay_rest_args_overrule(a, name, value, err);
}

int cay_rest_fill(struct cay_rest_args *a, const struct cay_http_request *req,
                  const struct cay_route_match *m, struct cay_error *err)
{
        if (cay_rest_args_path(a, m, err) < 0 || cay_rest_args_query(a, req->target.query, err) < 0 ||
            set_if_known(a, "execution_id", cay_http_request_header(req, "Idempotency-Key"), err) < 0 ||
            set_last_event(a, cay_http_request_header(req, "Last-Event-ID"), err) < 0)
                return -1;
        return req->method == CAY_HTTP_GET ? set_range(a, req, err) : 0; /* ranges are GET's alone */
}

bool cay_rest_is_in_path(const struct cay_op *op, const char *name)
{
        const char *at = op->route;
        size_t len = strlen(name);

        while ((at = strchr(at, '{')) != NULL) {
                at++;
                if (strncmp(at, name, len) == 0 && at[len] == '}')
                        return true;
        }
        return false;
}

bool cay_rest_takes_body(const struct cay_op *op)
{
        return !(op->flags & CAY_OP_RAW_IN) && strncmp(op->route, "GET ", 4) != 0;
}
