/* SPDX-License-Identifier: Apache-2.0 */
/* Views of sandboxes, commands and events for clients. */
#include "domain/ops/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "domain/model/limits.h"
#include "domain/ops/advice.h"
#include "domain/ops/result_rows.h"
#include "foundation/base/base64.h"
#include "foundation/base/utf8.h"

/* Sandboxes */

#define SANDBOX struct cay_sandbox_view

WORD_FUNCTION(limit_word, cay_limit_word)
WORD_FUNCTION(state_word, cay_state_word)
WORD_FUNCTION(cause_word, cay_cause_word)
WORD_FUNCTION(network_word, cay_network_word)
WORD_FUNCTION(exec_state_word, cay_exec_state_word)

static const char *mode_word(unsigned mode)
{
        return mode == CAY_WORKSPACE_RO ? "ro" : mode == CAY_WORKSPACE_RW ? "rw" : "cow";
}

static void put_project(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const SANDBOX *v = object;
        const char *project = NULL;

        for (unsigned i = 0; i < v->labels.count && !project; i++)
                if (strcmp(v->labels.pairs[i].name, "project_name") == 0)
                        project = v->labels.pairs[i].value;
        cay_json_text(j, project);
}

/* What to do about a sandbox, and not about a command: its files tell whether it can be started again. */
static const char *sandbox_advice(const SANDBOX *v, enum cay_op_dialect dialect)
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

static void put_sandbox_advice(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_json_text(j, sandbox_advice(object, dialect));
}

static void put_init(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const SANDBOX *v = object;

        cay_json_text(j, v->options.no_init ? "none" : "cay");
}

static void put_idle_expiry(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const SANDBOX *v = object;

        if (v->idle_counts)
                cay_json_u64(j, v->idle_limit_ms > v->idle_ms ? v->idle_limit_ms - v->idle_ms : 0);
        else
                cay_json_null(j);
}

#define CAY_LIMIT(field, word, kind, min, max, doc) MEMBER(NUMBER, struct cay_limits, field),
static const struct cay_result_field limit_fields[] = {
#include "domain/model/limits.def"
        { NULL },
};
#undef CAY_LIMIT
const struct cay_result_table cay_result_limits = { "Limits", limit_fields };

