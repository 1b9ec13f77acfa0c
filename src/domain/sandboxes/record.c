/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts objects to records of the store and back. Texts with several values are JSON, written here and
 * read back through the environment's read_json by the tables below. A table refuses members that it lacks,
 * so both must match.
 */
#include <errno.h>

#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define SMALL_JSON (16u * 1024)

static const char *const mode_words[] = {
        [CAY_WORKSPACE_RO] = "ro",
        [CAY_WORKSPACE_RW] = "rw",
        [CAY_WORKSPACE_COW] = "cow",
};

int cay_record_copy_map(struct cay_arena *mem, const struct cay_field_map *from, struct cay_field_map *ret)
{
        struct cay_field_map map = { .count = from->count };

        if (from->count == 0) {
                *ret = map;
                return 0;
        }
        map.pairs = cay_arena_array(mem, from->count, sizeof(*map.pairs));
        if (map.pairs == NULL)
                return -ENOMEM;
        for (unsigned i = 0; i < from->count; i++) {
                map.pairs[i].name = cay_arena_copy(mem, from->pairs[i].name, strlen(from->pairs[i].name));
                map.pairs[i].value = cay_arena_copy(mem, from->pairs[i].value, strlen(from->pairs[i].value));
                if (map.pairs[i].name == NULL || map.pairs[i].value == NULL)
                        return -ENOMEM;
        }
        *ret = map;
        return 0;
}

static void print_map(struct cay_json *j, const struct cay_field_map *map)
{
        cay_json_begin_object(j);
        for (unsigned i = 0; i < map->count; i++) {
                cay_json_key(j, map->pairs[i].name);
                cay_json_text(j, map->pairs[i].value);
        }
        cay_json_end_object(j);
}

static int map_text(struct cay_sandbox *sb, const char *what, const struct cay_field_map *map,
                    const char **ret, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json j;

        cay_buf_init(&text, CAY_SERVICE_TEXT_MAX);
        cay_json_init(&j, &text);
        print_map(&j, map);
        if (cay_json_end(&j) < 0)
                return cay_fail(err, CAY_INVALID, "%s: too long: at most %u bytes together", what,
                                CAY_SERVICE_TEXT_MAX);
        *ret = cay_arena_copy(&sb->mem, cay_buf_data(&text), text.len);
        return *ret != NULL ? 0 : cay_fail(err, CAY_INTERNAL, "%s: no memory", what);
}

int cay_record_make_texts(struct cay_sandbox *sb, struct cay_error *err)
{
        if (map_text(sb, "labels", &sb->labels, &sb->labels_json, err) < 0 ||
            map_text(sb, "metadata", &sb->metadata, &sb->metadata_json, err) < 0)
                return -1;
        return map_text(sb, "env", &sb->env, &sb->env_json, err);
}

static void put_text(struct cay_json *j, const char *key, const char *value)
{
        cay_json_key(j, key);
        cay_json_text(j, value != NULL ? value : "");
}

static void put_u64(struct cay_json *j, const char *key, uint64_t value)
{
        cay_json_key(j, key);
        cay_json_u64(j, value);
}

static void put_bool(struct cay_json *j, const char *key, bool value)
{
        cay_json_key(j, key);
        cay_json_bool(j, value);
}

/* Further properties of a sandbox and of its box. */
struct sandbox_spec {
        uint64_t may_skip, skipped, watched, paused_ms;
        struct cay_sandbox_options options;
        bool has_workspace, kept, has_box, stopping;
        const char *workspace_mode, *workspace_path, *box_workspace, *network, *policy, *secrets;
        struct cay_field_texts ports, volumes;
};

#define ROW(type, name_, kind_)                                                                              \
        {                                                                                                    \
                .name = #name_, .kind = CAY_FIELD_##kind_, .offset = offsetof(type, name_)                   \
        }
#define LONG(type, name_)                                                                                    \
        {                                                                                                    \
                .name = #name_, .kind = CAY_FIELD_TEXT, .offset = offsetof(type, name_), .max = 16384        \
        }

