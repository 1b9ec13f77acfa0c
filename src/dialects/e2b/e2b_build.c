/* SPDX-License-Identifier: Apache-2.0 */
/* The builds of templates: their table, their files and their logs. */
#include "dialects/e2b/e2b_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "domain/model/port_clock.h"
#include "domain/ops/view.h"
#include "foundation/base/fair.h"
#include "foundation/base/str.h"

#define KEPT_MS (60u * 60 * 1000) /* one that waits for its files, or is over */
#define LOG_ENTRIES_MAX 5000u
#define LOG_BYTES_MAX (4u << 20)
#define LINE_MAX_BYTES (16u * 1024)

static bool is_of(const struct e2b_build *b, const char *owner)
{
        return strcmp(b->caller.owner, owner) == 0;
}

bool e2b_build_take_bytes(struct e2b_build *b, size_t len)
{
        size_t own = 0, others;

        for (const struct e2b_build *other = b->e2b->builds; other; other = other->next)
                if (is_of(other, b->caller.owner))
                        own += other->bytes;
        others = b->e2b->build_bytes - own;
        if (others > E2B_BUILDS_BYTES || own + len > (E2B_BUILDS_BYTES - others) / 2)
                return false;
        b->bytes += len;
        b->e2b->build_bytes += len;
        return true;
}

void e2b_build_give_bytes(struct e2b_build *b, size_t len)
{
        b->bytes -= len;
        b->e2b->build_bytes -= len;
}

static void free_file(struct e2b_build *b, struct e2b_build_file *f)
{
        e2b_build_give_bytes(b, f->bytes.len);
        cay_buf_done(&f->bytes);
        free(f);
}

void e2b_build_drop_files(struct e2b_build *b)
{
        while (b->files) {
                struct e2b_build_file *f = b->files;

                b->files = f->next;
                free_file(b, f);
        }
        b->file_count = 0;
}

static void free_build(struct e2b_build *b)
{
        e2b_build_drop_files(b);
        cay_buf_done(&b->log);
        cay_buf_done(&b->line[0]);
        cay_buf_done(&b->line[1]);
        cay_json_in_free(b->spec);
        cay_budget_owner_put(b->owner);
        free(b->log_ends);
        free(b);
}

void e2b_build_drop(struct e2b_build *b)
{
        struct e2b_build **at = &b->e2b->builds;

        while (*at != b)
                at = &(*at)->next;
        *at = b->next;
        b->e2b->build_count--;
        cay_timer_clear(&b->expiry);
        free_build(b);
}

static void on_expiry(struct cay_timer *t)
{
        struct e2b_build *b = cay_container_of(t, struct e2b_build, expiry);

        if (b->uploads > 0) /* it goes when they have ended */
                cay_timer_set(b->e2b->world->loop, t, KEPT_MS, on_expiry);
        else
                e2b_build_drop(b);
}

void e2b_build_end(struct e2b_build *b, enum e2b_build_state state)
{
        void (*on_end)(struct e2b_build *) = b->on_end;

        b->state = state;
        b->on_end = NULL;
        e2b_build_drop_files(b);
        cay_json_in_free(b->spec);
        b->spec = NULL;
        cay_timer_set(b->e2b->world->loop, &b->expiry, KEPT_MS, on_expiry);
        if (on_end)
                on_end(b);
}

/* The owner's oldest one that is over, or was never begun; never another owner's. */
static bool make_room(struct cay_e2b *e, const char *owner)
{
        struct e2b_build *oldest = NULL;
        unsigned own = 0;

        for (struct e2b_build *b = e->builds; b; b = b->next) {
                if (!is_of(b, owner))
                        continue;
                own++;
                if (b->state != E2B_BUILD_BUILDING && b->uploads == 0)
                        oldest = b;
        }
        if (cay_fair_has_room(E2B_BUILDS_MAX, E2B_BUILDS_MAX, e->build_count, own))
                return true;
        if (oldest)
                e2b_build_drop(oldest);
        return oldest != NULL;
}

static int add_snapshot(struct e2b_build *b, const char *name, const char *tag, struct cay_error *err)
{
        char text[CAY_NAME_MAX + 1];

        if (e2b_snapshot_name(name, tag, text, err) < 0)
                return -1;
        for (unsigned i = 0; i < b->snapshot_count; i++)
                if (strcmp(b->snapshots[i], text) == 0)
                        return 0;
        if (b->snapshot_count == E2B_BUILD_TAGS_MAX)
                return cay_fail(err, CAY_INVALID, "tags: at most %u", E2B_BUILD_TAGS_MAX);
        memcpy(b->snapshots[b->snapshot_count++], text, sizeof(text));
        return 0;
}

/* Without any tag it is the one that is meant when none is named. */
static int add_snapshots(struct e2b_build *b, const char *name, const struct cay_json_value *tags,
                         struct cay_error *err)
{
        const struct cay_json_value *tag;
        bool has_own = strchr(name, ':') != NULL;

        if (e2b_snapshot_name(name, "default", b->name, err) < 0)
                return -1;
        if ((has_own || cay_json_value_count(tags) == 0) && add_snapshot(b, name, NULL, err) < 0)
                return -1;
        for (size_t i = 0; (tag = cay_json_value_at(tags, i)); i++) {
                const char *text = cay_json_value_text(tag);

                if (!text || !text[0])
                        return cay_fail(err, CAY_INVALID, "tags: must be texts");
                if (add_snapshot(b, name, text, err) < 0)
                        return -1;
        }
        return 0;
}