/* Single values of sandboxes, and those of them that templates have too. */
static const struct cay_result_field option_fields[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_SHOWN_##uses(OPTION_##kind(kind, struct cay_sandbox_options, name), )
#define OPTION_BOOL MEMBER
#define OPTION_NUMBER MEMBER
#define OPTION_TEXT(kind, type, member) MAYBE_AS(#member, kind, type, member)
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { NULL },
};
static const struct cay_result_field asked_fields[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses(OPTION_##kind(kind, struct cay_sandbox_options, name), )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        { NULL },
};
static const struct cay_result_table result_options = { NULL, option_fields };
const struct cay_result_table cay_result_asked_options = { NULL, asked_fields };

RESULT(result_workspace, "Workspace", AS("inside", TEXT, SANDBOX, workspace_in),
       AS("mapped", BOOL, SANDBOX, has_workspace),
       IF_WORD("mode", SANDBOX, workspace_mode, mode_word, has_workspace),
       IF_GIVEN("path", TEXT, SANDBOX, workspace_path, has_workspace));
RESULT(result_port, "PublishedPort", MEMBER(NUMBER, struct cay_spec_port, inside),
       MAYBE_AS("host", NUMBER, struct cay_spec_port, host));
RESULT(result_volume, "Volume", MEMBER(TEXT, struct cay_spec_volume, name),
       AS("at", TEXT, struct cay_spec_volume, target), MEMBER(BOOL, struct cay_spec_volume, read_only));
SHARED_RESULT(cay_result_sandbox, "Sandbox", AS("sandbox_id", TEXT, SANDBOX, id),
              MAYBE_AS("name", TEXT, SANDBOX, name),
              COMPUTED("project_name", TEXT, CAY_RESULT_NULLABLE, put_project), MEMBER(TEXT, SANDBOX, owner),
              AS("template", TEXT, SANDBOX, template_name), MEMBER(TEXT, SANDBOX, engine),
              WORD("status", SANDBOX, state, state_word), MAYBE_WORD("cause", SANDBOX, cause, cause_word),
              MEMBER(TEXT, SANDBOX, cause_text), COMPUTED("advice", TEXT, 0, put_sandbox_advice),
              MEMBER(TEXT, SANDBOX, busy_with), MEMBER(BOOL, SANDBOX, kept), MEMBER(BOOL, SANDBOX, linked),
              MEMBER(PAIRS, SANDBOX, labels), MEMBER(PAIRS, SANDBOX, metadata),
              OBJECT_AT("limits", cay_result_limits, SANDBOX, limits),
              MASK("limits_skipped", SANDBOX, skipped, limit_word),
              MASK("limits_watched", SANDBOX, watched, limit_word),
              WORD("network", SANDBOX, network, network_word), COMPUTED("init", TEXT, 0, put_init),
              LIST_AS("ports", result_port, SANDBOX, ports, port_count),
              LIST_AS("volumes", result_volume, SANDBOX, volumes, volume_count),
              OBJECT_HERE("workspace", result_workspace), ALSO_AS(result_options, SANDBOX, options),
              AS("created_at", TIME, SANDBOX, created_wall_ms),
              AS("started_at", TIME, SANDBOX, started_wall_ms),
              AS("changed_at", TIME, SANDBOX, changed_wall_ms),
              MAYBE_GIVEN("expires_in_ms", NUMBER, SANDBOX, expires_in_ms, expires),
              MEMBER(NUMBER, SANDBOX, idle_limit_ms),
              COMPUTED("idle_expires_in_ms", NUMBER, CAY_RESULT_NULLABLE, put_idle_expiry),
              MEMBER(NUMBER, SANDBOX, idle_ms), MEMBER(NUMBER, SANDBOX, execs_running),
              MEMBER(NUMBER, SANDBOX, execs_known),
              IF_AS("memory_freed_bytes", NUMBER, SANDBOX, memory_freed_bytes));

/* Commands */

#define EXEC struct cay_exec_view

/*
 * A host as rules name it: evil.example:443, [2001:db8::1]:22, and without a port where only its name was
 * looked up.
 */
static void put_target(char *ret, size_t size, const struct cay_exec_blocked *b)
{
        bool is_v6 = strchr(b->host, ':') && b->port > 0;
        char port[16] = "";

        if (b->port > 0)
                snprintf(port, sizeof(port), ":%u", b->port);
        snprintf(ret, size, "%s%s%s%s", is_v6 ? "[" : "", b->host, is_v6 ? "]" : "", port);
}

static void say_blocked(struct cay_json *j, const EXEC *v, const struct cay_exec_blocked *b,
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

static void say_lacking(struct cay_json *j, const EXEC *v, enum cay_op_dialect dialect)
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

RESULT(result_blocked, "NetworkBlocked", MEMBER(TEXT, struct cay_exec_blocked, host),
       MEMBER(NUMBER, struct cay_exec_blocked, port), MEMBER(NUMBER, struct cay_exec_blocked, count),
       AS("allowed", BOOL, struct cay_exec_blocked, is_failure));

static void put_blocked(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const struct cay_exec_network *n = ((const EXEC *)object)->network;

        cay_json_begin_array(j);
        for (unsigned i = 0; n && i < n->count; i++)
                cay_op_put_object(j, &result_blocked, &n->items[i]);
        cay_json_end_array(j);
}

static void put_lacks_network(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const struct cay_exec_network *n = ((const EXEC *)object)->network;

        cay_json_bool(j, n && n->lacks_one);
}

static void put_network_hints(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const EXEC *v = object;
        const struct cay_exec_network *n = v->network;

        cay_json_begin_array(j);
        for (unsigned i = 0; n && i < n->count; i++)
                say_blocked(j, v, &n->items[i], dialect);
        if (n && n->lacks_one)
                say_lacking(j, v, dialect);
        cay_json_end_array(j);
}

/* A line for the shell as a text, a program with its arguments as a list. */
static void put_command(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const EXEC *v = object;

        if (v->is_line && v->argv[0] && v->argv[1]) {
                cay_json_text(j, v->argv[2]);
                return;
        }
        cay_json_begin_array(j);
        for (const char *const *word = v->argv; *word; word++)
                cay_json_text(j, *word);
        cay_json_end_array(j);
}

static void put_exit_code(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const EXEC *v = object;

        if (v->state == CAY_EXEC_ENDED && v->exit_code >= 0)
                cay_json_i64(j, v->exit_code);
        else
                cay_json_null(j);
}

static void put_signal(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const EXEC *v = object;
        char name[CAY_SIGNAL_NAME_MAX];

        cay_json_text(j, v->signal ? cay_signal_name(v->signal, name) : NULL);
}

static void put_exec_advice(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const EXEC *v = object;

        cay_json_text(j, v->advice[0] ? cay_op_advice(v->cause, dialect) : "");
}

static void put_duration(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_json_u64(j, ((const EXEC *)object)->wall_us / 1000);
}

RESULT(result_exec_lost, "OutputLost", MEMBER(NUMBER, struct cay_exec_lost, from),
       MEMBER(NUMBER, struct cay_exec_lost, to));
SHARED_RESULT(cay_result_exec, "Exec", AS("exec_id", TEXT, EXEC, id), AS("sandbox_id", TEXT, EXEC, sandbox),
              WORD("status", EXEC, state, exec_state_word), COMPUTED("command", WORDS, 0, put_command),
              AS("workdir", TEXT, EXEC, cwd), MEMBER(TEXT, EXEC, user), MEMBER(BOOL, EXEC, tty),
              MEMBER(BOOL, EXEC, background), MEMBER(NUMBER, EXEC, pid),
              AS("started_at", TIME, EXEC, started_wall_ms), AS("ended_at", TIME, EXEC, ended_wall_ms),
              COMPUTED("exit_code", NUMBER, CAY_RESULT_NULLABLE, put_exit_code),
              COMPUTED("signal", TEXT, CAY_RESULT_NULLABLE, put_signal),
              MAYBE_WORD("cause", EXEC, cause, cause_word), MEMBER(TEXT, EXEC, cause_text),
              COMPUTED("advice", TEXT, 0, put_exec_advice), MASK("hints", EXEC, hints, cause_word),
              COMPUTED_OF("network_blocked", LIST, result_blocked, put_blocked),
              COMPUTED("lacks_network", BOOL, 0, put_lacks_network),
              COMPUTED("network_hints", TEXTS, 0, put_network_hints),
              COMPUTED("duration_ms", NUMBER, 0, put_duration), MEMBER(NUMBER, EXEC, wall_us),
              MEMBER(NUMBER, EXEC, cpu_us), MAYBE_AS("memory_peak_bytes", NUMBER, EXEC, memory_peak_bytes),
              AS("stdout_bytes", NUMBER, EXEC, out_bytes), AS("stderr_bytes", NUMBER, EXEC, err_bytes),
              MEMBER(NUMBER, EXEC, cut_bytes), MEMBER(NUMBER, EXEC, output_first),
              MEMBER(NUMBER, EXEC, output_end), MEMBER(BOOL, EXEC, output_gone),
              LIST_AS("output_lost", result_exec_lost, EXEC, lost, lost_count),
              MAYBE_GIVEN("deadline_in_ms", NUMBER, EXEC, deadline_in_ms, has_deadline),
              AS("open_stdin", BOOL, EXEC, has_stdin), MEMBER(NUMBER, EXEC, watchers),
              MEMBER(NUMBER, EXEC, idle_limit_ms), MEMBER(NUMBER, EXEC, idle_ms));

/* Events */

#define EVENT struct cay_store_event

static void put_digest(struct cay_json *j, const uint8_t hash[CAY_STORE_HASH])
{
        static const uint8_t none[CAY_STORE_HASH];
        char text[2 * CAY_STORE_HASH + 1];

        cay_digest_text(hash, text);
        cay_json_text(j, memcmp(hash, none, sizeof(none)) == 0 ? NULL : text);
}

static void put_hash(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        put_digest(j, ((const EVENT *)object)->hash);
}

SHARED_RESULT(cay_result_event, "Event", MEMBER(NUMBER, EVENT, seq), MEMBER(TEXT, EVENT, kind),
              AS("sandbox_id", TEXT, EVENT, sandbox), MEMBER(TEXT, EVENT, owner),
              AS("at", TIME, EVENT, wall_ms), MEMBER(ANY, EVENT, detail),
              COMPUTED("hash", TEXT, CAY_RESULT_NULLABLE, put_hash));

/* Values */

void cay_op_key_time(struct cay_json *j, const char *key, uint64_t wall_ms)
{
        cay_json_key(j, key);
        cay_json_time(j, wall_ms);
}

void cay_op_put_hash(struct cay_json *j, const char *key, const uint8_t hash[CAY_STORE_HASH])
{
        cay_json_key(j, key);
        put_digest(j, hash);
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