static const struct cay_field sandbox_spec_fields[] = {
        ROW(struct sandbox_spec, may_skip, U64),
        ROW(struct sandbox_spec, skipped, U64),
        ROW(struct sandbox_spec, watched, U64),
        ROW(struct sandbox_spec, has_workspace, BOOL),
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_ROW(kind, name, offsetof(struct sandbox_spec, options.name), NULL),
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        ROW(struct sandbox_spec, kept, BOOL),
        ROW(struct sandbox_spec, stopping, BOOL),
        ROW(struct sandbox_spec, has_box, BOOL),
        ROW(struct sandbox_spec, workspace_mode, TEXT),
        LONG(struct sandbox_spec, workspace_path),
        LONG(struct sandbox_spec, box_workspace),
        ROW(struct sandbox_spec, paused_ms, U64),
        ROW(struct sandbox_spec, network, TEXT),
        { .name = "policy",
          .kind = CAY_FIELD_TEXT,
          .offset = offsetof(struct sandbox_spec, policy),
          .max = CAY_SERVICE_TEXT_MAX },
        LONG(struct sandbox_spec, secrets),
        ROW(struct sandbox_spec, ports, TEXTS),
        ROW(struct sandbox_spec, volumes, TEXTS),
        { 0 },
};

struct sandbox_texts {
        struct cay_field_map labels, metadata, env;
        struct sandbox_spec spec;
};

#define MAP(name_)                                                                                           \
        {                                                                                                    \
                .name = #name_, .kind = CAY_FIELD_MAP, .offset = offsetof(struct sandbox_texts, name_),      \
                .max = CAY_SERVICE_PAIRS_MAX, .item_max = CAY_SERVICE_TEXT_MAX                               \
        }

static const struct cay_field sandbox_fields[] = {
        MAP(labels),
        MAP(metadata),
        MAP(env),
        { .name = "spec",
          .kind = CAY_FIELD_OBJECT,
          .offset = offsetof(struct sandbox_texts, spec),
          .fields = sandbox_spec_fields },
        { 0 },
};

/* Ports and volumes, as domain/model/spec.h reads them. */
static void print_extras(struct cay_json *j, const struct cay_sandbox *sb)
{
        char text[CAY_NAME_MAX + CAY_SPEC_TARGET_MAX + 8];

        put_text(j, "network", cay_network_word(sb->network));
        if (sb->policy != NULL)
                put_text(j, "policy", sb->policy);
        if (sb->secrets != NULL)
                put_text(j, "secrets", sb->secrets);
        cay_json_key(j, "ports");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < sb->port_count; i++) {
                const struct cay_spec_port *p = &sb->ports[i];

                if (p->host > 0)
                        snprintf(text, sizeof(text), "%u:%u", p->host, p->inside);
                else
                        snprintf(text, sizeof(text), "%u", p->inside);
                cay_json_text(j, text);
        }
        cay_json_end_array(j);
        cay_json_key(j, "volumes");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < sb->volume_count; i++) {
                const struct cay_spec_volume *v = &sb->volumes[i];

                snprintf(text, sizeof(text), "%s:%s%s", v->name, v->target, v->read_only ? ":ro" : "");
                cay_json_text(j, text);
        }
        cay_json_end_array(j);
}

#define PRINT_BOOL put_bool
#define PRINT_NUMBER put_u64
#define PRINT_TEXT put_text

void cay_record_print_options(struct cay_json *j, const struct cay_sandbox_options *o)
{
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        if (o->name)                                                                                         \
                PRINT_##kind(j, #name, o->name);
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
}

