/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of resources, and tokens among subprotocols: what is found lies inside, and a path does not
 * climb.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/gate_priv.h"
#include "dialects/mcp/resource_uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void check_path(const char *path)
{
        size_t len = strlen(path);

        HOLDS(path[0] == '/' && len < CAY_MCP_URI_MAX);
        HOLDS(!strstr(path, "/../"));
        HOLDS(len < 3 || strcmp(path + len - 3, "/..") != 0);
}

static void check_uri(const char *text)
{
        struct cay_mcp_uri u;

        cay_mcp_uri_read(text, &u);
        if (u.kind == CAY_URI_NOWHERE)
                return;
        HOLDS(u.id[0] && strlen(u.id) <= CAY_NAME_MAX && !strchr(u.id, '/'));
        if (u.kind == CAY_URI_FILE)
                check_path(u.rest);
        if (u.kind == CAY_URI_OUTPUT)
                HOLDS(u.rest[0] && strlen(u.rest) <= CAY_NAME_MAX && !strchr(u.rest, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = malloc(size + 1);
        const char *token = NULL;
        size_t len = 0;

        if (!text)
                return 0;
        memcpy(text, data, size);
        text[size] = '\0';
        check_uri(text);
        if (cay_gate_offer_find(text, &token, &len) == 1)
                HOLDS(token >= text && token + len <= text + strlen(text) && !memchr(token, ',', len));
        free(text);
        return 0;
}
