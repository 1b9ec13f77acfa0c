/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process engine (process.h): makes and queries boxes; box_end.c ends them.
 *
 * Theory of operation. A box is one cay-init, spawned with a control socket on descriptor 3 and no
 * CAY_INIT_ISOLATED. It lives until it is destroyed, until it dies unexpectedly (reported by its pidfd), or
 * until this process dies: init then sees the end of the control socket and ends what it started.
 *
 * Freezing is refused: SIGSTOP is visible to waiting parents, and SIGCONT would also continue what the code
 * had stopped itself. Only a kernel freezer works correctly, and that needs our own cgroups, as in the native
 * engine.
 */
#include "engines/process/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "engines/engine_list.h"
#include "foundation/base/str.h"
#include "engines/process/box.h"
#include "engines/process/own_id.h"
#include "engines/process/tree.h"

#define BOXES_MAX 1024u

#define HOLDS                                                                                                \
        (CAY_LIMIT_BIT(files) | CAY_LIMIT_BIT(output_bytes) | CAY_LIMIT_BIT(wall_ms) |                       \
         CAY_LIMIT_BIT(cpu_time_ms))

static struct process_engine *self(struct cay_engine *e)
{
        return cay_container_of(e, struct process_engine, engine);
}

static void finish(struct process_engine *pe, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(pe->loop), job, err);
}

static struct process_box *find(struct process_engine *pe, const char *id)
{
        for (struct process_box *b = pe->boxes; b != NULL; b = b->next)
                if (strcmp(b->id, id) == 0)
                        return b;
        return NULL;
}

int cay_process_open(const struct cay_engine_env *env, const char *ids_at, struct cay_engine **ret,
                     struct cay_error *err)
{
        cay_auto_free struct process_engine *pe = calloc(1, sizeof(*pe));
        int subreaper = 0, n;

        if (pe == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        pe->engine.ops = &cay_engine_process_ops;
        pe->loop = env->loop;
        pe->with_ids = ids_at != NULL;
        pe->ends_gone = true;
        if (pe->with_ids)
                cay_scratch_ids_open(&pe->ids, ids_at);
        n = snprintf(pe->init_path, sizeof(pe->init_path), "%s/cay-init", env->program_dir);
        if (n < 0 || (size_t)n >= sizeof(pe->init_path))
                return cay_fail(err, CAY_INVALID, "the path of cay-init is too long");
        if (access(pe->init_path, X_OK) < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "%s", pe->init_path);
        prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
        pe->was_subreaper = subreaper != 0;
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "become a subreaper");
        process_sweep(&pe->sweep);
        *ret = &cay_take(pe)->engine;
        return 0;
}

static int process_open(const struct cay_engine_env *env, struct cay_engine **ret, struct cay_error *err)
{
        int r = cay_process_open(env, NULL, ret, err);
        struct process_engine *pe;

        if (r < 0)
                return r;
        pe = self(*ret);
        pe->ends_gone = false;
        pe->may_ids = cay_own_id_is_possible();
        if (pe->may_ids) {
                cay_scratch_ids_open(&pe->ids, CAY_SCRATCH_IDS_AT);
                process_sweep(&pe->sweep);
        }
        return 0;
}

/* The kernel counts processes by their id: where that is the box's own, they can be limited. */
static unsigned holds(const struct process_engine *pe)
{
        return HOLDS | (pe->with_ids ? CAY_LIMIT_BIT(pids) : 0);
}

static unsigned process_can_hold(struct cay_engine *e)
{
        return holds(self(e));
}

/* The maximum of processes beside init for an id: raising it needs a capability that we do not have. */
static uint64_t pids_max(void)
{
        struct rlimit most;

        if (getrlimit(RLIMIT_NPROC, &most) < 0 || most.rlim_max == RLIM_INFINITY)
                return UINT64_MAX - 1;
        return most.rlim_max > 0 ? most.rlim_max - 1 : 0;
}

/* Limits of this box that cannot be enforced exactly are not enforced. */
static unsigned holds_of(const struct process_engine *pe, const struct cay_limits *l)
{
        return holds(pe) & ~(l->pids > pids_max() ? CAY_LIMIT_BIT(pids) : 0);
}

