/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP client, and the cleanup at its end. */
#include "dialects/mcp/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/log.h"
#include "dialects/mcp/mcp_priv.h"

static const char *const levels[] = { "debug", "info",     "notice", "warning",
                                      "error", "critical", "alert",  "emergency" };

bool cay_mcp_level_read(const char *word, enum cay_mcp_level *ret)
{
        for (unsigned i = 0; word && i < CAY_COUNT(levels); i++) {
                if (strcmp(levels[i], word) == 0) {
                        *ret = i;
                        return true;
                }
        }
        return false;
}

const char *cay_mcp_level_word(enum cay_mcp_level level)
{
        return level < CAY_COUNT(levels) ? levels[level] : "info";
}

struct cay_viewer cay_mcp_viewer(const struct cay_caller *caller)
{
        return (struct cay_viewer){ .owner = caller->owner,
                                    .sees_all = cay_scope_has(caller->scopes, CAY_SCOPE_ADMIN) };
}

void cay_mcp_client_init(struct cay_mcp_client *p, struct cay_mcp *mcp, const struct cay_visitor *v,
                         const struct cay_mcp_place *place)
{
        *p = (struct cay_mcp_client){
                .mcp = mcp, .caller = v->caller, .level = CAY_MCP_SILENT, .cleans = true
        };
        memcpy(p->sandbox, place->sandbox, sizeof(p->sandbox));
        memcpy(p->groups, place->groups, sizeof(p->groups));
        p->is_temporary = place->is_temporary;
}

static void destroy(struct cay_mcp_client *p, const char *sandbox)
{
        cay_mcp_order(p->mcp, &p->caller, cay_op_find("sandbox_destroy"), sandbox, NULL);
}

void cay_mcp_client_keep_made(struct cay_mcp_client *p)
{
        p->cleans = false;
        while (p->made) {
                struct cay_mcp_made *made = p->made;

                p->made = made->next;
                free(made);
        }
        p->made_count = 0;
}

/* When the daemon stops, sandboxes end with it or are taken over by the next: nothing is destroyed then. */
void cay_mcp_client_end(struct cay_mcp_client *p)
{
        p->is_over = true;
        cay_timer_clear(&p->turn);
        while (p->calls)
                cay_mcp_call_cancel(p->calls);
        while (p->made) {
                struct cay_mcp_made *made = p->made;

                p->made = made->next;
                if (!p->mcp->is_stopping)
                        destroy(p, made->id);
                free(made);
        }
}

void cay_mcp_client_made(struct cay_mcp_client *p, const char *sandbox)
{
        struct cay_mcp_made *made;

        if (!p->cleans || p->made_count >= CAY_MCP_MADE_MAX)
                return; /* it ends by its own timeouts */
        made = calloc(1, sizeof(*made));
        if (!made)
                return;
        snprintf(made->id, sizeof(made->id), "%s", sandbox);
        made->next = p->made;
        p->made = made;
        p->made_count++;
        if (p->on_changed)
                p->on_changed(p);
}

void cay_mcp_client_forget(struct cay_mcp_client *p, const char *sandbox)
{
        for (struct cay_mcp_made **at = &p->made; *at; at = &(*at)->next) {
                struct cay_mcp_made *made = *at;

                if (strcmp(made->id, sandbox) == 0) {
                        *at = made->next;
                        free(made);
                        p->made_count--;
                        if (p->on_changed)
                                p->on_changed(p);
                        return;
                }
        }
}
