/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the OpenAPI document know of each other: members of schemas. */
#pragma once

#include "foundation/base/json_out.h"
#include "domain/ops/op.h"

void cay_openapi_begin(struct cay_json *j, const char *key); /* a member that is an object, open */
void cay_openapi_put_type(struct cay_json *j, const char *type, bool nullable);
void cay_openapi_put_types(struct cay_json *j, const char *one, const char *other, bool nullable);
void cay_openapi_put_items(struct cay_json *j, const char *key, const char *type);
/* A shape's schema: its members; or, at a key, itself or a reference to it when it has a name. */
void cay_openapi_put_shape(struct cay_json *j, const struct cay_result_table *shape);
void cay_openapi_put_ref_at(struct cay_json *j, const char *key, const struct cay_result_table *shape);
