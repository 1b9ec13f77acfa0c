/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of segments in one array. Each node has a list of children by word, at most one for a name and at
 * most one for a rest; each has a row per method. Names belong to rows: two rows may call the same segment
 * differently.
 */
#include "foundation/http/router.h"

#include <assert.h>

#define ANY CAY_HTTP_NO_METHOD

struct node {
        const char *word; /* in the row; NULL: a name or a rest */
        unsigned word_len;
        unsigned next;  /* sibling by word */
        unsigned words; /* first child by word */
        unsigned name, rest;
        const struct cay_route *routes[CAY_HTTP_METHOD_COUNT]; /* [ANY]: "*" */
};

struct cay_router {
        unsigned count, cap;
        struct node nodes[]; /* 0 is the root, and as an index "none" */
};

/* A row taken apart: its first segment, or NULL with err. */
static const char *read_row(const struct cay_route *route, enum cay_http_method *ret_method,
                            struct cay_error *err)
{
        const char *space = strchr(route->row, ' ');
        size_t len = space ? (size_t)(space - route->row) : 0;
        bool is_any = len == 1 && route->row[0] == '*';

        *ret_method = is_any ? ANY : cay_http_method_find(route->row, len);
        if (!space || space[1] != '/' || (*ret_method == ANY && !is_any)) {
                cay_fail(err, CAY_INVALID, "route '%s' is not 'METHOD /path'", route->row);
                return NULL;
        }
        return space + 2;
}

enum kind { WORD, NAME, REST, BAD };

static enum kind segment_kind(const char *at, size_t len)
{
        if (at[0] == '*' && len > 1)
                return at[len] ? BAD : REST;
        if (at[0] == '{')
                return len > 2 && at[len - 1] == '}' ? NAME : BAD;
        return memchr(at, '{', len) || memchr(at, '*', len) || memchr(at, '%', len) ? BAD : WORD;
}

/* Building */

static unsigned add_node(struct cay_router *r, const char *word, size_t len)
{
        assert(r->count < r->cap);
        r->nodes[r->count] = (struct node){ .word = word, .word_len = (unsigned)len };
        return r->count++;
}

static unsigned word_child(struct cay_router *r, unsigned at, const char *word, size_t len)
{
        unsigned i;

        for (i = r->nodes[at].words; i; i = r->nodes[i].next) {
                if (r->nodes[i].word_len == len && memcmp(r->nodes[i].word, word, len) == 0)
                        return i;
        }
        i = add_node(r, word, len);
        r->nodes[i].next = r->nodes[at].words;
        r->nodes[at].words = i;
        return i;
}

static unsigned child(struct cay_router *r, unsigned at, enum kind kind, const char *word, size_t len)
{
        unsigned i;

        if (kind == WORD)
                return word_child(r, at, word, len);
        i = kind == NAME ? r->nodes[at].name : r->nodes[at].rest;
        if (i)
                return i;
        i = add_node(r, NULL, 0);
        *(kind == NAME ? &r->nodes[at].name : &r->nodes[at].rest) = i;
        return i;
}

static int add_route(struct cay_router *r, const struct cay_route *route, struct cay_error *err)
{
        enum cay_http_method method;
        unsigned node = 0, names = 0;
        const char *at = read_row(route, &method, err);

        if (!at)
                return -1;
        for (;; at++) {
                size_t len = strcspn(at, "/");
                enum kind kind = segment_kind(at, len);

                names += kind == NAME || kind == REST;
                if (kind == BAD || names > CAY_ROUTE_NAMES_MAX)
                        return cay_fail(err, CAY_INVALID, "route '%s' is malformed at '%s'", route->row, at);
                node = child(r, node, kind, at, len);
                at += len;
                if (!*at)
                        break;
        }
        if (r->nodes[node].routes[method])
                return cay_fail(err, CAY_EXISTS, "route '%s' is registered twice", route->row);
        r->nodes[node].routes[method] = route;
        return 0;
}

static unsigned count_segments(const struct cay_route *routes, unsigned count)
{
        unsigned segments = 0;

        for (unsigned i = 0; i < count; i++) {
                for (const char *c = routes[i].row; *c; c++)
                        segments += *c == '/';
        }
        return segments;
}

