/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses of resources, taken apart. Pure. A path is decoded once and may not climb; what is no address
 * of ours is NOWHERE.
 *
 * sandbox://ID/files/PATH · sandbox://ID/exec/EXEC/stdout (or stderr) · sandbox://ID/info ·
 * template://NAME/SYSTEM.md
 */
#pragma once

#include "dialects/mcp/mcp.h"

#define CAY_MCP_URI_MAX 4600u

enum cay_mcp_uri_kind {
        CAY_URI_NOWHERE,
        CAY_URI_FILE,
        CAY_URI_INFO,
        CAY_URI_OUTPUT,
        CAY_URI_TEMPLATE,
};

struct cay_mcp_uri {
        enum cay_mcp_uri_kind kind;
        char id[CAY_NAME_MAX + 1];  /* sandbox or template */
        char rest[CAY_MCP_URI_MAX]; /* absolute path, or exec */
        bool is_stderr;
};

void cay_mcp_uri_read(const char *uri, struct cay_mcp_uri *ret);
/* For a client that is limited to one sandbox, others are not found. */
bool cay_mcp_uri_is_seen(const struct cay_mcp_uri *u, const char *only_sandbox);
