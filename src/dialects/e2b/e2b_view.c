/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox in E2B's words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dialects/e2b/e2b_priv.h"
#include "domain/auth/sandbox_token.h"
#include "domain/model/port_clock.h"
#include "domain/ops/view.h"

#define MIB (1024 * 1024)
#define NEVER_MS 253402300799000ull /* the end of the year 9999: it lives until it is killed */

static const struct cay_json_value *labels_of(const struct cay_json_value *sandbox)
{
        return cay_json_value_find(sandbox, "labels");
}

static const char *template_of(const struct cay_json_value *sandbox)
{
        const char *asked = e2b_text(labels_of(sandbox), E2B_LABEL_TEMPLATE);

        return asked ? asked : e2b_text(sandbox, "template");
}

const char *e2b_state(const struct cay_json_value *sandbox)
{
        static const struct {
                const char *ours, *theirs;
        } rows[] = { { "creating", "running" },
                     { "ready", "running" },
                     { "busy", "running" },
                     { "paused", "paused" },
                     { "stopped", "paused" } };
        const char *status = e2b_text(sandbox, "status"), *busy = e2b_text(sandbox, "busy_with");

        if (busy && strcmp(busy, "destroy") == 0)
                return NULL;
        for (unsigned i = 0; status && i < CAY_COUNT(rows); i++)
                if (strcmp(rows[i].ours, status) == 0)
                        return rows[i].theirs;
        return NULL;
}

/* Who has one may write files and run commands: callers that may only read are not given it. */
static void put_token(struct e2b_request *q, struct cay_json *j, const char *key, int use, const char *id)
{
        char token[CAY_SANDBOX_TOKEN_LEN + 1];

        if (!cay_scope_has(q->caller.scopes, CAY_SCOPE_EXEC))
                return;
        q->world->sandbox_token(q->world, use, id, token);
        cay_op_key_text(j, key, token);
        explicit_bzero(token, sizeof(token));
}

static void put_ids(struct cay_json *j, const struct cay_json_value *sandbox)
{
        cay_op_key_text(j, "sandboxID", e2b_text(sandbox, "sandbox_id"));
        cay_op_key_text(j, "templateID", template_of(sandbox));
        cay_op_key_text(j, "alias", template_of(sandbox));
        cay_op_key_text(j, "clientID", "cay");
        cay_op_key_text(j, "envdVersion", E2B_ENVD_VERSION);
}

void e2b_put_made(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox)
{
        const char *id = e2b_text(sandbox, "sandbox_id");

        put_ids(j, sandbox);
        put_token(q, j, "envdAccessToken", CAY_SANDBOX_TOKEN_ACCESS, id);
        put_token(q, j, "trafficAccessToken", CAY_SANDBOX_TOKEN_TRAFFIC, id);
        cay_op_key_text(j, "domain", NULL);
}

/* Whole seconds: what is computed of two clocks must not differ from one answer to the next. */
static void put_end(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox)
{
        struct cay_clock_reading now;
        int64_t left;

        q->world->clock->read(q->world->clock, &now);
        if (!e2b_number(sandbox, "expires_in_ms", &left)) {
                cay_op_key_time(j, "endAt", NEVER_MS);
                return;
        }
        cay_op_key_time(j, "endAt", (now.wall_ms + (uint64_t)left + 500) / 1000 * 1000);
}

static void put_figures(struct cay_json *j, const struct cay_json_value *sandbox)
{
        const struct cay_json_value *limits = cay_json_value_find(sandbox, "limits");
        int64_t cpu = 0, memory = 0, disk = 0;

        e2b_number(limits, "cpu_milli", &cpu);
        e2b_number(limits, "memory_bytes", &memory);
        e2b_number(limits, "disk_bytes", &disk);
        cay_op_key_u64(j, "cpuCount", cpu > 1000 ? (uint64_t)(cpu + 999) / 1000 : 1);
        cay_op_key_u64(j, "memoryMB", (uint64_t)memory / MIB);
        cay_op_key_u64(j, "diskSizeMB", (uint64_t)disk / MIB);
}

static void put_copy(struct cay_json *j, const char *key, const struct cay_json_value *value)
{
        cay_json_key(j, key);
        cay_json_value_put(j, value);
}

static void put_volumes(struct cay_json *j, const struct cay_json_value *sandbox)
{
        const struct cay_json_value *volumes = cay_json_value_find(sandbox, "volumes"), *v;

        cay_json_key(j, "volumeMounts");
        cay_json_begin_array(j);
        for (size_t i = 0; (v = cay_json_value_at(volumes, i)); i++) {
                cay_json_begin_object(j);
                cay_op_key_text(j, "name", e2b_text(v, "name"));
                cay_op_key_text(j, "path", e2b_text(v, "at"));
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

void e2b_put_listed(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox)
{
        put_ids(j, sandbox);
        put_copy(j, "startedAt", cay_json_value_find(sandbox, "created_at"));
        put_end(q, j, sandbox);
        cay_op_key_text(j, "state", e2b_state(sandbox));
        put_figures(j, sandbox);
        put_copy(j, "metadata", cay_json_value_find(sandbox, "metadata"));
        put_volumes(j, sandbox);
}

void e2b_put_detail(struct e2b_request *q, struct cay_json *j, const struct cay_json_value *sandbox)
{
        const struct cay_json_value *labels = labels_of(sandbox);
        const char *network = e2b_text(sandbox, "network"),
                   *on_timeout = e2b_text(labels, E2B_LABEL_ON_TIMEOUT);

        e2b_put_listed(q, j, sandbox);
        put_token(q, j, "envdAccessToken", CAY_SANDBOX_TOKEN_ACCESS, e2b_text(sandbox, "sandbox_id"));
        cay_op_key_text(j, "domain", NULL);
        cay_op_key_bool(j, "allowInternetAccess", network && strcmp(network, "none") != 0);
        cay_json_key(j, "network");
        cay_json_begin_object(j);
        cay_op_key_bool(j, "allowPublicTraffic", !e2b_text(labels, E2B_LABEL_PRIVATE));
        cay_json_end_object(j);
        cay_json_key(j, "lifecycle");
        cay_json_begin_object(j);
        cay_op_key_bool(j, "autoResume", e2b_text(labels, E2B_LABEL_RESUME) != NULL);
        cay_op_key_text(j, "onTimeout", on_timeout ? on_timeout : "kill");
        cay_json_end_object(j);
}
