/* SPDX-License-Identifier: Apache-2.0 */
/* Views of sandboxes: one, a page of them, and cleanup of those that a filter selects. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "domain/ops/pairs.h"
#include "domain/ops/view.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define LABELS_MAX 32u
#define FILTER_TEXT_MAX 4096u

struct filter_args {
        const char *name, *template_name, *label, *state, *metadata, *after;
        uint64_t older_ms, idle_ms;
};

#define FILTER_FIELDS(type, member)                                                                          \
        {                                                                                                    \
                "name",   CAY_FIELD_TEXT, offsetof(type, member.name), 0, "only the one with this name",     \
                .max = 63                                                                                    \
        },                                                                                                   \
                { "template",                                                                                \
                  CAY_FIELD_TEXT,                                                                            \
                  offsetof(type, member.template_name),                                                      \
                  0,                                                                                         \
                  "only those made from this template",                                                      \
                  .max = 63 },                                                                               \
                { "label",                                                                                   \
                  CAY_FIELD_TEXT,                                                                            \
                  offsetof(type, member.label),                                                              \
                  0,                                                                                         \
                  "only those with these labels: key=value, or key for any value; separated by commas",      \
                  .max = FILTER_TEXT_MAX },                                                                  \
                { "metadata",                                                                                \
                  CAY_FIELD_TEXT,                                                                            \
                  offsetof(type, member.metadata),                                                           \
                  0,                                                                                         \
                  "only those with this metadata: key=value pairs with & between them, encoded (%20)",       \
                  .max = FILTER_TEXT_MAX },                                                                  \
                { "created_after",                                                                           \
                  CAY_FIELD_TEXT,                                                                            \
                  offsetof(type, member.after),                                                              \
                  0,                                                                                         \
                  "only those created at or after this time (2026-11-18T16:00:00Z)",                         \
                  .max = 63 },                                                                               \
                { "state",                                                                                   \
                  CAY_FIELD_TEXT,                                                                            \
                  offsetof(type, member.state),                                                              \
                  0,                                                                                         \
                  "only those in these states, separated by commas",                                         \
                  .max = 128 },                                                                              \
                { "older_than", CAY_FIELD_DURATION, offsetof(type, member.older_ms), 0,                      \
                  "only those created at least this long ago" },                                             \
        {                                                                                                    \
                "idle_for", CAY_FIELD_DURATION, offsetof(type, member.idle_ms), 0,                           \
                        "only those idle for at least this long"                                             \
        }

struct filter { /* a filter and what it points into */
        struct cay_sandbox_filter f;
        struct cay_field_pair pairs[LABELS_MAX], metadata_pairs[LABELS_MAX];
        char labels[FILTER_TEXT_MAX + 1], metadata[FILTER_TEXT_MAX + 1], states[129];
};

