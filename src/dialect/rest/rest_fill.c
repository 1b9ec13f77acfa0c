/* SPDX-License-Identifier: Apache-2.0 */
/* All of a request but its body, into an op's arguments. */
#include "dialect/rest/rest_fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

static int set_if_known(struct cay_rest_args *a, const char *name, const char *value, struct cay_error *err)
{
        if (!value || !cay_rest_args_has(a, name))
                return 0;
        return cay_rest_args_set(a, name, strlen(name), value, err);
}

/* "bytes=A-B" or "bytes=A-"; other forms (several, from the end) are answered with the whole, as RFC 9110 lets us. */
static int set_range(struct cay_rest_args *a, const char *value, struct cay_error *err)
{
        char text[48], length[24];
        uint64_t from, to;
        char *dash;

        if (!value || strncmp(value, "bytes=", 6) != 0 || strlen(value) >= sizeof(text) ||
            !cay_rest_args_has(a, "offset") || !cay_rest_args_has(a, "length"))
                return 0;
        snprintf(text, sizeof(text), "%s", value + 6);
        dash = strchr(text, '-');
        if (!dash || dash == text)
                return 0;
        *dash = '\0';
        if (cay_parse_u64(text, &from) < 0)
                return 0;
        if (dash[1] != '\0') {
                if (cay_parse_u64(dash + 1, &to) < 0 || to < from)
                        return 0;
                snprintf(length, sizeof(length), "%" PRIu64, to - from + 1);
                if (cay_rest_args_set(a, "length", 6, length, err) < 0)
                        return -1;
        }
        return cay_rest_args_set(a, "offset", 6, text, err);
}

bool cay_rest_accepts(const struct cay_http_request *req, const char *type)
{
        const char *accept = cay_http_request_header(req, "Accept");

        return accept && strstr(accept, type) != NULL;
}

/* A browser that comes back asks for the same URL as before, and says with this field where it stands: that wins over the query. */
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
        if (req->method == CAY_HTTP_GET || req->method == CAY_HTTP_HEAD)
                return set_range(a, cay_http_request_header(req, "Range"), err);
        return 0;
}
