/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for a sandbox by header fields. */
#include "daemon/gate/gate_sandbox.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/str.h"
#include "daemon/gate/gate_priv.h"
#include "domain/auth/sandbox_token.h"

bool cay_gate_is_api_port(uint16_t port)
{
        return port == CAY_GATE_ENVD_PORT || port == CAY_GATE_CODE_PORT;
}

int cay_gate_sandbox_read(const struct cay_http_request *req, struct cay_port_host *ret)
{
        const char *id = cay_http_request_header(req, CAY_GATE_SANDBOX_FIELD);
        const char *port = cay_http_request_header(req, CAY_GATE_PORT_FIELD);
        struct cay_port_host h = { .port = CAY_GATE_ENVD_PORT };

        if (!id)
                return 0;
        if (cay_http_request_header_count(req, CAY_GATE_SANDBOX_FIELD) > 1 ||
            cay_http_request_header_count(req, CAY_GATE_PORT_FIELD) > 1 ||
            !cay_str_copy(h.sandbox, sizeof(h.sandbox), id) || !cay_id_is_valid(h.sandbox))
                return -1;
        if (port)
                h.port = cay_port_read(port, strlen(port));
        if (h.port == 0)
                return -1;
        snprintf(h.label, sizeof(h.label), "%u-%s", (unsigned)h.port, h.sandbox);
        *ret = h;
        return 1;
}

bool cay_gate_sandbox_field(const char *name)
{
        return strcasecmp(name, CAY_GATE_ACCESS_FIELD) == 0 || strcasecmp(name, CAY_GATE_TRAFFIC_FIELD) == 0;
}

/* The one field of that name; NULL: none. More than one counts as one that is wrong. */
static const char *find_one(const struct cay_http_request *req, const char *name)
{
        unsigned count = cay_http_request_header_count(req, name);

        return count > 1 ? "" : count == 1 ? cay_http_request_header(req, name) : NULL;
}

/*
 * The sandbox's owner calls, and nobody else: an administrator's sandbox does not make its token one of an
 * administrator.
 */
static bool let_in(struct cay_gate *g, struct cay_visitor *v)
{
        struct cay_token token = { .caller = { .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                               .credential = CAY_CREDENTIAL_TOKEN } };

        if (!g->env.find_owner || !g->env.find_owner(g->env.ctx, v->port.sandbox, token.caller.owner))
                return false;
        cay_str_copy(token.caller.id, sizeof(token.caller.id), v->port.sandbox);
        v->caller = token.caller;
        cay_gate_fill_pass(g, &v->pass, CAY_PASS_FREE, &token);
        return true;
}

bool cay_gate_check_sandbox(struct cay_gate *g, const struct cay_http_request *req, struct cay_visitor *v)
{
        const char *access = find_one(req, CAY_GATE_ACCESS_FIELD);
        const char *traffic = find_one(req, CAY_GATE_TRAFFIC_FIELD);
        bool is_right;

        if (v->port.port == CAY_GATE_ENVD_PORT || (access && cay_gate_is_api_port(v->port.port)))
                traffic = NULL; /* that one opens servers inside, and code, but not files and commands */
        else
                access = NULL;
        if (!access && !traffic)
                return false;
        is_right = access ? cay_sandbox_token_check(g->env.secret, CAY_SANDBOX_TOKEN_ACCESS, v->port.sandbox,
                                                    access)
                          : cay_sandbox_token_check(g->env.secret, CAY_SANDBOX_TOKEN_TRAFFIC, v->port.sandbox,
                                                    traffic);
        v->is_known = is_right && let_in(g, v);
        v->was_refused = !is_right;
        return true;
}