static int make_id(char ret[E2B_BUILD_ID + 1])
{
        uint8_t random[E2B_BUILD_ID / 2];

        if (cay_digest_random(random, sizeof(random)) < 0)
                return -1;
        for (unsigned i = 0; i < sizeof(random); i++)
                snprintf(ret + 2 * (size_t)i, 3, "%02x", random[i]);
        return 0;
}

struct e2b_build *e2b_build_new(struct e2b_request *q, const char *name, const struct cay_json_value *tags)
{
        struct cay_e2b *e = q->e2b;
        struct e2b_build *b = make_room(e, q->caller.owner) ? calloc(1, sizeof(*b)) : NULL;
        struct cay_error err = { 0 };

        if (!b) {
                e2b_refuse(q, CAY_LIMIT, "too many of your templates are being built; wait for one of them");
                return NULL;
        }
        b->e2b = e;
        b->caller = q->caller;
        b->pass = q->guard.pass;
        b->owner = q->world->budgets ? cay_budget_owner_get(q->world->budgets, q->caller.owner) : NULL;
        cay_buf_init(&b->log, LOG_BYTES_MAX);
        if (b->owner)
                cay_buf_charge(&b->log, &b->owner->budget);
        cay_buf_init(&b->line[0], LINE_MAX_BYTES);
        cay_buf_init(&b->line[1], LINE_MAX_BYTES);
        if (make_id(b->id) < 0)
                cay_fail(&err, CAY_UNAVAILABLE, "no random bytes");
        if (err.code != CAY_OK || add_snapshots(b, name, tags, &err) < 0) {
                free_build(b);
                e2b_fail(q, &err);
                return NULL;
        }
        b->next = e->builds;
        e->builds = b;
        e->build_count++;
        cay_timer_set(q->world->loop, &b->expiry, KEPT_MS, on_expiry);
        return b;
}

struct e2b_build *e2b_build_find(struct cay_e2b *e, const char *id)
{
        for (struct e2b_build *b = e->builds; b; b = b->next)
                if (strlen(id) == E2B_BUILD_ID && cay_digest_equal(b->id, id, E2B_BUILD_ID))
                        return b;
        return NULL;
}

struct e2b_build *e2b_build_waiting(struct cay_e2b *e, const char *owner, const char *name)
{
        for (struct e2b_build *b = e->builds; b; b = b->next)
                if (b->state == E2B_BUILD_WAITING && strcmp(b->name, name) == 0 && is_of(b, owner))
                        return b;
        return NULL;
}

void e2b_build_put_tags(struct cay_json *j, const char *key, const struct e2b_build *b, bool whole)
{
        char name[E2B_TAGGED_MAX];

        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (unsigned i = 0; i < b->snapshot_count; i++) {
                e2b_tagged_name(b->snapshots[i], name);
                cay_json_text(j, whole ? name : strchr(name, ':') + 1);
        }
        cay_json_end_array(j);
}

/* Files */

struct e2b_build_file *e2b_build_file_find(const struct e2b_build *b, const char *hash)
{
        struct e2b_build_file *f = b->files;

        while (f && strcmp(f->hash, hash) != 0)
                f = f->next;
        return f;
}

int e2b_build_file_take(struct e2b_build *b, const char *hash, struct cay_buf *bytes)
{
        struct e2b_build_file *f = e2b_build_file_find(b, hash);

        if (f) {
                e2b_build_give_bytes(b, f->bytes.len);
                cay_buf_done(&f->bytes);
        } else {
                f = b->file_count < E2B_BUILD_FILES_MAX ? calloc(1, sizeof(*f)) : NULL;
                if (!f || !cay_str_copy(f->hash, sizeof(f->hash), hash)) {
                        free(f);
                        return -1;
                }
                f->next = b->files;
                b->files = f;
                b->file_count++;
        }
        f->bytes = *bytes;
        *bytes = (struct cay_buf){ 0 };
        return 0;
}

/* The log */

static bool has_room(struct e2b_build *b)
{
        unsigned room = b->log_room > 0 ? 2 * b->log_room : 64;
        uint32_t *ends;

        if (b->log_count < b->log_room)
                return true;
        ends = b->log_count < LOG_ENTRIES_MAX ? realloc(b->log_ends, room * sizeof(*ends)) : NULL;
        if (!ends)
                return false;
        b->log_ends = ends;
        b->log_room = room;
        return true;
}

/* What there is no room for is left out. */
void e2b_build_log(struct e2b_build *b, const char *level, const char *text, size_t len)
{
        struct cay_clock_reading now;
        size_t before = b->log.len;
        struct cay_json j;
        char step[16];

        if (!has_room(b))
                return;
        b->e2b->world->clock->read(b->e2b->world->clock, &now);
        cay_json_init(&j, &b->log);
        cay_json_begin_object(&j);
        cay_op_key_time(&j, "timestamp", now.wall_ms);
        cay_op_key_text(&j, "level", level);
        cay_json_key(&j, "message");
        cay_json_string(&j, text, len);
        if (b->state == E2B_BUILD_BUILDING && b->step > 0) {
                snprintf(step, sizeof(step), "%u", b->step);
                cay_op_key_text(&j, "step", step);
        }
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                cay_buf_cut(&b->log, before);
        else
                b->log_ends[b->log_count++] = (uint32_t)b->log.len;
}

/* The end of the daemon */

void e2b_builds_stop(struct cay_e2b *e)
{
        for (struct e2b_build *b = e->builds; b; b = b->next) {
                cay_timer_clear(&b->expiry);
                if (b->ask)
                        cay_call_gone(b->ask);
        }
}

void e2b_builds_free(struct cay_e2b *e)
{
        while (e->builds) {
                struct e2b_build *b = e->builds;

                e->builds = b->next;
                free_build(b);
        }
}
