/* SPDX-License-Identifier: Apache-2.0 */
/* Views of sandboxes, commands and events for clients. */
#include "domain/auth/digest.h"
#include "domain/ops/view.h"

#include <inttypes.h>
#include <string.h>

#include <errno.h>
#include <stdio.h>

#include "foundation/base/base64.h"
#include "foundation/base/utf8.h"
#include "domain/model/limits.h"
#include "domain/ops/advice.h"
#include "domain/ops/results.h"

void cay_op_key_time(struct cay_json *j, const char *key, uint64_t wall_ms)
{
        cay_json_key(j, key);
        cay_json_time(j, wall_ms);
}

static void put_map(struct cay_json *j, const char *key, const struct cay_field_map *map)
{
        cay_json_key(j, key);
        cay_json_begin_object(j);
        for (unsigned i = 0; i < map->count; i++)
                cay_op_key_text(j, map->pairs[i].name, map->pairs[i].value);
        cay_json_end_object(j);
}

void cay_op_put_limits(struct cay_json *j, const struct cay_limits *l)
{
        cay_json_key(j, "limits");
        cay_json_begin_object(j);
#define CAY_LIMIT(field, word, kind, min, max, doc) cay_op_key_u64(j, #field, l->field);
#include "domain/model/limits.def"
#undef CAY_LIMIT
        cay_json_end_object(j);
}

static void put_mask(struct cay_json *j, const char *key, unsigned mask)
{
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (unsigned i = 0; i < CAY_LIMIT_NR_COUNT; i++)
                if (mask & (1u << i))
                        cay_json_text(j, cay_limit_word(i));
        cay_json_end_array(j);
}

static const char *find_label(const struct cay_field_map *map, const char *name)
{
        for (unsigned i = 0; i < map->count; i++)
                if (strcmp(map->pairs[i].name, name) == 0)
                        return map->pairs[i].value;
        return NULL;
}

static const char *mode_word(enum cay_workspace_mode mode)
{
        return mode == CAY_WORKSPACE_RO ? "ro" : mode == CAY_WORKSPACE_RW ? "rw" : "cow";
}

static void put_workspace(struct cay_json *j, const struct cay_sandbox_view *v)
{
        cay_json_key(j, "workspace");
        cay_json_begin_object(j);
        cay_op_key_text(j, "inside", v->workspace_in);
        cay_op_key_bool(j, "mapped", v->has_workspace);
        if (v->has_workspace) {
                cay_op_key_text(j, "mode", mode_word(v->workspace_mode));
                cay_op_key_text(j, "path", v->workspace_path);
        }
        cay_json_end_object(j);
}

