/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of resources. */
#include "dialects/mcp/resource_uri.h"

#include <string.h>

static int hex(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

/* Percent signs; false: one that stands for nothing, or for NUL. */
static bool unescape(const char *from, char *to, size_t size)
{
        size_t n = 0;

        for (; *from && n + 1 < size; from++) {
                if (*from != '%') {
                        to[n++] = *from;
                        continue;
                }
                if (hex(from[1]) < 0 || hex(from[2]) < 0 || (from[1] == '0' && from[2] == '0'))
                        return false;
                to[n++] = (char)(hex(from[1]) * 16 + hex(from[2]));
                from += 2;
        }
        to[n] = '\0';
        return *from == '\0';
}

static bool climbs(const char *path)
{
        for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
                if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
                        return true;
        return false;
}

/* "sandbox://ID/REST" into its parts. */
static bool split(const char *uri, const char *scheme, struct cay_mcp_uri *u, const char **ret_rest)
{
        size_t len = strlen(scheme), id;

        if (strncmp(uri, scheme, len) != 0)
                return false;
        id = strcspn(uri + len, "/");
        if (id == 0 || id > CAY_NAME_MAX || uri[len + id] != '/')
                return false;
        memcpy(u->id, uri + len, id);
        u->id[id] = '\0';
        *ret_rest = uri + len + id + 1;
        return true;
}

static void read_output(struct cay_mcp_uri *u, const char *rest)
{
        size_t len = strcspn(rest, "/");

        if (len == 0 || len > CAY_NAME_MAX)
                return;
        memcpy(u->rest, rest, len);
        u->rest[len] = '\0';
        u->is_stderr = strcmp(rest + len, "/stderr") == 0;
        if (u->is_stderr || strcmp(rest + len, "/stdout") == 0)
                u->kind = CAY_URI_OUTPUT;
}

void cay_mcp_uri_read(const char *uri, struct cay_mcp_uri *u)
{
        const char *rest;

        *u = (struct cay_mcp_uri){ 0 };
        if (strlen(uri) >= CAY_MCP_URI_MAX)
                return;
        if (split(uri, "template://", u, &rest)) {
                u->kind = strcmp(rest, "SYSTEM.md") == 0 ? CAY_URI_TEMPLATE : CAY_URI_NOWHERE;
        } else if (split(uri, "sandbox://", u, &rest)) {
                if (strcmp(rest, "info") == 0)
                        u->kind = CAY_URI_INFO;
                else if (strncmp(rest, "exec/", 5) == 0)
                        read_output(u, rest + 5);
                else if (strncmp(rest, "files/", 6) == 0 && rest[6] &&
                         unescape(rest + 5, u->rest, CAY_MCP_URI_MAX) && !climbs(u->rest))
                        u->kind = CAY_URI_FILE;
        }
}

bool cay_mcp_uri_is_seen(const struct cay_mcp_uri *u, const char *only_sandbox)
{
        return u->kind == CAY_URI_TEMPLATE || !only_sandbox[0] || strcmp(u->id, only_sandbox) == 0;
}