/* Requests that this engine cannot satisfy are refused before anything is made. */
static int check(struct process_engine *pe, const struct cay_spec *spec, struct cay_error *err)
{
        unsigned missing =
                cay_limits_set_mask(&spec->limits) & ~holds_of(pe, &spec->limits) & ~spec->may_skip;
        char list[CAY_LIMIT_LIST_MAX];

        if (cay_spec_check(spec, err) < 0 || cay_spec_check_caps(spec, "process", pe->engine.caps, err) < 0)
                return -1;
        if (find(pe, spec->id) != NULL)
                return cay_fail(err, CAY_EXISTS, "'%s' exists already", spec->id);
        if (pe->count >= BOXES_MAX)
                return cay_fail(err, CAY_LIMIT, "there are %u boxes already, which is the maximum",
                                pe->count);
        if (spec->template_kind != CAY_TEMPLATE_HOST)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the process engine has no root of its own: no template but host");
        if (spec->options.read_only)
                return cay_fail(err, CAY_UNSUPPORTED, "the process engine cannot make its root read-only");
        if (spec->workspace_cow)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the process engine has no copy-on-write workspace: commands would change "
                                "the folder itself; use the native engine, or give it as DIR:rw");
        if (spec->workspace_fd >= 0 && !spec->workspace_rw)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the process engine cannot make a workspace read-only: give it as DIR:rw");
        if (pe->with_ids && spec->workspace_fd >= 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "a box with an id of its own has no right to a workspace of another's");
        if (pe->with_ids && missing == CAY_LIMIT_BIT(pids))
                return cay_fail(err, CAY_UNSUPPORTED,
                                "pids: %llu is more than a user of this machine may have beside an init: "
                                "%llu (RLIMIT_NPROC of cay serve)",
                                (unsigned long long)spec->limits.pids, (unsigned long long)pids_max());
        if (missing != 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "the process engine cannot hold these limits: %s (--allow-missing all lets "
                                "it skip them)",
                                cay_limit_mask_text(missing, list, sizeof(list)));
        return 0;
}

/* Making */

static int choose_workspace(struct process_box *b, const struct cay_spec *spec, int *ret_cwd,
                            struct cay_error *err)
{
        char link[32];
        ssize_t n;

        if (spec->workspace_fd < 0) {
                if ((b->engine->with_ids || b->engine->may_ids
                             ? cay_scratch_make_with_id(&b->engine->ids, &b->scratch, err)
                             : cay_scratch_make(&b->scratch, err)) < 0)
                        return -1;
                cay_str_copy(b->workspace, sizeof(b->workspace), b->scratch.path);
                *ret_cwd = b->scratch.fd;
                return 0;
        }
        snprintf(link, sizeof(link), "/proc/self/fd/%d", spec->workspace_fd);
        n = readlink(link, b->workspace, sizeof(b->workspace) - 1);
        if (n < 0 || (size_t)n >= sizeof(b->workspace) - 1)
                return cay_fail_sys(err, CAY_INTERNAL, n < 0 ? -errno : -ENAMETOOLONG,
                                    "find the workspace's path");
        b->workspace[n] = '\0';
        *ret_cwd = spec->workspace_fd;
        return 0;
}

static int make(struct process_engine *pe, struct process_box *b, const struct cay_spec *spec, int link,
                const struct cay_engine_box *box, struct cay_error *err)
{
        struct cay_init_how how = { .path = pe->init_path,
                                    .link = link,
                                    .secret = box->secret,
                                    .test_off = spec->test_off,
                                    .pids = holds_of(pe, &spec->limits) & CAY_LIMIT_BIT(pids)
                                                    ? spec->limits.pids
                                                    : 0 };
        int r;

        if (choose_workspace(b, spec, &how.cwd, err) < 0)
                return -1;
        how.id = b->scratch.id;
        if (cay_init_child_start(&b->init, &how, err) < 0)
                return -1;
        r = cay_watch_add(pe->loop, &b->watch, b->init.pidfd, EPOLLIN, process_box_on_init_gone);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch cay-init") : 0;
}