static void print_sandbox_spec(struct cay_json *j, const struct cay_sandbox *sb, bool has_box)
{
        cay_json_begin_object(j);
        put_u64(j, "may_skip", sb->may_skip);
        put_u64(j, "skipped", sb->skipped);
        put_u64(j, "watched", sb->watched);
        put_u64(j, "paused_ms", sb->paused_ms);
        put_bool(j, "has_workspace", sb->has_workspace);
        cay_record_print_options(j, &sb->options);
        put_bool(j, "kept", sb->kept);
        put_bool(j, "stopping", sb->stopping);
        put_bool(j, "has_box", has_box);
        put_text(j, "workspace_mode", mode_words[sb->workspace_mode]);
        put_text(j, "workspace_path", sb->workspace_path);
        put_text(j, "box_workspace", sb->box_workspace);
        if (sb->network != CAY_NETWORK_NONE || sb->port_count > 0 || sb->volume_count > 0)
                print_extras(j, sb);
        cay_json_end_object(j);
}

void cay_record_put_sandbox(struct cay_sandbox *sb, struct cay_store_batch *b, enum cay_state state)
{
        bool rests = state == CAY_STATE_ERROR || state == CAY_STATE_STOPPED;

        if (cay_sandbox_is_away(sb)) { /* ERROR is only shown: when its engine returns, it is as before */
                cay_record_put_sandbox_as(sb, b, sb->before, sb->before_cause, sb->before_text);
                return;
        }
        cay_record_put_sandbox_as(sb, b, state, rests ? sb->cause : CAY_CAUSE_NONE,
                                  rests ? sb->cause_text : "");
}

void cay_record_put_sandbox_as(struct cay_sandbox *sb, struct cay_store_batch *b, enum cay_state state,
                               enum cay_cause cause, const char *text)
{
        cay_auto_buf struct cay_buf spec = { 0 };
        struct cay_json j;
        struct cay_store_sandbox r = {
                .id = sb->id,
                .name = sb->name,
                .owner = sb->owner,
                .template_name = sb->template_name,
                .engine = sb->engine->name,
                .labels = sb->labels_json,
                .metadata = sb->metadata_json,
                .env = sb->env_json,
                .state = cay_state_word(state),
                .cause = cause != CAY_CAUSE_NONE ? cay_cause_word(cause) : "",
                .cause_text = text,
                .limits = sb->limits,
                .created_wall_ms = sb->created_wall_ms,
                .started_wall_ms = sb->started_wall_ms,
                .changed_wall_ms =
                        state != cay_sandbox_state(sb) ? cay_service_wall(sb->service) : sb->changed_wall_ms,
                .expires_ms = sb->expires_ms,
                .idle_ms = sb->idle_ms,
                .used_ms = sb->used_ms,
        };

        cay_buf_init(&spec, 3 * SMALL_JSON);
        cay_json_init(&j, &spec);
        print_sandbox_spec(&j, sb, state != CAY_STATE_STOPPED && sb->has_box);
        cay_json_end(&j);
        r.spec = cay_buf_data(&spec);
        memcpy(r.secret, sb->secret, sizeof(r.secret));
        cay_store_put_sandbox(sb->service->store, b, &r);
        explicit_bzero(r.secret, sizeof(r.secret));
        sb->used_stored_ms = sb->used_ms;
        sb->put_state = state;
}

static enum cay_cause find_cause(const char *word)
{
        for (unsigned i = CAY_CAUSE_NONE + 1; i < CAY_CAUSE_COUNT; i++)
                if (strcmp(cay_cause_word((enum cay_cause)i), word) == 0)
                        return (enum cay_cause)i;
        return CAY_CAUSE_NONE;
}

static const char *text_or(const char *text, const char *other)
{
        return text != NULL && text[0] != '\0' ? text : other;
}