static int split_labels(struct filter *f, const char *text, struct cay_error *err)
{
        char *save = NULL;

        snprintf(f->labels, sizeof(f->labels), "%s", text);
        for (char *word = strtok_r(f->labels, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                char *equals = strchr(word, '=');

                if (f->f.labels.count == LABELS_MAX)
                        return cay_fail(err, CAY_INVALID, "label: at most %u are allowed", LABELS_MAX);
                if (equals == word)
                        return cay_fail(err, CAY_INVALID, "label: a key is missing before '='");
                if (equals)
                        *equals++ = '\0';
                f->pairs[f->f.labels.count++] = (struct cay_field_pair){ word, equals };
        }
        f->f.labels.pairs = f->pairs;
        return 0;
}

static int split_metadata(struct filter *f, const char *text, struct cay_error *err)
{
        int count;

        snprintf(f->metadata, sizeof(f->metadata), "%s", text);
        count = cay_op_pairs_read(f->metadata, f->metadata_pairs, LABELS_MAX, "metadata", err);
        if (count < 0)
                return -1;
        f->f.metadata.count = (unsigned)count;
        f->f.metadata.pairs = f->metadata_pairs;
        return 0;
}

/* RFC 3339: "2026-11-18T16:00:00.123Z", "…+01:00". */
static int read_time(const char *text, uint64_t *ret, struct cay_error *err)
{
        unsigned year, month, day, hour, minute, second, zone_h = 0, zone_m = 0, ms = 0, scale = 100;
        struct tm tm = { 0 };
        int used = 0;
        char sign = 'Z';
        time_t at;

        if (sscanf(text, "%4u-%2u-%2u%*1[Tt ]%2u:%2u:%2u%n", &year, &month, &day, &hour, &minute, &second,
                   &used) != 6 ||
            year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
            second > 60)
                return cay_fail(err, CAY_INVALID,
                                "created_after: '%.40s' is not a time like 2026-11-18T16:00:00Z", text);
        text += used;
        if (*text == '.')
                for (text++; *text >= '0' && *text <= '9'; text++, scale /= 10)
                        ms += (unsigned)(*text - '0') * scale;
        if (strcmp(text, "Z") != 0 && strcmp(text, "z") != 0 &&
            (sscanf(text, "%c%2u:%2u%n", &sign, &zone_h, &zone_m, &used) != 3 || text[used] != '\0' ||
             (sign != '+' && sign != '-')))
                return cay_fail(err, CAY_INVALID, "created_after: must end with Z or an offset like +01:00");
        tm = (struct tm){ .tm_year = (int)year - 1900,
                          .tm_mon = (int)month - 1,
                          .tm_mday = (int)day,
                          .tm_hour = (int)hour,
                          .tm_min = (int)minute,
                          .tm_sec = (int)second };
        at = timegm(&tm) - (sign == '-' ? -1 : 1) * (time_t)(zone_h * 3600 + zone_m * 60);
        *ret = at > 0 ? (uint64_t)at * 1000 + ms : 1;
        return 0;
}

static int split_states(struct filter *f, const char *text, struct cay_error *err)
{
        char *save = NULL;

        snprintf(f->states, sizeof(f->states), "%s", text);
        for (char *word = strtok_r(f->states, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                int state = cay_state_find(word);

                if (state < 0)
                        return cay_fail(err, CAY_INVALID, "state: '%.40s' is not a state", word);
                f->f.states |= 1u << state;
        }
        return 0;
}

static int fill_filter(struct filter *f, const struct filter_args *a, struct cay_error *err)
{
        f->f.name = a->name;
        f->f.template_name = a->template_name;
        f->f.older_ms = a->older_ms;
        f->f.idle_ms = a->idle_ms;
        if (a->label && split_labels(f, a->label, err) < 0)
                return -1;
        if (a->metadata && split_metadata(f, a->metadata, err) < 0)
                return -1;
        if (a->after && read_time(a->after, &f->f.after_wall_ms, err) < 0)
                return -1;
        return a->state ? split_states(f, a->state, err) : 0;
}

/* One */

struct get_args {
        const char *id;
};

static const struct cay_field get_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct get_args, id), 0, "id or name of the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        {},
};