/* Removes a box that was never returned. Its init may be running, but has had no command yet. */
static void unmake(struct process_box *b)
{
        if (b->init.pid > 0) {
                kill(b->init.pid, SIGKILL);
                waitpid(b->init.pid, NULL, 0);
        }
        cay_scratch_remove(&b->scratch, PROCESS_REMOVE_BUDGET);
        process_box_free(b);
}

static int create(struct process_engine *pe, const struct cay_spec *spec, int link,
                  struct cay_engine_box *box, struct cay_error *err)
{
        struct process_box *b;

        if (check(pe, spec, err) < 0)
                return -1;
        b = calloc(1, sizeof(*b));
        if (b == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        b->engine = pe;
        b->init.pidfd = b->init.control = -1;
        b->scratch = (struct cay_scratch)CAY_SCRATCH_NONE;
        cay_str_copy(b->id, sizeof(b->id), spec->id);
        if (make(pe, b, spec, link, box, err) < 0) {
                unmake(b);
                return -1;
        }
        b->serial = ++pe->last_serial;
        b->next = pe->boxes;
        pe->boxes = b;
        pe->count++;
        b->skipped = cay_limits_set_mask(&spec->limits) & ~holds_of(pe, &spec->limits);
        cay_str_copy(box->id, sizeof(box->id), spec->id);
        box->workspace = b->workspace;
        box->skipped = b->skipped;
        box->is_open = true;
        box->host_uid = b->scratch.id != 0 ? b->scratch.id : geteuid();
        return 0;
}

void cay_process_create(struct cay_engine *e, const struct cay_spec *spec, int link,
                        struct cay_engine_box *box, struct cay_job *job)
{
        struct cay_error err = { 0 };

        finish(self(e), job, create(self(e), spec, link, box, &err) < 0 ? &err : NULL);
}

static int open_link(int *ret_ours, int *ret_theirs, struct cay_error *err)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make the box link");
        *ret_ours = pair[0];
        *ret_theirs = pair[1];
        return 0;
}

static void process_create(struct cay_engine *e, const struct cay_spec *spec, struct cay_engine_box *box,
                           struct cay_job *job)
{
        struct process_engine *pe = self(e);
        cay_auto_close int ours = -1, theirs = -1;
        struct cay_error err = { 0 };

        box->link_fd = -1;
        if (getrandom(box->secret, sizeof(box->secret), 0) != (ssize_t)sizeof(box->secret))
                cay_fail_sys(&err, CAY_INTERNAL, -errno, "make a secret");
        else if (open_link(&ours, &theirs, &err) == 0 && create(pe, spec, theirs, box, &err) == 0)
                box->link_fd = cay_take_fd(ours);
        finish(pe, job, err.code != CAY_OK ? &err : NULL);
}

int cay_process_relink(struct cay_engine *e, struct cay_engine_box *box, int link, struct cay_error *err)
{
        struct process_box *b = find(self(e), box->id);

        if (b == NULL || b->state != BOX_LIVES)
                return cay_fail(err, CAY_NOT_FOUND, "no box '%s', or it has ended", box->id);
        if (cay_init_child_relink(&b->init, link, err) < 0)
                return cay_wrap(err, "box '%s'", box->id);
        box->workspace = b->workspace;
        box->skipped = b->skipped;
        return 0;
}

static void process_relink(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        cay_auto_close int ours = -1, theirs = -1;
        struct cay_error err = { 0 };

        if (open_link(&ours, &theirs, &err) == 0 && cay_process_relink(e, box, theirs, &err) == 0)
                box->link_fd = cay_take_fd(ours);
        finish(self(e), job, err.code != CAY_OK ? &err : NULL);
}

/* Asking */

static void refuse_freezer(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct process_engine *pe = self(e);
        struct cay_error err = { 0 };

        if (find(pe, box->id) == NULL)
                cay_fail(&err, CAY_NOT_FOUND, "no box '%s'", box->id);
        else
                cay_fail(&err, CAY_UNSUPPORTED,
                         "the process engine has no freezer: signals would be seen by the code inside");
        finish(pe, job, &err);
}

