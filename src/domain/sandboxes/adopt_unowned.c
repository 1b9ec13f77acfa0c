/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the engines' lists at start-up, and of an engine whose helper was replaced. Boxes and files without a
 * record are removed; files stay if records may have been lost. At start-up records learn that their files
 * are gone.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/snapshot_priv.h"

struct unowned {
        struct cay_service *service;
        struct cay_engine_row *row;    /* their engine */
        char (*ids)[CAY_NAME_MAX + 1]; /* owned */
        unsigned count, cap;
};

static void add_unowned(struct unowned *u, const char *id)
{
        if (cay_table_find(u->service, id) == NULL && u->service->report.unreadable > 0) {
                cay_log_warn("box left alone: it may belong to a record that was not understood", "id=%s",
                             id);
                return;
        }
        if (u->count == u->cap) {
                unsigned cap = u->cap > 0 ? 2 * u->cap : 16;
                void *ids = reallocarray(u->ids, cap, sizeof(*u->ids));

                if (ids == NULL)
                        return; /* the next start finds it again */
                u->ids = ids;
                u->cap = cap;
        }
        if (cay_str_copy(u->ids[u->count], sizeof(*u->ids), id))
                u->count++;
}

/* An engine lists only its own boxes. */
static struct cay_sandbox *find_own(const struct unowned *u, const char *id)
{
        struct cay_sandbox *sb = cay_table_find(u->service, id);

        return sb != NULL && sb->engine == u->row ? sb : NULL;
}

static void on_box(void *ctx, const char *id)
{
        struct unowned *u = ctx;
        const struct cay_sandbox *sb = find_own(u, id);

        if (sb == NULL || !sb->has_box)
                add_unowned(u, id);
}

static void on_stop_finished(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (err->code != CAY_OK)
                cay_log_warn("box not removed, ignoring", "id=%s error=%s", e->box.id, err->msg);
        if (sb == NULL)
                return;
        sb->unmaking = false;
        if (err->code == CAY_OK)
                cay_sandbox_tell_stopped(sb);
        if (sb->service->ready)
                cay_undo_go_on(sb);
}

/*
 * A stop that another process began, or the box of a start that it did not store: nothing is made before it
 * is gone.
 */
static void remove_left(struct cay_sandbox *sb)
{
        sb->unmaking = true;
        cay_async_unmake(cay_async_new(sb->service, sb, NULL, on_stop_finished), sb->kept,
                         CAY_SERVICE_UNMAKE_MS);
}

void cay_adopt_remove_unowned(struct cay_engine_row *row)
{
        struct unowned u = { .service = row->service, .row = row };

        if (row->engine->ops->list != NULL)
                row->engine->ops->list(row->engine, on_box, &u);
        for (unsigned i = 0; i < u.count; i++) { /* not while the engine walks its list */
                struct cay_sandbox *sb = find_own(&u, u.ids[i]);

                row->service->report.removed++;
                cay_log_info("box without a record removed", "id=%s engine=%s", u.ids[i], row->name);
                if (sb != NULL && sb->phase == CAY_SANDBOX_PHASE_STOPPED)
                        remove_left(sb);
                else
                        cay_async_remove_box(row, u.ids[i], sb != NULL ? sb->kept : row->keeps_left);
        }
        free(u.ids);
}

/* Files */

static void on_layer(void *ctx, const char *id)
{
        struct unowned *u = ctx;
        struct cay_sandbox *sb = find_own(u, id);

        if (sb != NULL && sb->kept)
                sb->layer_seen = true;
        else if (sb == NULL && cay_snapshots_note_layer(u->service, id))
                return;
        else if (sb == NULL || !sb->has_box)
                add_unowned(u, id);
}

static void lose_files(struct cay_sandbox *sb)
{
        sb->kept = false;
        if (!sb->has_box)
                cay_sandbox_fail(sb, CAY_CAUSE_SANDBOX_GONE,
                                 "its files are gone; a start makes it without files");
}

/*
 * This is told once. One that is ending is stored again when that is done; a start that is under way finds
 * out by itself.
 */
void cay_adopt_on_files_lost(void *ctx, const char *id)
{
        struct cay_engine_row *row = ctx;
        struct cay_sandbox *sb = cay_table_find(row->service, id);

        if (sb == NULL || sb->engine != row || !sb->kept)
                return;
        if (cay_sandbox_pending(sb) == CAY_PENDING_NONE) {
                lose_files(sb);
        } else if (cay_sandbox_is_ending(sb)) {
                sb->kept = false;
                sb->dirty = true;
        }
}

static void lose_layers(struct cay_engine_row *row)
{
        struct cay_service *s = row->service;

        for (unsigned i = 0; i < s->count; i++) {
                struct cay_sandbox *sb = s->sorted[i];

                if (sb->engine != row || !sb->kept || sb->layer_seen || sb->has_box)
                        continue;
                s->report.layers_lost++;
                lose_files(sb);
        }
}

static void remove_layer(struct cay_engine_row *row, const char *id)
{
        row->service->report.layers_removed++;
        cay_log_info("files without a sandbox removed", "id=%s", id);
        cay_async_remove_box(row, id, false);
}

/* What the engine keeps for a start, beside what the store knows. */
void cay_adopt_sort_layers(struct cay_engine_row *row)
{
        struct cay_service *s = row->service;
        struct unowned u = { .service = s, .row = row };
        struct cay_error err = { 0 };

        if (!(row->engine->caps & CAY_ENGINE_CAN_KEEP))
                return;
        if (row->engine->ops->list_kept(row->engine, on_layer, &u, &err) < 0) {
                cay_log_warn("kept files not looked at, ignoring", "engine=%s error=%s", row->name, err.msg);
                free(u.ids);
                return;
        }
        for (unsigned i = 0; i < u.count; i++) {
                if (row->keeps_left && cay_table_find(s, u.ids[i]) == NULL) {
                        s->report.layers_left++;
                        cay_left_add(row, u.ids[i]);
                        continue;
                }
                remove_layer(row, u.ids[i]);
        }
        free(u.ids);
        if (s->report.unreadable == 0)
                cay_left_note(row);
        cay_snapshots_note_missing(row);
        lose_layers(row);
}

static void on_any_layer(void *ctx, const char *id)
{
        add_unowned(ctx, id);
}

/*
 * The helper that ended may have copied files, or kept them, without an answer. The list is looked at when it
 * is complete, because other answers of the engine are handled meanwhile.
 */
void cay_adopt_remove_left_layers(struct cay_engine_row *row)
{
        struct cay_service *s = row->service;
        struct unowned u = { .service = s, .row = row };
        struct cay_error err = { 0 };

        if (!s->ready || !(row->engine->caps & CAY_ENGINE_CAN_KEEP) || !row->files_known ||
            row->left_count > 0 || s->env.keeps_unowned)
                return;
        if (row->engine->ops->list_kept(row->engine, on_any_layer, &u, &err) < 0)
                cay_log_warn("kept files not looked at, ignoring: the next start does it",
                             "engine=%s error=%s", row->name, err.msg);
        for (unsigned i = 0; i < u.count; i++)
                if (cay_table_find(s, u.ids[i]) == NULL && cay_snapshot_find(s, u.ids[i]) == NULL)
                        remove_layer(row, u.ids[i]);
        free(u.ids);
}