static int fill_sandbox(struct cay_sandbox *sb, const struct cay_store_sandbox *r,
                        const struct sandbox_texts *t)
{
        const struct sandbox_spec *spec = &t->spec;
        int state = cay_state_find(r->state), network;
        struct cay_error ignored = { 0 };

        sb->engine = cay_engine_of_record(sb->service, text_or(r->engine, ""));
        if (sb->engine == NULL)
                return -ENOSPC;
        if (state < 0 || !cay_id_is_valid(r->id) || !cay_str_copy(sb->id, sizeof(sb->id), r->id) ||
            !cay_str_copy(sb->name, sizeof(sb->name), text_or(r->name, "")) ||
            !cay_str_copy(sb->owner, sizeof(sb->owner), text_or(r->owner, "")))
                return -EBADMSG;
        sb->template_name = cay_arena_copy(&sb->mem, r->template_name, strlen(r->template_name));
        sb->workspace_path = cay_arena_copy(&sb->mem, text_or(spec->workspace_path, ""),
                                            strlen(text_or(spec->workspace_path, "")));
        if (sb->template_name == NULL || sb->workspace_path == NULL ||
            cay_record_copy_map(&sb->mem, &t->labels, &sb->labels) < 0 ||
            cay_record_copy_map(&sb->mem, &t->metadata, &sb->metadata) < 0 ||
            cay_record_copy_map(&sb->mem, &t->env, &sb->env) < 0 ||
            cay_sandbox_options_copy(&sb->mem, &spec->options, &sb->options) < 0)
                return -ENOMEM;
        for (unsigned i = 0; i < CAY_COUNT(mode_words); i++)
                if (strcmp(mode_words[i], text_or(spec->workspace_mode, "")) == 0)
                        sb->workspace_mode = (enum cay_workspace_mode)i;
        network = cay_network_find(text_or(spec->network, "none"));
        if (network < 0 ||
            cay_sandbox_read_extras(sb, (enum cay_network)network, &spec->ports, &spec->volumes, &ignored) <
                    0 ||
            (text_or(spec->policy, NULL) != NULL && cay_sandbox_read_policy(sb, spec->policy, &ignored) < 0))
                return -EBADMSG;
        if (text_or(spec->secrets, NULL) != NULL)
                sb->secrets = strdup(spec->secrets);
        sb->limits = r->limits;
        sb->may_skip = (unsigned)spec->may_skip;
        sb->skipped = (unsigned)spec->skipped;
        sb->watched = (unsigned)spec->watched;
        sb->paused_ms = spec->paused_ms;
        sb->has_workspace = spec->has_workspace;
        sb->kept = spec->kept;
        sb->stopping = spec->stopping && state == CAY_STATE_STOPPED;
        sb->has_box =
                spec->has_box && state != CAY_STATE_STOPPED && state != CAY_STATE_CREATING; /* never stored */
        if (text_or(spec->box_workspace, NULL) != NULL)
                sb->box_workspace = strdup(spec->box_workspace);
        cay_sandbox_move(sb, cay_sandbox_found((enum cay_state)state));
        sb->cause = find_cause(text_or(r->cause, ""));
        cay_str_copy(sb->cause_text, sizeof(sb->cause_text), text_or(r->cause_text, ""));
        sb->created_wall_ms = r->created_wall_ms;
        sb->started_wall_ms = r->started_wall_ms;
        sb->changed_wall_ms = r->changed_wall_ms;
        sb->expires_ms = r->expires_ms;
        sb->idle_ms = r->idle_ms;
        sb->used_ms = sb->used_stored_ms = r->used_ms;
        sb->put_state = (enum cay_state)state;
        memcpy(sb->secret, r->secret, sizeof(sb->secret));
        return 0;
}