static void measure(struct process_box *b)
{
        struct cay_tree_sum sum;

        if (b->reaped || cay_tree_signal(b->init.pid, 0, &sum) < 0)
                return;
        b->last = (struct cay_engine_stats){ .memory_bytes = sum.memory_bytes,
                                             .pids = sum.alive,
                                             .cpu_us = sum.cpu_us };
}

static void process_stats(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct process_engine *pe = self(e);
        struct process_box *b = find(pe, box->id);
        struct cay_error err = { 0 };

        if (b == NULL) {
                cay_fail(&err, CAY_NOT_FOUND, "no box '%s'", box->id);
                finish(pe, job, &err);
                return;
        }
        measure(b);
        box->stats = b->last;
        finish(pe, job, NULL);
}

static void process_destroy(struct cay_engine *e, struct cay_engine_box *box, struct cay_job *job)
{
        struct process_engine *pe = self(e);
        struct process_box *b = find(pe, box->id);
        struct cay_error err = { 0 };

        if (b == NULL) {
                finish(pe, job, NULL);
                return;
        }
        if (b->job != NULL) {
                cay_fail(&err, CAY_CONFLICT, "box '%s' is being destroyed already", box->id);
                finish(pe, job, &err);
                return;
        }
        b->asker = box;
        b->job = job;
        if (b->state >= BOX_KILLING)
                return; /* it ended unexpectedly, and is being destroyed */
        measure(b);
        process_box_begin_end(b);
        process_box_end(&b->tick);
}

static void process_on_gone(struct cay_engine *e, void (*gone)(void *ctx, const char *id), void *ctx)
{
        self(e)->gone = gone;
        self(e)->gone_ctx = ctx;
}

static void process_list(struct cay_engine *e, void (*each)(void *ctx, const char *id), void *ctx)
{
        for (struct process_box *b = self(e)->boxes; b != NULL; b = b->next)
                each(ctx, b->id);
}

const char *cay_process_list_from(struct cay_engine *e, uint32_t from, uint32_t *ret_next)
{
        const struct process_box *first = NULL;

        for (const struct process_box *b = self(e)->boxes; b != NULL; b = b->next)
                if (b->serial >= from && b->state == BOX_LIVES &&
                    (first == NULL || b->serial < first->serial))
                        first = b;
        if (first == NULL)
                return NULL;
        *ret_next = first->serial + 1;
        return first->id;
}

static void process_trace(struct cay_engine *e,
                          void (*each)(void *ctx, const char *who, const char *step, uint64_t ns), void *ctx)
{
}

static int process_close(struct cay_engine *e)
{
        struct process_engine *pe;
        struct cay_error err = { 0 };

        if (e == NULL)
                return 0;
        pe = self(e);
        cay_fail(&err, CAY_UNAVAILABLE, "the engine is closed");
        while (pe->boxes != NULL) {
                struct process_box *b = pe->boxes;

                if (b->job != NULL)
                        finish(pe, cay_take(b->job), &err);
                b->asker = NULL;
                cay_timer_clear(&b->tick);
                if (b->state < BOX_KILLING)
                        process_box_begin_end(b);
                while (process_box_end_step(b))
                        usleep(500);
        }
        cay_timer_clear(&pe->sweep);
        if (pe->with_ids || pe->may_ids)
                cay_scratch_ids_close(&pe->ids);
        if (!pe->was_subreaper)
                prctl(PR_SET_CHILD_SUBREAPER, 0);
        free(pe);
        return 0;
}

const struct cay_engine_ops cay_engine_process_ops = {
        .name = "process",
        .lacks = CAY_ENGINE_process_LACKS,
        .open = process_open,
        .close = process_close,
        .can_hold = process_can_hold,
        .create = process_create,
        .relink = process_relink,
        .freeze = refuse_freezer,
        .thaw = refuse_freezer,
        .stats = process_stats,
        .destroy = process_destroy,
        .on_gone = process_on_gone,
        .list = process_list,
        .trace = process_trace,
};
