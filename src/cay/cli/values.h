/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values given for an op's fields, as texts, and the request that they make. Fields named in the path go
 * there. Those of GET and DELETE, and of ops whose body is bytes, go into the query; all others go into a
 * JSON body, in the form of their kind. The daemon checks ranges and meanings.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "cay/cli/ops.h"

#define CAY_VALUES_MAX 4608u /* a command's words, variables and a few options */

struct cay_value {
        const struct cay_field *field;
        const struct cay_field *object; /* the field's parent; NULL: the op itself */
        const char *text;               /* borrowed; NAME=VALUE of a map */
};

struct cay_values {
        const struct cay_cli_op *op;
        struct cay_value *items; /* owned */
        unsigned count;
};

void cay_values_init(struct cay_values *v, const struct cay_cli_op *op);
void cay_values_done(struct cay_values *v);
#define cay_auto_values cay_auto(cay_values_done)

/* A field by name ("memory" of "limits" is "limits.memory"); NULL: none. */
const struct cay_field *cay_values_find(const struct cay_cli_op *op, const char *name,
                                        const struct cay_field **ret_object);
/*
 * `where` names it in errors. Lists and maps take several values; a second value of any other field replaces
 * the first.
 */
int cay_values_add(struct cay_values *v, const char *name, const char *where, const char *text,
                   struct cay_error *err);
/* The same for a name that is in the table, with a valid text. */
int cay_values_set(struct cay_values *v, const char *name, const char *text, struct cay_error *err);
const char *cay_values_get(const struct cay_values *v, const char *name); /* NULL: not given */

/* Path and query into target; the body as JSON (empty if there is none). *ret_has_body says which. */
int cay_values_format(const struct cay_values *v, struct cay_buf *target, struct cay_buf *body,
                      bool *ret_has_body, struct cay_error *err);
