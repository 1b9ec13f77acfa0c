/* SPDX-License-Identifier: Apache-2.0 */
/* From a request's path, query, fields and JSON body to the struct that an op's field table describes. */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/field.h"
#include "foundation/http/router.h"
#include "foundation/json/json_in.h"

struct cay_rest_args {
        const struct cay_field *fields;        /* NULL: none */
        void *args;                            /* borrowed */
        struct cay_arena mem;                  /* what texts point into */
        struct cay_json_in *doc;               /* owned; NULL: there was no body */
        uint64_t seen;                         /* rows that were filled, by number */
        char field[CAY_JSON_IN_FIELD_MAX + 1]; /* which one an error is about */
        bool by_range;                         /* what part of it is meant came as a Range field */
};

void cay_rest_args_init(struct cay_rest_args *a, const struct cay_field *fields, void *args);
void cay_rest_args_done(struct cay_rest_args *a);
/* CAY_INVALID names the field, in the text and in `field`. One value may come once. */
int cay_rest_args_set(struct cay_rest_args *a, const char *name, size_t name_len, const char *value,
                      struct cay_error *err);
/* The same, whatever was said before it. */
int cay_rest_args_overrule(struct cay_rest_args *a, const char *name, const char *value,
                           struct cay_error *err);
int cay_rest_args_path(struct cay_rest_args *a, const struct cay_route_match *match, struct cay_error *err);
int cay_rest_args_query(struct cay_rest_args *a, const char *query, struct cay_error *err); /* NULL: none */
int cay_rest_args_body(struct cay_rest_args *a, const char *bytes, size_t len,
                       const struct cay_json_in_limits *limits, struct cay_error *err);
int cay_rest_args_check(struct cay_rest_args *a, struct cay_error *err); /* what is required is there */
bool cay_rest_args_has(const struct cay_rest_args *a, const char *name);
bool cay_rest_args_is_set(const struct cay_rest_args *a, const char *name); /* by now */
