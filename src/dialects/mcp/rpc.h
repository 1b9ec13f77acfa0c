/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted JSON-RPC 2.0 messages: parsed, classified as request, notification or response, and refused with
 * the right code if invalid; and the envelopes of answers. Pure.
 *
 * An id is a text or an integer, kept as the JSON text that it goes back as. Batches are refused: the
 * revisions of MCP that clients speak today have none. A request belongs to the modern era when its _meta
 * names a version, or when its method is server/discover.
 */
#pragma once

#include "foundation/json/json_in.h"

#define CAY_RPC_ID_MAX 256u /* bytes of an id or a progress token, as JSON */
#define CAY_RPC_TEXT_MAX 256u

enum cay_rpc_code {
        CAY_RPC_NOT_JSON = -32700,
        CAY_RPC_NO_REQUEST = -32600,
        CAY_RPC_NO_METHOD = -32601,
        CAY_RPC_BAD_PARAMS = -32602,
        CAY_RPC_INTERNAL = -32603,
        CAY_RPC_NO_RESOURCE = -32002, /* legacy era */
        CAY_RPC_LET_GO = -32003,      /* its key was revoked, or its token has expired */
        CAY_RPC_BAD_HEADER = -32020,
        CAY_RPC_NEEDS_CAPABILITY = -32021,
        CAY_RPC_BAD_VERSION = -32022,
        CAY_RPC_TOO_OFTEN = -32029, /* data: retryAfterMs */
};

enum cay_rpc_kind { CAY_RPC_REQUEST, CAY_RPC_NOTIFICATION, CAY_RPC_RESPONSE };

struct cay_rpc {
        struct cay_json_in *doc; /* owned */
        enum cay_rpc_kind kind;
        char id[CAY_RPC_ID_MAX + 1];                                 /* "": a notification */
        const char *method;                                          /* NULL: a response */
        const struct cay_json_value *params, *meta, *result, *error; /* NULL: none */
        const char *version;                                         /* that _meta names; NULL: none */
        char progress[CAY_RPC_ID_MAX + 1];                           /* token, as JSON; "": none */
};

struct cay_rpc_fault {
        int code;
        char id[CAY_RPC_ID_MAX + 1]; /* of the message, as far as it could be read; else "null" */
        char text[CAY_RPC_TEXT_MAX];
};

/* 0 with a message to be done with, or -1 with the fault to answer. max: bytes of a message. */
int cay_rpc_read(struct cay_rpc *m, const char *bytes, size_t len, size_t max, struct cay_rpc_fault *fault);
/*
 * Looks for the id of a message that is too long to be kept, while its bytes pass; begins zeroed. Clients may
 * write the id behind the parameters (the JavaScript SDK does).
 */
enum cay_rpc_scan_at {
        CAY_RPC_SCAN_OUTSIDE,
        CAY_RPC_SCAN_TEXT,
        CAY_RPC_SCAN_NAMED, /* behind "id" */
        CAY_RPC_SCAN_VALUE,
        CAY_RPC_SCAN_OVER, /* nothing more is looked at */
};
struct cay_rpc_scan {
        enum cay_rpc_scan_at at;
        size_t depth, len; /* len: of the name, or of the id */
        bool is_name, is_escaped, is_found;
        char id[CAY_RPC_ID_MAX + 1]; /* as JSON */
};
void cay_rpc_scan(struct cay_rpc_scan *s, const char *bytes, size_t len);
void cay_rpc_scan_id(const struct cay_rpc_scan *s, char ret[CAY_RPC_ID_MAX + 1]); /* "null": none was found */
/* The same for bytes that are there at once. */
void cay_rpc_guess_id(const char *bytes, size_t len, char ret[CAY_RPC_ID_MAX + 1]);
void cay_rpc_done(struct cay_rpc *m); /* fine when zeroed */
bool cay_rpc_is_modern(const struct cay_rpc *m);

/* Envelopes, appended; 0, -ENOSPC or -ENOMEM. `json` and `data` (NULL: none) are JSON texts. */
int cay_rpc_put_result(struct cay_buf *out, const char *id, const char *json, size_t len);
int cay_rpc_put_error(struct cay_buf *out, const char *id, int code, const char *text, const char *data);
int cay_rpc_put_too_often(struct cay_buf *out, const char *id, const char *text, uint64_t wait_ms);
