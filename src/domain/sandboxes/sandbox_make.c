/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create and start.
 *
 * Theory of operation. All input is checked before anything is made (sandbox_check.c). First the client's
 * claim is looked up; concurrent requests with one claim meet here, in memory. The engine makes the box, then
 * READY, the claim and the event are committed in one batch, then the call is answered. Nothing is stored
 * before the box exists. If this process dies in between, it leaves a box without a record, which the next
 * start removes, and an unused claim. Any failure after the box exists destroys it again.
 */
#include <errno.h>
#include <fcntl.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

static void make_box(struct cay_sandbox *sb);
static void make_files(struct cay_sandbox *sb);

/* New values replace old ones; a connection comes with each call. */
static int hold_folder(struct cay_sandbox *sb, const struct cay_folder *f, struct cay_error *err)
{
        char *below = f->fd < 0 && f->root > 0 ? strdup(f->below) : NULL;
        int fd = f->fd >= 0 ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
        int peer = f->peer > 0 ? fcntl(f->peer, F_DUPFD_CLOEXEC, 3) : -1;

        if ((f->fd >= 0 && fd < 0) || (f->peer > 0 && peer < 0) || (f->fd < 0 && f->root > 0 && !below)) {
                cay_fail_sys(err, CAY_INTERNAL, -errno, "workspace");
                if (fd >= 0)
                        close(fd);
                if (peer >= 0)
                        close(peer);
                free(below);
                return -1;
        }
        if (sb->workspace_peer >= 0)
                close(sb->workspace_peer);
        sb->workspace_peer = peer;
        if (fd < 0 && !below)
                return 0;
        if (sb->workspace_fd >= 0)
                close(sb->workspace_fd);
        free(sb->workspace_below);
        sb->workspace_fd = fd;
        sb->workspace_root = below ? f->root : 0;
        sb->workspace_below = below;
        return 0;
}

/* Its folder is a path of that machine, which alone can open it. */
static bool has_own_folders(const struct cay_sandbox *sb)
{
        return sb->engine->engine->caps & CAY_ENGINE_CAN_OWN_FOLDERS;
}

