/* SPDX-License-Identifier: Apache-2.0 */
/* Views of sandboxes, commands and events for clients. Each function writes members into an open object. */
#pragma once

#include "domain/ops/op.h"
#include "domain/ops/results.h"
#include "domain/sandboxes/exec.h"

static inline void cay_op_put_sandbox(struct cay_json *j, const struct cay_sandbox_view *v,
                                      enum cay_op_dialect dialect)
{
        cay_op_put_members_for(j, &cay_result_sandbox, v, dialect);
}

static inline void cay_op_put_exec(struct cay_json *j, const struct cay_exec_view *v,
                                   enum cay_op_dialect dialect)
{
        cay_op_put_members_for(j, &cay_result_exec, v, dialect);
}

/* As hexadecimal digits; null for zeros. */
void cay_op_put_hash(struct cay_json *j, const char *key, const uint8_t hash[CAY_STORE_HASH]);
/* "2026-01-31T12:00:00.000Z"; null for 0. */
void cay_op_key_time(struct cay_json *j, const char *key, uint64_t wall_ms);
/*
 * `key` as text if the bytes are UTF-8 without NUL (which many JSON readers refuse), else `coded_key` as
 * base64: no byte is ever changed.
 */
void cay_op_put_bytes(struct cay_json *j, const char *key, const char *coded_key, const void *bytes,
                      size_t len);