static void run_get(struct cay_op_call *c)
{
        const struct get_args *a = c->args;
        struct cay_sandbox_view view;
        struct cay_op_result o;

        if (!cay_op_get_sandbox(c, a->id, &view))
                return;
        cay_op_result_begin(&o, c);
        cay_op_put_sandbox(&o.j, &view, c->dialect);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

const struct cay_op cay_op_sandbox_get = {
        .name = "sandbox_get",
        .route = "GET /api/sandboxes/{id}",
        .doc = "Shows a sandbox",
        .scope = CAY_SCOPE_READ,
        .fields = get_fields,
        .args_size = sizeof(struct get_args),
        .result = &cay_result_sandbox,
        .tool = CAY_TOOL("Show a sandbox", "Its state, why it ended, limits, how long it still lives.",
                         "sandbox_info"),
        .run = run_get,
};

/* Many */

struct list_args {
        struct filter_args filter;
        const char *cursor;
        uint64_t max;
        bool newest_first;
};

static const struct cay_field list_fields[] = {
        FILTER_FIELDS(struct list_args, filter),
        { "cursor", CAY_FIELD_TEXT, offsetof(struct list_args, cursor), 0,
          "start of the page: the `next` of the page before", .max = CAY_SERVICE_CURSOR_MAX },
        { "limit", CAY_FIELD_U64, offsetof(struct list_args, max), 0, "at most this many; default 100",
          .min = 1, .max = CAY_SERVICE_PAGE_MAX },
        { "newest_first", CAY_FIELD_BOOL, offsetof(struct list_args, newest_first), 0, "newest first" },
        {},
};

struct listing {
        struct cay_json *j;
        enum cay_op_dialect dialect;
};

static void put_one(void *ctx, const struct cay_sandbox_view *view)
{
        const struct listing *l = ctx;

        cay_json_begin_object(l->j);
        cay_op_put_sandbox(l->j, view, l->dialect);
        cay_json_end_object(l->j);
}

static void run_list(struct cay_op_call *c)
{
        const struct list_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        char next[CAY_SERVICE_CURSOR_MAX] = "";
        struct cay_error err = { 0 };
        struct filter f = { .f = { .newest_first = a->newest_first } };
        struct cay_op_result o;
        struct listing listing = { &o.j, c->dialect };

        if (fill_filter(&f, &a->filter, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "sandboxes");
        cay_json_begin_array(&o.j);
        if (cay_service_list(c->world->service, &viewer, &f.f, a->cursor, a->max ? (unsigned)a->max : 100,
                             put_one, &listing, next, &err) < 0) {
                cay_op_result_done(&o);
                cay_op_fail(c, &err, err.code == CAY_INVALID ? "cursor" : NULL);
                return;
        }
        cay_json_end_array(&o.j);
        cay_op_key_text(&o.j, "next", next[0] ? next : NULL);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_sandboxes, NULL, LIST("sandboxes", cay_result_sandbox), MAYBE("next", TEXT));

const struct cay_op cay_op_sandbox_list = {
        .name = "sandbox_list",
        .route = "GET /api/sandboxes",
        .doc = "Lists sandboxes, page by page",
        .scope = CAY_SCOPE_READ,
        .fields = list_fields,
        .args_size = sizeof(struct list_args),
        .result = &result_sandboxes,
        .tool = CAY_TOOL("List sandboxes", "Lists your sandboxes.",
                         .params = CAY_TOOL_PARAMS(CAY_TOOL_LIMIT("Default 100."),
                                                   { "cursor", "cursor", "`next` of the page before." }),
                         .picks = "sandboxes next " CAY_TOOL_SANDBOX_PICKS),
        .run = run_list,
};

/* Cleanup */

struct cleanup_args {
        struct filter_args filter;
        bool dry_run;
};

static const struct cay_field cleanup_fields[] = {
        FILTER_FIELDS(struct cleanup_args, filter),
        { "dry_run", CAY_FIELD_BOOL, offsetof(struct cleanup_args, dry_run), 0,
          "only list what would be destroyed" },
        {},
};

struct cleanup {
        struct cay_service_cleanup service;
        struct cay_op_call *call;
};

static void on_cleaned(struct cay_job *job)
{
        struct cleanup *s = cay_container_of(job, struct cleanup, service.job);
        const struct cleanup_args *a = s->call->args;
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(s->call, &job->err, NULL);
        } else {
                cay_op_result_begin(&o, s->call);
                cay_op_key_bool(&o.j, "dry_run", a->dry_run);
                cay_json_key(&o.j, "sandboxes");
                cay_json_begin_array(&o.j);
                for (unsigned i = 0; i < s->service.count; i++)
                        cay_json_text(&o.j, s->service.ids[i]);
                cay_json_end_array(&o.j);
                cay_op_key_u64(&o.j, "destroyed", s->service.gone);
                cay_op_key_u64(&o.j, "failed", s->service.failed);
                cay_op_key_text(&o.j, "first_failure", s->service.failed ? s->service.why.msg : NULL);
                cay_op_key_bool(&o.j, "more", s->service.more);
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        cay_service_cleanup_done(&s->service);
        free(s);
}

static void run_cleanup(struct cay_op_call *c)
{
        const struct cleanup_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = { 0 };
        struct filter f = { 0 };
        struct cleanup *s;

        if (fill_filter(&f, &a->filter, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        s->call = c;
        cay_job_init(&s->service.job, on_cleaned);
        cay_service_cleanup(c->world->service, &viewer, &f.f, a->dry_run, &s->service);
}

RESULT(result_cleaned, NULL, BOOL("dry_run"), TEXTS("sandboxes"), NUMBER("destroyed"), NUMBER("failed"),
       MAYBE("first_failure", TEXT), BOOL("more"));

const struct cay_op cay_op_sandbox_cleanup = {
        .name = "sandbox_cleanup",
        .route = "POST /api/sandboxes/cleanup",
        .doc = "Destroys all of the caller's sandboxes that match the filter",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_DESTRUCTIVE,
        .fields = cleanup_fields,
        .args_size = sizeof(struct cleanup_args),
        .result = &result_cleaned,
        .run = run_cleanup,
};