int cay_record_read_sandbox(struct cay_service *s, const struct cay_store_sandbox *r,
                            struct cay_sandbox **ret, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct sandbox_texts t = { 0 };
        struct cay_sandbox *sb;
        void *doc = NULL;
        int n;

        cay_buf_init(&text, 2u << 20);
        if (cay_buf_printf(&text, "{\"labels\":%s,\"metadata\":%s,\"env\":%s,\"spec\":%s}",
                           text_or(r->labels, "{}"), text_or(r->metadata, "{}"), text_or(r->env, "{}"),
                           text_or(r->spec, "{}")) < 0)
                return cay_fail(err, CAY_INTERNAL, "record of sandbox '%.63s' is too long", r->id);
        if (s->env.read_json(s->env.ctx, cay_buf_data(&text), sandbox_fields, &t, &doc, err) < 0)
                return cay_wrap(err, "record of sandbox '%.63s'", r->id);
        sb = cay_sandbox_new(s);
        n = fill_sandbox(sb, r, &t);
        s->env.free_json(s->env.ctx, doc);
        if (n == 0)
                n = cay_record_make_texts(sb, err) < 0 ? -ENOMEM : 0;
        if (n < 0) {
                cay_sandbox_free(sb);
                return cay_fail_sys(err, CAY_INTERNAL, n, "record of sandbox '%.63s'", r->id);
        }
        *ret = sb;
        return 0;
}

/* Execs */

struct exec_spec {
        bool is_line, has_stdin, tty, background;
        const char *cwd, *user, *context, *language;
        uint64_t output_bytes, timeout_ms, cpu_time_ms, hints, wall_us, cpu_us, memory_peak, out_bytes,
                err_bytes, cut_bytes, pid;
        bool output_gone;
        const char *output_lost, *network;
};

static const struct cay_field exec_spec_fields[] = {
        ROW(struct exec_spec, is_line, BOOL),
        ROW(struct exec_spec, has_stdin, BOOL),
        ROW(struct exec_spec, tty, BOOL),
        ROW(struct exec_spec, background, BOOL),
        LONG(struct exec_spec, cwd),
        ROW(struct exec_spec, user, TEXT),
        ROW(struct exec_spec, context, TEXT),
        ROW(struct exec_spec, language, TEXT),
        ROW(struct exec_spec, output_bytes, U64),
        ROW(struct exec_spec, timeout_ms, U64),
        ROW(struct exec_spec, cpu_time_ms, U64),
        ROW(struct exec_spec, hints, U64),
        ROW(struct exec_spec, wall_us, U64),
        ROW(struct exec_spec, cpu_us, U64),
        ROW(struct exec_spec, memory_peak, U64),
        ROW(struct exec_spec, out_bytes, U64),
        ROW(struct exec_spec, err_bytes, U64),
        ROW(struct exec_spec, cut_bytes, U64),
        ROW(struct exec_spec, pid, U64),
        ROW(struct exec_spec, output_gone, BOOL),
        ROW(struct exec_spec, output_lost, TEXT),
        LONG(struct exec_spec, network),
        { 0 },
};

struct exec_texts {
        struct cay_field_texts argv;
        struct exec_spec spec;
};

static const struct cay_field exec_fields[] = {
        { .name = "argv",
          .kind = CAY_FIELD_TEXTS,
          .offset = offsetof(struct exec_texts, argv),
          .max = CAY_BOX_ARGS_MAX,
          .item_max = CAY_STORE_TEXT_MAX },
        { .name = "spec",
          .kind = CAY_FIELD_OBJECT,
          .offset = offsetof(struct exec_texts, spec),
          .fields = exec_spec_fields },
        { 0 },
};

int cay_record_argv_text(struct cay_exec *x, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json j;

        cay_buf_init(&text, CAY_STORE_TEXT_MAX - 1);
        cay_json_init(&j, &text);
        cay_json_begin_array(&j);
        for (unsigned i = 0; x->argv[i] != NULL; i++)
                cay_json_text(&j, x->argv[i]);
        cay_json_end_array(&j);
        if (cay_json_end(&j) < 0)
                return cay_fail(err, CAY_INVALID, "command: too long: at most %u bytes",
                                CAY_SERVICE_ARGV_MAX);
        x->argv_json = cay_arena_copy(&x->mem, cay_buf_data(&text), text.len);
        return x->argv_json != NULL ? 0 : cay_fail(err, CAY_INTERNAL, "no memory");
}

