/* SPDX-License-Identifier: Apache-2.0 */
/* Who is charged for a connection's memory (server.h, "Memory"). */
#include <errno.h>

#include "foundation/http/http1.h"

enum { SMALL = 16 * 1024 /* guaranteed bytes of each of a connection's budgets */ };

void cay_http_conn_own(struct cay_http_conn *c, const char *name)
{
        struct cay_budgets *budgets = cay_http_server_config(c->server)->budgets;
        struct cay_budget_owner *before = c->owner,
                                *owner = budgets ? cay_budget_owner_get(budgets, name) : NULL;

        if (!owner)
                return; /* no memory: it is still charged to the previous owner */
        c->owner = owner;
        cay_budget_move(&c->in, &owner->budget);
        cay_budget_move(&c->out, &owner->budget);
        cay_budget_move(&c->held, &owner->budget);
        cay_budget_move(&c->queue, &owner->budget);
        cay_budget_owner_put(before);
}

int cay_http_conn_charge(struct cay_http_conn *c)
{
        if (!cay_http_server_config(c->server)->budgets)
                return 0;
        c->owner = cay_budget_owner_get(cay_http_server_config(c->server)->budgets, "");
        if (!c->owner)
                return -ENOMEM;
        c->in = c->out = c->held = c->queue =
                (struct cay_budget){ .parent = &c->owner->budget, .small = SMALL };
        cay_conn_charge(&c->conn, &c->in, &c->out);
        c->duplex.budget = &c->held;
        c->duplex.out_budget = &c->queue;
        return 0;
}