/* Its network, published ports and volumes. */
static void put_extras(struct cay_json *j, const struct cay_sandbox_view *v)
{
        cay_op_key_text(j, "network", cay_network_word(v->network));
        cay_op_key_text(j, "init", v->options.no_init ? "none" : "cay");
        cay_json_key(j, "ports");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < v->port_count; i++) {
                cay_json_begin_object(j);
                cay_op_key_u64(j, "inside", v->ports[i].inside);
                cay_json_key(j, "host");
                if (v->ports[i].host > 0)
                        cay_json_u64(j, v->ports[i].host);
                else
                        cay_json_null(j);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_json_key(j, "volumes");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < v->volume_count; i++) {
                cay_json_begin_object(j);
                cay_op_key_text(j, "name", v->volumes[i].name);
                cay_op_key_text(j, "at", v->volumes[i].target);
                cay_op_key_bool(j, "read_only", v->volumes[i].read_only);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

/* What to do about a sandbox, and not about a command: its files tell whether it can be started again. */
static const char *sandbox_advice(const struct cay_sandbox_view *v, enum cay_op_dialect dialect)
{
        switch (v->cause) {
        case CAY_CAUSE_NONE:
                return "";
        case CAY_CAUSE_SANDBOX_GONE:
        case CAY_CAUSE_DAEMON_LOST:
                return v->kept ? "start it again: its files are kept"
                               : "its files were not kept: destroy it, and create another";
        case CAY_CAUSE_ENGINE_LOST:
                return v->kept ? "start it again when its engine answers: its files are kept"
                               : "start it again when its engine answers, or destroy it";
        default:
                return cay_op_advice(v->cause, dialect);
        }
}

/* The state, and why. */
static void put_state(struct cay_json *j, const struct cay_sandbox_view *v, enum cay_op_dialect dialect)
{
        const char *cause = v->cause == CAY_CAUSE_NONE ? NULL : cay_cause_word(v->cause);

        cay_op_key_text(j, "status", cay_state_word(v->state));
        cay_op_key_text(j, "cause", cause);
        cay_op_key_text(j, "cause_text", v->cause_text);
        cay_op_key_text(j, "advice", sandbox_advice(v, dialect));
        cay_op_key_text(j, "busy_with", v->busy_with);
        cay_op_key_bool(j, "kept", v->kept);
        cay_op_key_bool(j, "linked", v->linked);
}

void cay_op_put_sandbox(struct cay_json *j, const struct cay_sandbox_view *v, enum cay_op_dialect dialect)
{
        cay_op_key_text(j, "sandbox_id", v->id);
        cay_op_key_text(j, "name", v->name[0] ? v->name : NULL);
        cay_op_key_text(j, "project_name", find_label(&v->labels, "project_name"));
        cay_op_key_text(j, "owner", v->owner);
        cay_op_key_text(j, "template", v->template_name);
        cay_op_key_text(j, "engine", v->engine);
        put_state(j, v, dialect);
        put_map(j, "labels", &v->labels);
        put_map(j, "metadata", &v->metadata);
        cay_op_put_limits(j, v->limits);
        put_mask(j, "limits_skipped", v->skipped);
        put_mask(j, "limits_watched", v->watched);
        put_extras(j, v);
        put_workspace(j, v);
        cay_op_put_members(j, &cay_result_options, &v->options);
        cay_op_key_time(j, "created_at", v->created_wall_ms);
        cay_op_key_time(j, "started_at", v->started_wall_ms);
        cay_op_key_time(j, "changed_at", v->changed_wall_ms);
        cay_json_key(j, "expires_in_ms");
        if (v->expires)
                cay_json_u64(j, v->expires_in_ms);
        else
                cay_json_null(j);
        if (v->memory_freed_bytes > 0)
                cay_op_key_u64(j, "memory_freed_bytes", v->memory_freed_bytes);
        cay_op_key_u64(j, "idle_limit_ms", v->idle_limit_ms);
        cay_json_key(j, "idle_expires_in_ms");
        if (v->idle_counts)
                cay_json_u64(j, v->idle_limit_ms > v->idle_ms ? v->idle_limit_ms - v->idle_ms : 0);
        else
                cay_json_null(j);
        cay_op_key_u64(j, "idle_ms", v->idle_ms);
        cay_op_key_u64(j, "execs_running", v->execs_running);
        cay_op_key_u64(j, "execs_known", v->execs_known);
}

static void put_hints(struct cay_json *j, unsigned hints)
{
        cay_json_key(j, "hints");
        cay_json_begin_array(j);
        for (unsigned i = 1; i < CAY_CAUSE_COUNT; i++)
                if (hints & (1u << i))
                        cay_json_text(j, cay_cause_word(i));
        cay_json_end_array(j);
}

/* A host as rules name it: evil.example:443, [2001:db8::1]:22, and without a port where only its name was looked up. */
static void put_target(char *ret, size_t size, const struct cay_exec_blocked *b)
{
        bool is_v6 = strchr(b->host, ':') && b->port > 0;
        char port[16] = "";

        if (b->port > 0)
                snprintf(port, sizeof(port), ":%u", b->port);
        snprintf(ret, size, "%s%s%s%s", is_v6 ? "[" : "", b->host, is_v6 ? "]" : "", port);
}

static void say_blocked(struct cay_json *j, const struct cay_exec_view *v, const struct cay_exec_blocked *b,
                        enum cay_op_dialect dialect)
{
        char target[300], how[500] = "", text[1000];

        put_target(target, sizeof(target), b);
        if (b->is_failure)
                snprintf(how, sizeof(how), "it is allowed, but its name is not known or it does not answer");
        else if (dialect == CAY_OP_REST)
                snprintf(how, sizeof(how),
                         "allow it with PATCH /api/sandboxes/%s/network {\"add_allow\": [\"%s\"]}",
                         v->sandbox, target);
        else if (dialect == CAY_OP_MCP)
                snprintf(how, sizeof(how), "allow it with network_update, add_allow %s, if its template does",
                         target);
        else
                snprintf(how, sizeof(how), "its template's security.network.allow can allow it");
        snprintf(text, sizeof(text), "network: %s %s (%" PRIu64 " time%s); %s",
                 b->is_failure ? "could not reach" : "blocked", target, b->count, b->count == 1 ? "" : "s",
                 how);
        cay_json_text(j, text);
}

static void say_lacking(struct cay_json *j, const struct cay_exec_view *v, enum cay_op_dialect dialect)
{
        char text[400];

        if (dialect == CAY_OP_REST)
                snprintf(text, sizeof(text),
                         "network: this sandbox has no network; give it one with PATCH "
                         "/api/sandboxes/%s/network "
                         "{\"add_allow\": [\"preset:python\"]}",
                         v->sandbox);
        else
                snprintf(text, sizeof(text), "network: this sandbox has no network%s",
                         dialect == CAY_OP_MCP ? "" : "; its template's security.network can give it one");
        cay_json_text(j, text);
}

static void put_network(struct cay_json *j, const struct cay_exec_view *v, enum cay_op_dialect dialect)
{
        const struct cay_exec_network *n = v->network;

        cay_json_key(j, "network_blocked");
        cay_json_begin_array(j);
        for (unsigned i = 0; n && i < n->count; i++) {
                cay_json_begin_object(j);
                cay_op_key_text(j, "host", n->items[i].host);
                cay_op_key_u64(j, "port", n->items[i].port);
                cay_op_key_u64(j, "count", n->items[i].count);
                cay_op_key_bool(j, "allowed", n->items[i].is_failure);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_op_key_bool(j, "lacks_network", n && n->lacks_one);
        cay_json_key(j, "network_hints");
        cay_json_begin_array(j);
        for (unsigned i = 0; n && i < n->count; i++)
                say_blocked(j, v, &n->items[i], dialect);
        if (n && n->lacks_one)
                say_lacking(j, v, dialect);
        cay_json_end_array(j);
}

static void put_end(struct cay_json *j, const struct cay_exec_view *v, enum cay_op_dialect dialect)
{
        char name[CAY_SIGNAL_NAME_MAX];

        cay_json_key(j, "exit_code");
        if (v->state == CAY_EXEC_ENDED && v->exit_code >= 0)
                cay_json_i64(j, v->exit_code);
        else
                cay_json_null(j);
        cay_op_key_text(j, "signal", v->signal ? cay_signal_name(v->signal, name) : NULL);
        cay_op_key_text(j, "cause", v->cause == CAY_CAUSE_NONE ? NULL : cay_cause_word(v->cause));
        cay_op_key_text(j, "cause_text", v->cause_text);
        cay_op_key_text(j, "advice", v->advice[0] ? cay_op_advice(v->cause, dialect) : "");
        put_hints(j, v->hints);
        put_network(j, v, dialect);
        cay_op_key_u64(j, "duration_ms", v->wall_us / 1000);
        cay_op_key_u64(j, "wall_us", v->wall_us);
        cay_op_key_u64(j, "cpu_us", v->cpu_us);
        cay_json_key(j, "memory_peak_bytes");
        if (v->memory_peak_bytes > 0)
                cay_json_u64(j, v->memory_peak_bytes);
        else
                cay_json_null(j);
}

void cay_op_put_exec(struct cay_json *j, const struct cay_exec_view *v, enum cay_op_dialect dialect)
{
        cay_op_key_text(j, "exec_id", v->id);
        cay_op_key_text(j, "sandbox_id", v->sandbox);
        cay_op_key_text(j, "status", cay_exec_state_word(v->state));
        cay_json_key(j, "command");
        if (v->is_line && v->argv[0] && v->argv[1]) {
                cay_json_text(j, v->argv[2]);
        } else {
                cay_json_begin_array(j);
                for (const char *const *word = v->argv; *word; word++)
                        cay_json_text(j, *word);
                cay_json_end_array(j);
        }
        cay_op_key_text(j, "workdir", v->cwd);
        cay_op_key_text(j, "user", v->user);
        cay_op_key_bool(j, "tty", v->tty);
        cay_op_key_bool(j, "background", v->background);
        cay_op_key_u64(j, "pid", v->pid);
        cay_op_key_time(j, "started_at", v->started_wall_ms);
        cay_op_key_time(j, "ended_at", v->ended_wall_ms);
        put_end(j, v, dialect);
        cay_op_key_u64(j, "stdout_bytes", v->out_bytes);
        cay_op_key_u64(j, "stderr_bytes", v->err_bytes);
        cay_op_key_u64(j, "cut_bytes", v->cut_bytes);
        cay_op_key_u64(j, "output_first", v->output_first);
        cay_op_key_u64(j, "output_end", v->output_end);
        cay_op_key_bool(j, "output_gone", v->output_gone);
        cay_json_key(j, "output_lost");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < v->lost_count; i++) {
                cay_json_begin_object(j);
                cay_op_key_u64(j, "from", v->lost[i].from);
                cay_op_key_u64(j, "to", v->lost[i].to);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_json_key(j, "deadline_in_ms");
        if (v->has_deadline)
                cay_json_u64(j, v->deadline_in_ms);
        else
                cay_json_null(j);
        cay_op_key_bool(j, "open_stdin", v->has_stdin);
        cay_op_key_u64(j, "watchers", v->watchers);
        cay_op_key_u64(j, "idle_limit_ms", v->idle_limit_ms);
        cay_op_key_u64(j, "idle_ms", v->idle_ms);
}

/* JSON that the service wrote, unchanged. */
static void key_raw(struct cay_json *j, const char *key, const char *json)
{
        cay_json_key(j, key);
        if (json && json[0] == '{')
                cay_json_raw(j, json, strlen(json));
        else
                cay_json_null(j);
}

void cay_op_put_event(struct cay_json *j, const struct cay_store_event *e)
{
        cay_op_key_u64(j, "seq", e->seq);
        cay_op_key_text(j, "kind", e->kind);
        cay_op_key_text(j, "sandbox_id", e->sandbox);
        cay_op_key_text(j, "owner", e->owner);
        cay_op_key_time(j, "at", e->wall_ms);
        key_raw(j, "detail", e->detail);
        cay_op_put_hash(j, "hash", e->hash);
}

void cay_op_put_hash(struct cay_json *j, const char *key, const uint8_t hash[CAY_STORE_HASH])
{
        static const uint8_t none[CAY_STORE_HASH];
        char text[2 * CAY_STORE_HASH + 1];

        cay_digest_text(hash, text);
        cay_op_key_text(j, key, memcmp(hash, none, sizeof(none)) == 0 ? NULL : text);
}

void cay_op_put_bytes(struct cay_json *j, const char *key, const char *coded_key, const void *bytes,
                      size_t len)
{
        cay_auto_buf struct cay_buf coded = { 0 };

        if (cay_utf8_valid(bytes, len) && !memchr(bytes, '\0', len)) {
                cay_json_key(j, key);
                cay_json_string(j, bytes, len);
                return;
        }
        cay_buf_init(&coded, len / 3 * 4 + 8);
        if (cay_base64_encode(bytes, len, &coded) < 0 && j->failed == 0)
                j->failed = -ENOMEM;
        cay_op_key_text(j, coded_key, cay_buf_data(&coded));
}