size_t cay_record_exec_size(const struct cay_exec *x)
{
        return strlen(x->argv_json) + 2048 + strlen(x->cwd);
}

void cay_record_put_exec(struct cay_exec *x, struct cay_store_batch *b)
{
        cay_auto_buf struct cay_buf spec = { 0 };
        struct cay_json j;
        bool ended = cay_exec_is_judged(x) || cay_exec_is_ended(x);
        struct cay_store_exec r = {
                .id = x->id,
                .sandbox = x->sandbox_id,
                .argv = x->argv_json,
                .state = cay_exec_state_word(ended           ? CAY_EXEC_ENDED
                                             : x->start_told ? CAY_EXEC_RUNNING
                                                             : CAY_EXEC_STARTING),
                .cause = ended ? cay_cause_word(x->cause) : "",
                .cause_text = x->cause_text,
                .channel = x->channel_number,
                .started_wall_ms = x->started_wall_ms,
                .ended_wall_ms = x->ended_wall_ms,
                .deadline_ms = x->deadline_ms,
                .output_first = x->spool.fd >= 0 ? x->spool.oldest : x->output_first,
                .output_end = cay_exec_output_end(x),
                .exit_code = ended ? x->exit_code : -1,
                .signal = (uint64_t)x->signal,
        };

        cay_buf_init(&spec, 2 * SMALL_JSON);
        cay_json_init(&j, &spec);
        cay_json_begin_object(&j);
        put_bool(&j, "is_line", x->is_line);
        put_bool(&j, "has_stdin", x->has_stdin);
        put_bool(&j, "tty", x->tty);
        put_bool(&j, "background", x->background);
        put_text(&j, "cwd", x->cwd);
        put_text(&j, "user", x->user_text);
        if (cay_exec_is_kernel(x)) {
                put_text(&j, "context", x->context);
                put_text(&j, "language", x->language);
        }
        put_u64(&j, "output_bytes", x->output_bytes);
        put_u64(&j, "timeout_ms", x->timeout_ms);
        put_u64(&j, "cpu_time_ms", x->cpu_time_ms);
        if (ended) {
                put_u64(&j, "hints", x->hints);
                put_u64(&j, "wall_us", x->wall_us);
                put_u64(&j, "cpu_us", x->cpu_us);
                put_u64(&j, "memory_peak", x->memory_peak);
                put_u64(&j, "out_bytes", x->out_bytes);
                put_u64(&j, "err_bytes", x->err_bytes);
                put_u64(&j, "cut_bytes", x->cut_bytes);
                put_bool(&j, "output_gone", x->output_gone);
        }
        put_u64(&j, "pid", x->pid);
        if (x->lost_count > 0) {
                char lost[CAY_SERVICE_LOST_TEXT];

                cay_exec_lost_text(x, lost);
                put_text(&j, "output_lost", lost);
        }
        if (ended && x->network != NULL) {
                cay_auto_buf struct cay_buf network = { 0 };

                cay_buf_init(&network, SMALL_JSON / 2);
                cay_exec_network_text(x, &network);
                put_text(&j, "network", cay_buf_data(&network));
        }
        cay_json_end_object(&j);
        cay_json_end(&j);
        r.spec = cay_buf_data(&spec);
        cay_store_put_exec(x->service->store, b, &r);
}

