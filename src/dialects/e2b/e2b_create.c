/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new sandbox is asked to be. What Cay has no field for is a label of the sandbox. A field that would
 * not be obeyed is refused: a caller that asks for a rule must not believe that it holds.
 */
#include "dialects/e2b/e2b_create.h"

#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b_start.h"
#include "domain/settings/config.h"

#define TIMEOUT_S 300 /* of a request that says none */
#define EVERYTHING "0.0.0.0/0"
#define HOST_OF_PORTS "localhost:${PORT}" /* what rest_proxy.c says */

/* A field that is not there: true if the client sent it (and something in it). */
static bool has(const struct cay_json_value *object, const char *name)
{
        const struct cay_json_value *v = cay_json_value_find(object, name);
        enum cay_json_type type = cay_json_value_type(v);

        if (type == CAY_JSON_ARRAY || type == CAY_JSON_OBJECT)
                return cay_json_value_count(v) > 0;
        return v && type != CAY_JSON_NULL;
}

static bool lists(const struct cay_json_value *list, const char *text)
{
        for (size_t i = 0; i < cay_json_value_count(list); i++) {
                const char *item = cay_json_value_text(cay_json_value_at(list, i));

                if (item && strcmp(item, text) == 0)
                        return true;
        }
        return false;
}

static void put_rules(struct cay_json *j, const char *key, const struct cay_json_value *list)
{
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (size_t i = 0; i < cay_json_value_count(list); i++) {
                const struct cay_json_value *item = cay_json_value_at(list, i);
                const char *text = cay_json_value_text(item);

                if (!text || strcmp(text, EVERYTHING) != 0)
                        cay_json_value_put(j, item);
        }
        cay_json_end_array(j);
}

static int check_network(const struct cay_json_value *network, struct cay_error *err)
{
        static const char *const missing[] = { "egressProxy", "rules", "httpsPorts" };
        const char *host = e2b_text(network, "maskRequestHost");

        for (unsigned i = 0; i < CAY_COUNT(missing); i++)
                if (has(network, missing[i]))
                        return cay_fail(err, CAY_UNSUPPORTED, "network.%s: is not supported by this server",
                                        missing[i]);
        if (has(network, "maskRequestHost") && (!host || strcmp(host, HOST_OF_PORTS) != 0))
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "network.maskRequestHost: servers in sandboxes are always asked for " HOST_OF_PORTS
                        " here; other names are not supported");
        return 0;
}

int e2b_network_put(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *network,
                    bool has_internet, struct cay_error *err)
{
        const struct cay_json_value *allow = cay_json_value_find(network, "allowOut"),
                                    *deny = cay_json_value_find(network, "denyOut");
        bool denies_all = lists(deny, EVERYTHING) || !has_internet;
        bool allows_some = cay_json_value_count(allow) > 0 && !lists(allow, EVERYTHING);
        bool denies_some = cay_json_value_count(deny) > 0 && !lists(deny, EVERYTHING);

        if (check_network(network, err) < 0)
                return -1;
        if (denies_all && !allows_some) {
                cay_op_key_text(j, "network", lists(allow, EVERYTHING) && has_internet ? "bridge" : "none");
                return 0;
        }
        if (denies_all) {
                cay_op_key_text(j, "network", "list");
                put_rules(j, "allow", allow);
                return 0;
        }
        if (allows_some && denies_some)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "network.denyOut: with allowOut, only " EVERYTHING
                                " is supported here: a denied address cannot be allowed again");
        if (denies_some || strcmp(q->world->config->e2b_network, "bridge") == 0)
                cay_op_key_text(j, "network", "bridge");
        if (denies_some)
                put_rules(j, "deny", deny);
        return 0;
}

static void put_pair(struct cay_json *j, const char *name, const char *value)
{
        cay_json_key(j, name);
        cay_json_text(j, value);
}

static bool copy_member(void *ctx, const char *name, const struct cay_json_value *value)
{
        cay_json_key(ctx, name);
        cay_json_value_put(ctx, value);
        return true;
}