struct cay_router *cay_router_new(const struct cay_route *routes, unsigned count, struct cay_error *err)
{
        unsigned cap = count_segments(routes, count) + 1;
        struct cay_router *r = calloc(1, sizeof(*r) + cap * sizeof(r->nodes[0]));

        if (!r) {
                cay_fail(err, CAY_INTERNAL, "no memory for routes");
                return NULL;
        }
        r->cap = cap;
        r->count = 1;
        for (unsigned i = 0; i < count; i++) {
                if (add_route(r, &routes[i], err) < 0) {
                        cay_router_free(r);
                        return NULL;
                }
        }
        return r;
}

void cay_router_free(struct cay_router *r)
{
        free(r);
}

/* Finding */

struct search {
        const struct cay_router *r;
        const struct cay_http_target *target;
        enum cay_http_method method;
        unsigned allowed;
};

static const struct cay_route *route_for(const struct node *n, enum cay_http_method method)
{
        if (n->routes[method])
                return n->routes[method];
        if (method == CAY_HTTP_HEAD && n->routes[CAY_HTTP_GET])
                return n->routes[CAY_HTTP_GET];
        return n->routes[ANY];
}

static const struct cay_route *arrive(struct search *s, unsigned node)
{
        const struct node *n = &s->r->nodes[node];

        for (unsigned m = ANY + 1; m < CAY_HTTP_METHOD_COUNT; m++)
                s->allowed |= route_for(n, m) ? 1u << m : 0;
        return route_for(n, s->method);
}

static bool is_name(const char *segment)
{
        return segment[0] && !strchr(segment, '/');
}

/* Depth is bounded by the rows: a node without children ends it. */
static const struct cay_route *descend(struct search *s, unsigned node, unsigned depth)
{
        const struct node *n = &s->r->nodes[node];
        const struct cay_route *found = NULL;

        if (depth == s->target->count)
                return s->target->cut ? NULL : arrive(s, node);
        for (unsigned i = n->words; i && !found; i = s->r->nodes[i].next) {
                const struct node *c = &s->r->nodes[i];

                if (strncmp(c->word, s->target->segments[depth], c->word_len) == 0 &&
                    !s->target->segments[depth][c->word_len])
                        found = descend(s, i, depth + 1);
        }
        if (!found && n->name && is_name(s->target->segments[depth]))
                found = descend(s, n->name, depth + 1);
        return !found && n->rest ? arrive(s, n->rest) : found;
}

/* The row says which segments are names: walk the row and the path in parallel. */
static void capture(struct cay_route_match *m, const struct cay_http_target *target)
{
        const char *at = strchr(m->route->row, ' ') + 2;

        for (unsigned depth = 0;; depth++, at++) {
                size_t len = strcspn(at, "/");
                enum kind kind = segment_kind(at, len);

                if (kind != WORD) {
                        unsigned i = m->name_count++;

                        m->names[i] = at + 1;
                        m->name_lens[i] = (unsigned)len - (kind == NAME ? 2 : 1);
                        m->values[i] = kind == NAME ? target->segments[depth] : target->raw[depth];
                }
                at += len;
                if (!*at)
                        return;
        }
}

bool cay_router_find(const struct cay_router *r, enum cay_http_method method,
                     const struct cay_http_target *target, struct cay_route_match *ret)
{
        struct search s = { .r = r, .target = target, .method = method };

        memset(ret, 0, sizeof(*ret));
        if (target->count > 0)
                ret->route = descend(&s, 0, 0);
        ret->allowed = s.allowed;
        if (ret->route)
                capture(ret, target);
        return ret->route;
}

const char *cay_route_value(const struct cay_route_match *m, const char *name)
{
        size_t len = strlen(name);

        for (unsigned i = 0; i < m->name_count; i++) {
                if (m->name_lens[i] == len && memcmp(m->names[i], name, len) == 0)
                        return m->values[i];
        }
        return NULL;
}

void cay_route_allow(unsigned allowed, char ret[CAY_ROUTE_ALLOW_MAX])
{
        size_t at = 0;

        ret[0] = '\0';
        for (unsigned m = ANY + 1; m < CAY_HTTP_METHOD_COUNT; m++) {
                if (allowed & 1u << m)
                        at += (size_t)snprintf(ret + at, CAY_ROUTE_ALLOW_MAX - at, "%s%s", at ? ", " : "",
                                               cay_http_method_word(m));
        }
}