static int fill_exec(struct cay_exec *x, const struct cay_store_exec *r, const struct exec_texts *t)
{
        const struct exec_spec *spec = &t->spec;

        if (!cay_id_is_valid(r->id) || !cay_str_copy(x->id, sizeof(x->id), r->id) ||
            r->channel > UINT32_MAX || t->argv.count == 0)
                return -EBADMSG;
        x->argv = cay_arena_array(&x->mem, t->argv.count + 1, sizeof(*x->argv));
        x->argv_json = cay_arena_copy(&x->mem, r->argv, strlen(r->argv));
        x->cwd = cay_arena_copy(&x->mem, text_or(spec->cwd, ""), strlen(text_or(spec->cwd, "")));
        x->user_text = cay_arena_copy(&x->mem, text_or(spec->user, ""), strlen(text_or(spec->user, "")));
        x->context = cay_arena_copy(&x->mem, text_or(spec->context, ""), strlen(text_or(spec->context, "")));
        x->language =
                cay_arena_copy(&x->mem, text_or(spec->language, ""), strlen(text_or(spec->language, "")));
        if (x->argv == NULL || x->argv_json == NULL || x->cwd == NULL || x->user_text == NULL ||
            x->context == NULL || x->language == NULL)
                return -ENOMEM;
        for (unsigned i = 0; i < t->argv.count; i++) {
                x->argv[i] = cay_arena_copy(&x->mem, t->argv.items[i], strlen(t->argv.items[i]));
                if (x->argv[i] == NULL)
                        return -ENOMEM;
        }
        x->is_line = spec->is_line;
        x->has_stdin = spec->has_stdin;
        x->tty = spec->tty;
        x->background = spec->background;
        x->output_bytes = spec->output_bytes;
        x->timeout_ms = spec->timeout_ms;
        x->cpu_time_ms = spec->cpu_time_ms;
        x->hints = (unsigned)spec->hints;
        x->wall_us = spec->wall_us;
        x->cpu_us = spec->cpu_us;
        x->memory_peak = spec->memory_peak;
        x->out_bytes = spec->out_bytes;
        x->err_bytes = spec->err_bytes;
        x->cut_bytes = spec->cut_bytes;
        x->output_gone = spec->output_gone;
        cay_exec_lost_read(x, text_or(spec->output_lost, ""));
        cay_exec_network_read(x, text_or(spec->network, ""));
        x->pid = (uint32_t)spec->pid;
        x->cause = find_cause(text_or(r->cause, ""));
        cay_str_copy(x->cause_text, sizeof(x->cause_text), text_or(r->cause_text, ""));
        x->channel_number = (uint32_t)r->channel;
        x->started_wall_ms = r->started_wall_ms;
        x->ended_wall_ms = r->ended_wall_ms;
        x->deadline_ms = r->deadline_ms;
        cay_exec_use(x); /* time in which nobody could watch it does not count */
        x->output_first = r->output_first;
        x->output_end = r->output_end;
        x->exit_code = (int)r->exit_code;
        x->signal = (int)r->signal;
        x->end_told = strcmp(text_or(r->state, ""), cay_exec_state_word(CAY_EXEC_ENDED)) == 0;
        x->start_told = strcmp(text_or(r->state, ""), cay_exec_state_word(CAY_EXEC_STARTING)) != 0;
        cay_exec_move(x, x->end_told ? CAY_EXEC_EVENT_FIND_ENDED : CAY_EXEC_EVENT_FIND_RUNNING);
        return 0;
}

int cay_record_read_exec(struct cay_service *s, struct cay_sandbox *sb, const struct cay_store_exec *r,
                         struct cay_exec **ret, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct exec_texts t = { 0 };
        struct cay_exec *x;
        void *doc = NULL;
        int n;

        cay_buf_init(&text, 2u << 20);
        if (cay_buf_printf(&text, "{\"argv\":%s,\"spec\":%s}", text_or(r->argv, "[]"),
                           text_or(r->spec, "{}")) < 0)
                return cay_fail(err, CAY_INTERNAL, "record of exec '%.63s' is too long", r->id);
        if (s->env.read_json(s->env.ctx, cay_buf_data(&text), exec_fields, &t, &doc, err) < 0)
                return cay_wrap(err, "record of exec '%.63s'", r->id);
        x = cay_exec_new(s, sb);
        n = fill_exec(x, r, &t);
        s->env.free_json(s->env.ctx, doc);
        if (n < 0) {
                cay_exec_unref(x);
                return cay_fail_sys(err, CAY_INTERNAL, n, "record of exec '%.63s'", r->id);
        }
        *ret = x;
        return 0;
}