static int fill_new(struct cay_sandbox *sb, const struct cay_sandbox_new *w, struct cay_error *err)
{
        struct cay_service *s = sb->service;
        const char *template_name = w->template_name != NULL ? w->template_name : "host";
        const char *path = w->workspace_path != NULL ? w->workspace_path : "";

        sb->engine = cay_engine_pick(s, w->engine, err);
        if (sb->engine == NULL)
                return -1;
        if (cay_service_make_id(s, sb->id, err) < 0)
                return -1;
        cay_str_copy(sb->name, sizeof(sb->name), w->name != NULL ? w->name : "");
        cay_str_copy(sb->owner, sizeof(sb->owner), w->owner);
        cay_str_copy(sb->claim, sizeof(sb->claim), w->claim != NULL ? w->claim : "");
        sb->template_name = cay_arena_copy(&sb->mem, template_name, strlen(template_name));
        sb->workspace_path = cay_arena_copy(&sb->mem, path, strlen(path));
        if (sb->template_name == NULL || sb->workspace_path == NULL ||
            cay_record_copy_map(&sb->mem, &w->labels, &sb->labels) < 0 ||
            cay_record_copy_map(&sb->mem, &w->metadata, &sb->metadata) < 0 ||
            cay_record_copy_map(&sb->mem, &w->env, &sb->env) < 0 ||
            cay_sandbox_options_copy(&sb->mem, &w->options, &sb->options) < 0)
                return cay_fail(err, CAY_INVALID, "labels: too long together with metadata and env");
        if (sb->options.checkpoint && cay_snapshot_check_engine(sb, err) < 0)
                return cay_wrap(err, "checkpoint");
        if (sb->options.record && s->env.recordings_seed == NULL)
                return cay_fail(err, CAY_UNSUPPORTED, "record: this daemon has no key for recordings");
        if (sb->options.record && cay_snapshot_check_engine(sb, err) < 0)
                return cay_wrap(err, "record");
        if (cay_sandbox_read_extras(sb, w->network, &w->ports, &w->volumes, err) < 0 ||
            (w->compare[0] != NULL && cay_sandbox_compare(sb, w->compare, err) < 0) ||
            cay_sandbox_read_policy(sb, w->policy, err) < 0 || cay_sandbox_check_datagrams(sb, err) < 0 ||
            cay_sandbox_check_extras(sb, err) < 0 || cay_sandbox_check_own_ports(sb, err) < 0)
                return -1;
        if (w->secrets != NULL && w->secrets[0] != '\0') {
                sb->secrets = strdup(w->secrets);
                if (sb->secrets == NULL)
                        return cay_fail(err, CAY_INTERNAL, "no memory");
        }
        if (cay_record_make_texts(sb, err) < 0)
                return -1;
        sb->limits = w->limits;
        sb->may_skip = w->may_skip;
        if (cay_sandbox_check_network_limits(sb, err) < 0)
                return -1;
        sb->brief = w->brief;
        sb->has_workspace = w->has_workspace;
        sb->workspace_mode = w->workspace_mode;
        if (w->has_workspace && w->folder.fd < 0 && w->folder.root == 0 && !has_own_folders(sb))
                return cay_fail(err, CAY_INVALID, "workspace: the folder is missing");
        if (w->has_workspace && hold_folder(sb, &w->folder, err) < 0)
                return -1;
        if (w->snapshot != NULL && w->snapshot[0] != '\0' && cay_sandbox_from(sb, w->snapshot, err) < 0)
                return -1;
        sb->created_wall_ms = sb->changed_wall_ms = cay_service_wall(s);
        sb->used_ms = cay_service_now(s);
        sb->expires_ms = w->timeout_ms > 0 ? sb->used_ms + w->timeout_ms : 0;
        sb->idle_ms = w->idle_ms;
        return 0;
}

/*
 * The spec for the engine. Its descriptors belong to the async operation, because the engine may borrow them
 * for longer than the sandbox lives.
 */
static int make_spec(struct cay_sandbox *sb, struct cay_spec *spec, struct cay_error *err)
{
        struct cay_service *s = sb->service;

        cay_str_copy(spec->id, sizeof(spec->id), sb->id);
        spec->rootfs_fd = spec->workspace_fd = -1;
        spec->template_kind = CAY_TEMPLATE_HOST;
        if (s->env.open_template != NULL) {
                if (s->env.open_template(s->env.ctx, sb->template_name, &spec->template_kind,
                                         &spec->rootfs_fd, err) < 0)
                        return -1;
        } else if (strcmp(sb->template_name, "host") != 0) {
                return cay_fail(err, CAY_NOT_FOUND, "template: '%.80s' does not exist", sb->template_name);
        }
        sb->template_kind = spec->template_kind;
        spec->image = s->env.image_of != NULL ? s->env.image_of(s->env.ctx, sb->template_name) : NULL;
        spec->owner = sb->owner;
        spec->template_name = sb->template_name;
        if (cay_sandbox_put_extras(sb, spec, err) < 0)
                return -1;
        if (sb->has_workspace) {
                if (has_own_folders(sb))
                        spec->workspace_there = sb->workspace_path;
                else if (sb->workspace_fd < 0 && sb->workspace_root == 0)
                        return cay_fail(err, CAY_CONFLICT,
                                        "sandbox '%s' maps a folder that the daemon lost at its restart; "
                                        "give the folder again",
                                        sb->id);
                spec->workspace_root = sb->workspace_root;
                spec->workspace_below = sb->workspace_below;
                spec->workspace_peer = cay_take_fd(sb->workspace_peer);
                if (sb->workspace_fd >= 0) {
                        spec->workspace_fd = fcntl(sb->workspace_fd, F_DUPFD_CLOEXEC, 3);
                        if (spec->workspace_fd < 0)
                                return cay_fail_sys(err, CAY_INTERNAL, -errno, "workspace");
                }
                spec->workspace_rw = sb->workspace_mode == CAY_WORKSPACE_RW;
                spec->workspace_cow = sb->workspace_mode == CAY_WORKSPACE_COW;
        }
        spec->options = sb->options;
        spec->host_plain = sb->options.own_user_only;
        spec->limits = sb->limits;
        spec->may_skip = sb->may_skip;
        spec->brief = sb->brief;
        if (sb->brief) /* its only command would not wait for it; those of the pool have one */
                spec->options.warm = false;
        spec->keep = sb->engine->engine->caps & CAY_ENGINE_CAN_KEEP && !sb->options.no_init && !sb->brief;
        spec->go_on = sb->kept;
        if (spec->go_on && !spec->keep)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the %s engine cannot keep files on this host now; the files of '%s' are "
                                "kept for a daemon that can",
                                sb->engine->name, sb->id);
        return cay_spec_check(spec, err);
}

