/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events: one event put into a buffer, for cay_http_response_write(). Data may be any text: it is
 * split at its line ends (LF, CRLF, CR), each line a "data:" of its own, so no data can end the event or
 * start another field.
 */
#pragma once

#include "foundation/base/buf.h"

#define CAY_SSE_TYPE "text/event-stream; charset=utf-8"

/*
 * id and event may be NULL. 0; -EINVAL: a line end (or NUL, in id) in id or event; -ENOSPC, -ENOMEM: the
 * buffer is unchanged.
 */
int cay_sse_put(struct cay_buf *out, const char *id, const char *event, const char *data, size_t len);
/* The client's Last-Event-ID field is a request field like others. */
