/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes: maps a method and a path to a row of the caller's table. A row is "METHOD /path", where a segment
 * is a word, "{name}" (one segment, not empty, without a slash in it even if encoded) or, last, "*name" (all
 * that is left, maybe nothing), as in "GET /api/sandboxes/{id}". The method "*" means any.
 *
 * The table is built once; words win over names, names over rests. Finding allocates nothing. A GET row also
 * answers HEAD. Trailing slashes count: "/a" and "/a/" are different paths.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/http/request.h"

#define CAY_ROUTE_NAMES_MAX 8u

struct cay_route {
        const char *row;   /* borrowed for the router's life */
        const void *owner; /* the caller's: what the row stands for */
};

struct cay_router;

struct cay_route_match {
        const struct cay_route *route; /* NULL: none; then */
        unsigned
                allowed; /* bits 1 << enum cay_http_method: the methods that this path has; 0: unknown path */
        unsigned name_count;
        const char *names[CAY_ROUTE_NAMES_MAX]; /* as in the row, "id"; not NUL-terminated: see name_lens */
        /* decoded; of a rest: as sent (not decoded), from the first segment on */
        const char *values[CAY_ROUTE_NAMES_MAX];
        unsigned name_lens[CAY_ROUTE_NAMES_MAX];
};

/* NULL: err names the row that is malformed or duplicated. Rows are borrowed. */
struct cay_router *cay_router_new(const struct cay_route *routes, unsigned count, struct cay_error *err);
void cay_router_free(struct cay_router *r); /* accepts NULL */
CAY_DEFINE_AUTO(struct cay_router, cay_router_free)

/* True: found. False: ret->allowed says whether it is the method (405) or the path (404). */
bool cay_router_find(const struct cay_router *r, enum cay_http_method method,
                     const struct cay_http_target *target, struct cay_route_match *ret);
const char *cay_route_value(const struct cay_route_match *m,
                            const char *name); /* NULL: the row has no such name */
/* "GET, HEAD, POST" for the Allow field; room for all methods. */
#define CAY_ROUTE_ALLOW_MAX 64u
void cay_route_allow(unsigned allowed, char ret[CAY_ROUTE_ALLOW_MAX]);