/*
 * A failed start leaves the sandbox as it was, except when its files cannot be restored: that is shown as an
 * error.
 */
static void give_up_start(struct cay_sandbox *sb, const struct cay_error *err)
{
        cay_sandbox_move(sb, sb->layer_bad || sb->before == CAY_STATE_ERROR ? CAY_SANDBOX_EVENT_FAIL
                                                                            : CAY_SANDBOX_EVENT_UNDO);
        if (cay_sandbox_state(sb) == CAY_STATE_ERROR)
                cay_sandbox_set_cause(sb,
                                      sb->layer_bad && err->sys == EUCLEAN ? CAY_CAUSE_DISK
                                                                           : CAY_CAUSE_SANDBOX_GONE,
                                      err->msg);
        else
                cay_sandbox_set_cause(sb, sb->before_cause, sb->before_text);
        if (sb->layer_bad && err->sys == ENOENT)
                sb->kept = false;
        sb->layer_bad = false;
        cay_sandbox_store_again(sb);
        cay_sandbox_finish(sb, err);
}

/* A failed create leaves nothing. */
static void give_up(struct cay_sandbox *sb, const struct cay_error *err)
{
        struct cay_service *s = sb->service;
        struct cay_error why = *err;

        cay_meters_note(&s->meters, sb->owner, CAY_METER_CREATE_FAILED, 0);
        if (cay_sandbox_pending(sb) == CAY_PENDING_START) {
                give_up_start(sb, &why);
                return;
        }
        if (sb->kept) /* files that were copied for it */
                cay_async_remove_box(sb->engine, sb->id, false);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_UNDO);
        cay_sandbox_answer(s, &sb->calls, &why);
        why = (struct cay_error){ 0 };
        cay_sandbox_answer(s, &sb->destroy_calls, &why); /* it is gone, as asked */
        cay_sandbox_free(sb);
}

static void on_undone(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK)
                cay_log_warn("box not removed, ignoring", "id=%s error=%s", sb->id, err->msg);
        sb->has_box = false;
        sb->kept = sb->kept && cay_sandbox_pending(sb) == CAY_PENDING_START; /* else its files went with it */
        cay_sandbox_unpublish(sb);
        give_up(sb, &sb->why);
}

static void undo(struct cay_sandbox *sb, const struct cay_error *why)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_undone);

        sb->why = *why;
        cay_link_close(sb);
        cay_async_unmake(e, cay_sandbox_pending(sb) == CAY_PENDING_START && sb->kept, CAY_SERVICE_UNMAKE_MS);
}

static void copy_first(struct cay_sandbox *sb, const char *first)
{
        for (struct cay_service_call *c = sb->calls; c != NULL; c = c->next)
                cay_str_copy(c->first, sizeof(c->first), first);
}