static void put_env(struct e2b_request *q, struct cay_json *j, const char *template_id)
{
        const struct cay_json_value *env = e2b_member(q, "envVars");
        const char *const own[][2] = { E2B_OWN_VARIABLES, { "E2B_TEMPLATE_ID", template_id } };

        cay_json_key(j, "env");
        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_COUNT(own); i++)
                if (!cay_json_value_find(env, own[i][0]))
                        put_pair(j, own[i][0], own[i][1]);
        cay_json_value_each(env, copy_member, j);
        cay_json_end_object(j);
}

static void put_labels(struct e2b_request *q, struct cay_json *j, const char *template_id, const char *name)
{
        const struct cay_json_value *body = cay_json_in_root(q->body);
        const struct cay_json_value *network = e2b_member(q, "network");

        cay_json_key(j, "labels");
        cay_json_begin_object(j);
        put_pair(j, E2B_LABEL_TEMPLATE, template_id);
        if (e2b_flag(e2b_member(q, "autoResume"), "enabled", false))
                put_pair(j, E2B_LABEL_RESUME, "true");
        if (e2b_flag(body, "autoPause", false))
                put_pair(j, E2B_LABEL_ON_TIMEOUT, "pause");
        if (!e2b_flag(network, "allowPublicTraffic", true))
                put_pair(j, E2B_LABEL_PRIVATE, "true");
        e2b_template_labels_put(j, q->world, q->caller.owner, name);
        cay_json_end_object(j);
}

static int put_volumes(struct e2b_request *q, struct cay_json *j, struct cay_error *err)
{
        const struct cay_json_value *mounts = e2b_member(q, "volumeMounts"), *m;
        char text[512];

        if (cay_json_value_count(mounts) == 0)
                return 0;
        cay_json_key(j, "volumes");
        cay_json_begin_array(j);
        for (size_t i = 0; (m = cay_json_value_at(mounts, i)); i++) {
                const char *name = e2b_text(m, "name"), *path = e2b_text(m, "path");

                if (!name || !path || snprintf(text, sizeof(text), "%s:%s", name, path) >= (int)sizeof(text))
                        return cay_fail(err, CAY_INVALID, "volumeMounts: each needs a name and a path");
                cay_json_text(j, text);
        }
        cay_json_end_array(j);
        return 0;
}

static int check_body(struct e2b_request *q, const char **ret_template, int64_t *ret_timeout,
                      struct cay_error *err)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;

        *ret_template = e2b_text(body, "templateID");
        if (!*ret_template || !(*ret_template)[0])
                return cay_fail(err, CAY_INVALID, "templateID: required");
        /* "mcp" is for the client, which starts the gateway of the template mcp-gateway itself. */
        if (has(body, "iam"))
                return cay_fail(err, CAY_UNSUPPORTED, "iam: is not supported by this server");
        *ret_timeout = TIMEOUT_S;
        if (has(body, "timeout") && (!e2b_number(body, "timeout", ret_timeout) || *ret_timeout < 0))
                return cay_fail(err, CAY_INVALID, "timeout: must be a number of seconds, at least 0");
        return 0;
}

int e2b_create_put(struct e2b_request *q, struct cay_json *j, struct cay_error *err)
{
        const struct cay_json_value *body = q->body ? cay_json_in_root(q->body) : NULL;
        const struct cay_json_value *metadata = e2b_member(q, "metadata");
        char name[CAY_NAME_MAX + 1];
        const char *template_id;
        int64_t timeout;

        if (check_body(q, &template_id, &timeout, err) < 0)
                return -1;
        e2b_template_of(q->world, template_id, name);
        if (!name[0])
                return cay_fail(err, CAY_NOT_FOUND, "templateID: there is no template '%.80s'", template_id);
        cay_op_key_text(j, "template", name);
        cay_op_key_u64(j, "timeout", timeout > 0 ? (uint64_t)timeout : 1);
        cay_op_key_u64(j, "idle_timeout", 0);
        if (metadata) {
                cay_json_key(j, "metadata");
                cay_json_value_put(j, metadata);
        }
        put_env(q, j, template_id);
        put_labels(q, j, template_id, name);
        if (e2b_flag(body, "autoPause", false))
                cay_op_key_text(j, "on_timeout", e2b_flag(body, "autoPauseMemory", true) ? "pause" : "stop");
        if (put_volumes(q, j, err) < 0)
                return -1;
        return e2b_network_put(q, j, e2b_member(q, "network"), e2b_flag(body, "allow_internet_access", true),
                               err);
}
