/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: their begin, their end, and finding them again. See recording.h for the theory. */
#include <errno.h>
#include <fcntl.h>

#include "foundation/base/str.h"
#include "domain/sandboxes/recording_priv.h"
#include "domain/sandboxes/snapshot_priv.h"

#define NOTE "the recording begins"
#define ITEM_MAX (4u * 1024)
#define STOP_ROOM 256u /* bytes that are left for the entry that says why it ends */

static void name_of(const struct cay_sandbox *sb, char ret[2 * CAY_NAME_MAX])
{
        snprintf(ret, 2 * CAY_NAME_MAX, "%s%s", sb->id, CAY_RECORDING_SUFFIX);
}

/* Found again */

static void on_entry(void *ctx, const uint8_t *bytes, size_t len)
{
        struct cay_recording *r = ctx;
        struct cay_item item;

        if (cay_item_decode(bytes, len, &item) < 0)
                return;
        r->last_ms = item.at_ms;
        if (item.kind == CAY_ITEM_BEGIN) {
                r->began_wall_ms = item.numbers[0];
                cay_item_word(&item);
                cay_str_copy(r->snapshot, sizeof(r->snapshot), cay_item_word(&item));
        } else if (item.kind == CAY_ITEM_FILE) {
                r->files = item.numbers[0];
        } else if (item.kind == CAY_ITEM_STOP) {
                cay_str_copy(r->stopped, sizeof(r->stopped), cay_item_word(&item));
                r->is_told = true;
        }
}

struct cay_recording *cay_recording_find(struct cay_sandbox *sb)
{
        const struct cay_service_env *env = &sb->service->env;
        struct cay_recording *r;
        char name[2 * CAY_NAME_MAX];
        int found;

        if (!sb->options.record || env->recordings_seed == NULL || sb->recording_known)
                return sb->recording;
        sb->recording_known = true;
        name_of(sb, name);
        r = cay_service_alloc(sizeof(*r));
        found = cay_sealed_log_open(&r->log, env->spool_dir, name, env->recordings_seed, on_entry, r);
        if (found == 0 && r->snapshot[0] != '\0') {
                sb->recording = r;
                return r;
        }
        cay_sealed_log_close(&r->log);
        if (found < 0 && found != -ENOENT) { /* it stays as it is, and nothing is added */
                cay_log_error("a recording cannot be read", "id=%s errno=%d", sb->id, -found);
                cay_str_copy(r->stopped, sizeof(r->stopped), "damaged");
                r->is_told = true;
                sb->recording = r;
                return r;
        }
        free(r);
        return NULL;
}

struct cay_recording *cay_recording_of(struct cay_sandbox *sb)
{
        struct cay_recording *r = sb->options.record ? cay_recording_find(sb) : NULL;

        if (r != NULL && r->stopped[0] != '\0' && !r->is_told)
                cay_recording_stop(sb, r->stopped); /* the disk was full */
        return r != NULL && r->stopped[0] == '\0' ? r : NULL;
}

uint64_t cay_recording_at(const struct cay_service *s, struct cay_recording *r)
{
        uint64_t now = cay_service_wall(s), at = now > r->began_wall_ms ? now - r->began_wall_ms : 0;

        r->last_ms = at > r->last_ms ? at : r->last_ms;
        return r->last_ms;
}

/* The end */

static void on_end_told(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_service_log_unstored(e->service, "end of a recording", e->box.id, err);
}

void cay_recording_stop(struct cay_sandbox *sb, const char *why)
{
        struct cay_recording *r = sb->options.record ? cay_recording_find(sb) : NULL;
        struct cay_service *s = sb->service;
        cay_auto_buf struct cay_buf item = { 0 };
        struct cay_store_batch *b;
        struct cay_async *e;
        bool is_new;

        if (r == NULL || r->is_told)
                return;
        is_new = r->stopped[0] == '\0';
        if (is_new)
                cay_str_copy(r->stopped, sizeof(r->stopped), why);
        cay_buf_init(&item, ITEM_MAX);
        cay_item_begin(&item, CAY_ITEM_STOP, cay_recording_at(s, r), NULL, 0);
        cay_item_put_count(&item, 1);
        cay_item_put_word(&item, r->stopped);
        r->is_told = cay_sealed_log_add(&r->log, cay_buf_data(&item), item.len) == 0;
        if (!is_new)
                return;
        cay_log_info("a recording ends", "id=%s why=%s", sb->id, r->stopped);
        e = cay_async_new(s, sb, NULL, on_end_told);
        b = s->store->ops->begin(s->store);
        cay_event_put(e, b, sb, CAY_EVENT_RECORDING_ENDED, "why", r->stopped, NULL);
        cay_async_commit(e, b);
}

void cay_recording_add(struct cay_sandbox *sb, struct cay_recording *r, const struct cay_buf *item)
{
        int n = r->log.size + item->len + CAY_SEAL_EXTRA + STOP_ROOM > CAY_RECORDING_MAX
                        ? -EFBIG
                        : cay_sealed_log_add(&r->log, cay_buf_data(item), item->len);

        if (n < 0)
                cay_recording_stop(sb, n == -EFBIG ? "limit" : "disk");
}

/* It goes with its sandbox */

void cay_recording_remove(struct cay_sandbox *sb)
{
        const struct cay_service_env *env = &sb->service->env;
        char name[2 * CAY_NAME_MAX];

        if (!sb->options.record)
                return;
        name_of(sb, name);
        cay_recording_close(sb);
        if (env->remove_spool != NULL)
                env->remove_spool(env->ctx, name);
        else
                unlinkat(env->spool_dir, name, 0);
}