static void on_ready_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb == NULL)
                return;
        if (err->code == CAY_EXISTS) {
                copy_first(sb, e->commit.first);
                cay_claim_say_taken(&why, sb->claim, e->commit.first);
        }
        if (err->code != CAY_OK) {
                undo(sb, &why);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_create_stored);
        cay_claim_release(sb->service, sb->owner, sb->claim);
        sb->claim[0] = '\0';
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_meters_note(&sb->service->meters, sb->owner, CAY_METER_CREATE_DONE,
                        (cay_clock_ns() - sb->begun_ns) / 1000);
        cay_tick_sandbox(sb, 0);
        cay_sandbox_finish(sb, NULL);
}

static void store_ready(struct cay_sandbox *sb, bool went_on)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_ready_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);
        struct cay_store_claim claim = { .owner = sb->owner, .key = sb->claim, .result = sb->id };

        cay_record_put_sandbox(sb, b, CAY_STATE_READY);
        if (sb->claim[0] != '\0')
                cay_store_put_claim(s->store, b, &claim);
        if (cay_sandbox_pending(sb) == CAY_PENDING_START)
                cay_event_put(e, b, sb, CAY_EVENT_STARTED, "kept", went_on ? "true" : "false", "mended",
                              sb->layer_mended ? "true" : "", NULL);
        else
                cay_event_put(e, b, sb, CAY_EVENT_CREATED, "template", sb->template_name, "engine",
                              sb->engine->name, "snapshot", sb->from, NULL);
        cay_async_commit(e, b);
}

static void on_published(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                cay_wrap(&why, "publish its ports");
                undo(sb, &why);
                return;
        }
        cay_sandbox_note_own_ports(sb, &e->box);
        store_ready(sb, e->spec.go_on);
}

/* The box is there, with its link. */
static void connected(struct cay_sandbox *sb, bool went_on)
{
        if (cay_sandbox_has_own_ports(sb))
                cay_sandbox_publish(sb, on_published)->spec.go_on = went_on;
        else
                store_ready(sb, went_on);
}

static void on_connected(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                cay_wrap(&why, "network");
                undo(sb, &why);
                return;
        }
        sb->network_synced = true;
        cay_proxy_tend(sb);
        connected(sb, e->spec.go_on);
}

static void on_let_go(struct cay_timer *t)
{
        struct cay_sandbox *sb = cay_container_of(t, struct cay_sandbox, adopt_timer);
        struct cay_error err = { 0 };

        if (sb->destroy_why != NULL) {
                cay_fail(&err, CAY_CONFLICT, "sandbox '%s' was destroyed while it was started", sb->id);
                give_up(sb, &err);
                return;
        }
        make_box(sb);
}

/*
 * The previous box is gone, but the kernel still writes its data. The engine serves everybody, so the wait is
 * here.
 */
static bool waits_for_files(struct cay_sandbox *sb, const struct cay_async *e, const struct cay_error *err)
{
        uint64_t now = cay_clock_ms();

        if (e->local || !e->spec.go_on || err->code != CAY_UNAVAILABLE || err->sys != EBUSY)
                return false;
        if (now >= sb->let_go_until_ms)
                return false;
        cay_log_debug("start waits for its files", "id=%s", sb->id);
        cay_timer_set(sb->service->loop, &sb->adopt_timer, CAY_SERVICE_LET_GO_AGAIN_MS, on_let_go);
        return true;
}

