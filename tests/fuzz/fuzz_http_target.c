/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request targets, queries, hosts and the router. What a handler gets is checked by asking in another way:
 * decoding each raw segment again, joining them, and walking the rows without the tree.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz/must.h"
#include "foundation/base/utf8.h"
#include "foundation/http/router.h"

static const struct cay_route routes[] = {
        { .row = "GET /" },
        { .row = "GET /a" },
        { .row = "POST /a/b" },
        { .row = "GET /a/{x}" },
        { .row = "DELETE /a/{x}/b/{y}" },
        { .row = "GET /a/b/b/*z" },
        { .row = "* /p/{port}/*rest" },
};

static void check_segments(const struct cay_http_target *t)
{
        const char *at = t->path + 1;
        char again[4096];

        for (unsigned i = 0; i < t->count; i++) {
                size_t len = strcspn(at, "/");
                ssize_t n = cay_http_decode(at, len, false, again);

                must(t->raw[i] == at);
                must(n >= 0 && strcmp(again, t->segments[i]) == 0 && cay_utf8_valid(again, (size_t)n));
                must(strcmp(again, ".") != 0 && strcmp(again, "..") != 0);
                for (ssize_t k = 0; k < n; k++)
                        must((unsigned char)again[k] >= 0x20 && again[k] != 0x7f);
                at += len;
                must(i + 1 < t->count || t->cut == (*at == '/'));
                at += *at == '/';
        }
}

/* The row against the path, segment by segment. */
static bool row_matches(const char *row, const struct cay_http_target *t)
{
        const char *at = strchr(row, ' ') + 2;

        for (unsigned i = 0;; i++) {
                size_t len = strcspn(at, "/");

                if (i >= t->count)
                        return false;
                if (*at == '*')
                        return true;
                if (*at == '{' ? !t->segments[i][0] || strchr(t->segments[i], '/')
                               : strlen(t->segments[i]) != len || memcmp(t->segments[i], at, len) != 0)
                        return false;
                at += len;
                if (!*at)
                        return i + 1 == t->count && !t->cut;
                at++;
        }
}

static void check_routes(const struct cay_router *r, const struct cay_http_target *t)
{
        unsigned allowed = 0;

        for (size_t i = 0; i < CAY_COUNT(routes); i++) {
                unsigned any = ~0u << 1 & ((1u << CAY_HTTP_METHOD_COUNT) - 1);
                size_t len = strcspn(routes[i].row, " ");

                if (!row_matches(routes[i].row, t))
                        continue;
                if (routes[i].row[0] == '*')
                        allowed |= any;
                else
                        allowed |= 1u << cay_http_method_find(routes[i].row, len);
        }
        if (allowed & 1u << CAY_HTTP_GET)
                allowed |= 1u << CAY_HTTP_HEAD;
        for (unsigned m = CAY_HTTP_GET; m < CAY_HTTP_METHOD_COUNT; m++) {
                struct cay_route_match match;
                bool found = cay_router_find(r, m, t, &match);

                must(found == ((allowed & 1u << m) != 0));
                must(!found || row_matches(match.route->row, t));
                for (unsigned i = 0; i < match.name_count; i++)
                        must(match.values[i]);
                /* When nothing fits, all that would is named; when something does, what is named is true. */
                must(found ? (match.allowed & ~allowed) == 0 : match.allowed == allowed);
        }
}

static void check_query(const char *query)
{
        char room[256];
        struct cay_http_query q = { .at = query, .room = room, .room_size = sizeof(room) };
        const char *value;
        int r;

        while ((r = cay_http_query_next(&q)) > 0)
                must(strlen(q.name) + strlen(q.value) + 2 <= sizeof(room) &&
                     cay_utf8_valid(q.value, strlen(q.value)));
        cay_http_query_get(query, "a", room, sizeof(room), &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct cay_router *router;
        char *text = malloc(size + 1), *room = malloc(size + 1), host[CAY_HTTP_HOST_MAX + 1];
        struct cay_http_fault fault;
        struct cay_http_target t;
        struct cay_error err;
        uint16_t port;

        must(text && room);
        if (!router)
                router = cay_router_new(routes, CAY_COUNT(routes), &err);
        must(router);
        memcpy(text, data, size);
        text[size] = '\0';
        if (cay_http_host_split(text, strlen(text), host, &port) == 0)
                must(host[0] && strlen(host) <= CAY_HTTP_HOST_MAX && !strpbrk(host, "/@ ABC"));
        if (size < 4000 && cay_http_target_split(&t, text, room, &fault) == 0) {
                if (t.count > 0)
                        check_segments(&t);
                check_routes(router, &t);
                check_query(t.query);
        }
        free(text);
        free(room);
        return 0;
}