void cay_recording_close(struct cay_sandbox *sb)
{
        if (sb->recording == NULL)
                return;
        cay_sealed_log_close(&sb->recording->log);
        free(cay_take(sb->recording));
}

/* The begin */

bool cay_service_recording_is_due(struct cay_service *s, const struct cay_viewer *v, const char *id)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        return sb != NULL && sb->options.record && s->env.recordings_seed != NULL &&
               cay_recording_find(sb) == NULL && cay_sandbox_check_usable(sb, &err) == 0;
}

struct beginning {
        struct cay_service_call step;
        struct cay_service_call *call;
        struct cay_service *service;
        char sandbox[CAY_NAME_MAX + 1];
};

static void on_begin_told(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_service_log_unstored(e->service, "begin of a recording", e->box.id, err);
}

static int make_file(struct cay_sandbox *sb, const char *snapshot, struct cay_error *err)
{
        struct cay_service *s = sb->service;
        struct cay_recording *r = cay_service_alloc(sizeof(*r));
        cay_auto_buf struct cay_buf item = { 0 };
        char name[2 * CAY_NAME_MAX];
        int n;

        name_of(sb, name);
        r->began_wall_ms = cay_service_wall(s);
        cay_str_copy(r->snapshot, sizeof(r->snapshot), snapshot);
        cay_buf_init(&item, ITEM_MAX);
        cay_item_begin(&item, CAY_ITEM_BEGIN, 0, &r->began_wall_ms, 1);
        cay_item_put_count(&item, 2);
        cay_item_put_word(&item, sb->id);
        cay_item_put_word(&item, snapshot);
        n = cay_sealed_log_create(&r->log, s->env.spool_dir, name, s->env.recordings_seed);
        if (n == 0)
                n = cay_sealed_log_add(&r->log, cay_buf_data(&item), item.len);
        if (n < 0) {
                cay_sealed_log_close(&r->log);
                free(r);
                return cay_fail_sys(err, n == -ENOSPC || n == -EDQUOT ? CAY_NO_SPACE : CAY_INTERNAL, n,
                                    "begin the recording of the sandbox");
        }
        sb->recording = r;
        return 0;
}

static void on_step(struct cay_job *job)
{
        struct beginning *g = cay_container_of(job, struct beginning, step.job);
        struct cay_service *s = g->service;
        struct cay_sandbox *sb = cay_table_find(s, g->sandbox);
        struct cay_error err = job->err;
        struct cay_store_batch *b;
        struct cay_async *e;

        if (err.code != CAY_OK)
                cay_wrap(&err,
                         "nothing was done: the step with which the recording begins could not be made");
        else if (sb == NULL)
                cay_fail(&err, CAY_NOT_FOUND, "sandbox '%s' was destroyed meanwhile", g->sandbox);
        if (err.code == CAY_OK && cay_recording_find(sb) == NULL && make_file(sb, g->step.id, &err) == 0) {
                e = cay_async_new(s, sb, NULL, on_begin_told);
                b = s->store->ops->begin(s->store);
                cay_event_put(e, b, sb, CAY_EVENT_RECORDING_BEGAN, "snapshot", g->step.id, NULL);
                cay_async_commit(e, b);
        }
        cay_service_fail_job(s, &g->call->job, &err);
        free(g);
}

void cay_service_recording_begin(struct cay_service *s, const struct cay_viewer *v, const char *id,
                                 struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);
        struct beginning *g;

        c->next = NULL;
        if (sb == NULL) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        g = cay_service_alloc(sizeof(*g));
        g->call = c;
        g->service = s;
        cay_str_copy(g->sandbox, sizeof(g->sandbox), sb->id);
        cay_job_init(&g->step.job, on_step);
        cay_service_step(s, v, id, NOTE, &g->step);
}

/* Looking */

int cay_service_recording_get(struct cay_service *s, const struct cay_viewer *v, const char *id,
                              struct cay_recording_view *ret, struct cay_error *err)
{
        struct cay_sandbox *sb = cay_table_get(s, v, id, err);
        const struct cay_recording *r;

        if (sb == NULL)
                return -1;
        r = cay_recording_find(sb);
        if (r == NULL)
                return cay_fail(err, CAY_NOT_FOUND,
                                sb->options.record ? "nothing was recorded yet of sandbox '%s'"
                                                   : "sandbox '%s' is not recorded: create it with record",
                                sb->id);
        if (r->log.fd < 0)
                return cay_fail(err, CAY_DAMAGED, "the recording of sandbox '%s' was changed or is damaged",
                                sb->id);
        *ret = (struct cay_recording_view){ .snapshot = r->snapshot,
                                            .stopped = r->stopped,
                                            .began_wall_ms = r->began_wall_ms,
                                            .bytes = r->log.size,
                                            .items = r->log.entries };
        return 0;
}

int cay_service_recording_read(struct cay_service *s, const struct cay_viewer *v, const char *id,
                               struct cay_sealed_reader *ret, struct cay_error *err)
{
        struct cay_recording_view view;
        struct cay_sandbox *sb;
        char name[2 * CAY_NAME_MAX];
        int r;

        if (cay_service_recording_get(s, v, id, &view, err) < 0)
                return -1;
        sb = cay_table_get(s, v, id, err);
        name_of(sb, name);
        r = cay_sealed_reader_open(ret, s->env.spool_dir, name, s->env.recordings_seed);
        return r < 0 ? cay_fail_sys(err, r == -EBADMSG ? CAY_DAMAGED : CAY_INTERNAL, r, "open the recording")
                     : 0;
}