static void on_made(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = { 0 };
        struct cay_service *s = e->service;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                sb->has_box = false;
                if (waits_for_files(sb, e, err))
                        return;
                sb->layer_bad = !e->local && e->spec.go_on && err->code == CAY_CONFLICT;
                give_up(sb, err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_create_made);
        memcpy(sb->secret, e->box.secret, sizeof(sb->secret));
        if (e->box.workspace != NULL) { /* no root of its own: then the folder is elsewhere */
                free(sb->box_workspace);
                sb->box_workspace = strdup(e->box.workspace);
        }
        sb->kept = e->box.kept;
        sb->layer_mended = e->spec.go_on && e->box.mended;
        if (sb->layer_mended)
                cay_log_warn("files were mended after the machine had stopped: what was written last may be "
                             "missing",
                             "id=%s", sb->id);
        sb->skipped = e->box.skipped | cay_sandbox_unheld_network(sb);
        sb->watched = e->box.watched & cay_limits_set_mask(&sb->limits);
        cay_sandbox_note_ports(sb, &e->box);
        free(cay_take(sb->box_workspace));
        if (e->box.workspace != NULL)
                sb->box_workspace = strdup(e->box.workspace);
        sb->oom_seen = sb->pids_seen = 0;
        sb->started_wall_ms = cay_service_wall(s);
        if (sb->destroy_why != NULL) {
                cay_fail(&why, CAY_CONFLICT, "sandbox '%s' was destroyed while it was created", sb->id);
                undo(sb, &why);
        } else if (cay_link_attach(sb, cay_take_fd(e->box.link_fd), false, &why) < 0) {
                undo(sb, &why);
        } else if (e->spec.egress != CAY_EGRESS_NONE) {
                cay_sandbox_connect_take(sb, cay_take_fd(e->box.network_fd), on_connected)->spec.go_on =
                        e->spec.go_on;
        } else {
                connected(sb, e->spec.go_on);
        }
}

static void make_box(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_made);
        struct cay_engine *engine;
        struct cay_error err = { 0 };
        struct cay_job *job;

        if (cay_pool_use(sb, e)) {
                cay_kill_point_reached(CAY_KILL_POINT_create_sent);
                return;
        }
        if (cay_sandbox_check_engine(sb, &err) < 0 || make_spec(sb, &e->spec, &err) < 0) {
                e->local = true; /* from the loop, like every other end */
                cay_service_fail_job(s, cay_async_engine(e, CAY_SERVICE_MAKE_MS), &err);
                return;
        }
        e->makes = true;
        e->is_new = cay_sandbox_pending(sb) == CAY_PENDING_MAKE;
        sb->has_box = true;
        engine = cay_async_ask(e, CAY_SERVICE_MAKE_MS, &job);
        if (engine != NULL)
                engine->ops->create(engine, &e->spec, &e->box, job);
        cay_kill_point_reached(CAY_KILL_POINT_create_sent);
}

static void on_files(struct cay_sandbox *sb, const struct cay_error *err)
{
        struct cay_error why = *err;

        if (why.code == CAY_OK && sb->destroy_why != NULL)
                cay_fail(&why, CAY_CONFLICT, "sandbox '%s' was destroyed while it was created", sb->id);
        if (why.code != CAY_OK) {
                give_up(sb, &why);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_create_cloned);
        make_box(sb);
}

/* With files of a snapshot it is as if it was started again. */
static void make_files(struct cay_sandbox *sb)
{
        if (sb->from[0] == '\0') {
                make_box(sb);
                return;
        }
        sb->let_go_until_ms = cay_clock_ms() + CAY_SERVICE_LET_GO_MS;
        cay_sandbox_get_files(sb, on_files);
}

static void on_claim_known(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb == NULL)
                return;
        if (err->code == CAY_OK && e->query.count > 0) {
                const struct cay_store_claim *claim = e->query.rows[0];

                copy_first(sb, claim->result);
                cay_claim_say_taken(&why, sb->claim, claim->result);
        } else if (err->code == CAY_OK && sb->destroy_why != NULL) {
                cay_fail(&why, CAY_CONFLICT, "sandbox '%s' was destroyed while it was created", sb->id);
        }
        if (why.code != CAY_OK)
                give_up(sb, &why);
        else
                make_files(sb);
}

void cay_service_create(struct cay_service *s, const struct cay_sandbox_new *what, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb;
        const char *rival;

        c->next = NULL;
        cay_meters_note(&s->meters, what->owner != NULL ? what->owner : "", CAY_METER_CREATE_ASKED, 0);
        if (cay_sandbox_check_new(s, what, &err) < 0) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        sb = cay_sandbox_new(s);
        if (fill_new(sb, what, &err) == 0)
                cay_pool_try(sb, what->pool);
        if (err.code == CAY_OK && sb->claim[0] != '\0') {
                rival = cay_claim_take(s, sb->owner, sb->claim, sb->id);
                if (rival != NULL) {
                        cay_str_copy(c->first, sizeof(c->first), rival);
                        cay_claim_say_taken(&err, sb->claim, rival);
                        sb->claim[0] = '\0'; /* belongs to the caller */
                }
        }
        if (err.code == CAY_OK && cay_table_add(s, sb) < 0)
                cay_fail_because(&err, CAY_LIMIT, CAY_REASON_SANDBOXES,
                                 "there are too many sandboxes; destroy some");
        if (err.code != CAY_OK) {
                cay_sandbox_free(sb);
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_create_asked);
        cay_sandbox_asked_by(sb, &(struct cay_viewer){ .owner = sb->owner, .by = what->by });
        cay_sandbox_begin(sb, CAY_SANDBOX_EVENT_MAKE, c);
        if (what->claim != NULL)
                cay_claim_look_up(cay_async_new(s, sb, NULL, on_claim_known), sb->owner, sb->claim);
        else
                make_files(sb);
}

static void on_old_gone(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                give_up(sb, err);
                return;
        }
        sb->has_box = false;
        make_box(sb);
}

void cay_service_start(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       const struct cay_folder *folder, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);
        struct cay_async *e;

        c->next = NULL;
        if (sb != NULL && cay_sandbox_check_engine(sb, &err) == 0 && cay_sandbox_check_still(sb, &err) == 0) {
                if (cay_sandbox_state(sb) != CAY_STATE_STOPPED && cay_sandbox_state(sb) != CAY_STATE_ERROR)
                        cay_fail(&err, CAY_CONFLICT, "sandbox '%s' is running already (%s)", sb->id,
                                 cay_state_word(cay_sandbox_state(sb)));
                else if (sb->unmaking)
                        cay_fail(&err, CAY_UNAVAILABLE,
                                 "what is left of sandbox '%s' is being removed; try again", sb->id);
                else if (!sb->has_box && cay_service_check_room(s, sb->owner, &err) == 0)
                        cay_sandbox_check_own_ports(sb, &err);
        }
        if (err.code == CAY_OK && cay_service_check_disk(s, &err) == 0 && sb->has_workspace && folder)
                hold_folder(sb, folder, &err);
        if (err.code != CAY_OK) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_meters_note(&s->meters, sb->owner, CAY_METER_CREATE_ASKED, 0);
        sb->let_go_until_ms = cay_clock_ms() + CAY_SERVICE_LET_GO_MS;
        sb->before = cay_sandbox_state(sb);
        sb->before_cause = sb->cause;
        cay_str_copy(sb->before_text, sizeof(sb->before_text), sb->cause_text);
        cay_sandbox_asked_by(sb, v);
        cay_sandbox_begin(sb, CAY_SANDBOX_EVENT_START, c);
        cay_sandbox_use(sb);
        cay_exec_end_all(sb, CAY_CAUSE_SANDBOX_GONE, "the sandbox did not answer and was restarted");
        cay_sandbox_empty(sb, NULL);
        if (!sb->has_box) {
                make_box(sb);
                return;
        }
        /* In ERROR with a box that does not answer: that box is removed first. */
        e = cay_async_new(s, sb, NULL, on_old_gone);
        cay_async_unmake(e, sb->kept, CAY_SERVICE_UNMAKE_MS);
}
