/* SPDX-License-Identifier: Apache-2.0 */
/* What ops are given beyond the service: tokens, keys, folders on the host. */
#include <stdio.h>
#include <string.h>

#include "auth/token.h"
#include "base/log.h"
#include "front/front_priv.h"
#include "store/store_sqlite.h"
#include "sys/fd.h"

#define KEY_STORE_MS 60000u /* how often uses of keys are stored */

static uint64_t wall_ms(void)
{
        struct cay_clock_reading now;

        cay_store_system_clock.read(&cay_store_system_clock, &now);
        return now.wall_ms;
}

static int make_token(const struct cay_op_world *w, const char *owner, unsigned scopes, uint64_t lifetime_ms,
                      char *ret, uint64_t *ret_expires_s, struct cay_error *err)
{
        const struct front *f = w->ctx;
        struct cay_token token = { .expires_s = (wall_ms() + lifetime_ms) / 1000,
                                   .caller = { .scopes = scopes } };

        snprintf(token.caller.owner, sizeof(token.caller.owner), "%s", owner);
        *ret_expires_s = token.expires_s;
        return cay_token_make(&f->secret, CAY_TOKEN_BEARER, &token, ret, err);
}

/* The part of path below a root, or NULL. */
static const char *below(const char *path, const char *root)
{
        size_t len = strlen(root);

        while (len > 1 && root[len - 1] == '/')
                len--;
        if (strncmp(path, root, len) != 0)
                return NULL;
        if (path[len] == '\0')
                return ".";
        return path[len] == '/' ? path + len + 1 : NULL;
}

/* No link is followed below the root, and nothing leads out of it; then the front's own (few) rights decide. */
static int open_workspace(const struct cay_op_world *w, const char *path, int *ret_fd, struct cay_error *err)
{
        const struct front *f = w->ctx;

        for (unsigned i = 0; i < f->config.workspace_roots.count && i < CAY_FRONT_ROOTS_MAX; i++) {
                const char *rest = below(path, f->config.workspace_roots.items[i]);
                int fd;

                if (!rest || f->roots[i] < 0)
                        continue;
                fd = sys_open_beneath(f->roots[i], rest[0] ? rest : ".", O_PATH | O_DIRECTORY, 0);
                if (fd < 0)
                        return cay_fail_sys(err, CAY_INVALID, fd, "workspace.path: open '%.100s'", path);
                *ret_fd = fd;
                return 0;
        }
        return cay_fail(err, CAY_DENIED,
                        "workspace.path: '%.100s' is below none of workspace_roots; over the unix socket "
                        "pass the folder's "
                        "descriptor instead",
                        path);
}

void cay_front_fill_world(struct front *f)
{
        f->world = (struct cay_op_world){
                .loop = f->loop,
                .service = f->service,
                .store = f->store,
                .engine = f->engine,
                .clock = &cay_store_system_clock,
                .config = &f->config,
                .keys = f->keys,
                .started_wall_ms = wall_ms(),
                .make_token = make_token,
                .open_workspace = open_workspace,
                .ctx = f,
        };
}

/* Keys */

struct loading {
        struct front *front;
        struct cay_error err;
};

static bool add_key(void *ctx, const void *record)
{
        struct loading *l = ctx;

        return cay_api_keys_add(l->front->keys, record, &l->err) == 0;
}

int cay_front_load_keys(struct front *f, struct cay_error *err)
{
        struct loading l = { .front = f };

        f->keys = cay_api_keys_new();
        if (!f->keys)
                return cay_fail(err, CAY_INTERNAL, "no memory for the keys");
        if (f->store->ops->load(f->store, CAY_STORE_KEY, add_key, &l, err) < 0)
                return -1;
        if (l.err.code != CAY_OK)
                cay_log_warn("a key could not be read, ignoring", "error=%s", l.err.msg);
        return 0;
}

static void on_uses_stored(struct cay_job *job)
{
        struct front *f = cay_container_of(job, struct front, key_commit.job);

        f->key_busy = false;
        if (job->err.code != CAY_OK)
                cay_log_warn("uses of keys are not stored, ignoring", "error=%s", job->err.msg);
}

static void on_key_time(struct cay_timer *t)
{
        struct front *f = cay_container_of(t, struct front, key_timer);
        const struct cay_store_key *key = f->key_busy ? NULL : cay_api_keys_next_used(f->keys, KEY_STORE_MS);
        struct cay_store_batch *b;

        if (key) {
                b = f->store->ops->begin(f->store);
                for (unsigned i = 0; key && i < 100; i++, key = cay_api_keys_next_used(f->keys, KEY_STORE_MS))
                        cay_store_put_key(f->store, b, key);
                f->key_busy = true;
                cay_job_init(&f->key_commit.job, on_uses_stored);
                f->store->ops->commit(f->store, b, CAY_STORE_FAST, &f->key_commit);
        }
        cay_front_watch_keys(f);
}

void cay_front_watch_keys(struct front *f)
{
        cay_timer_set(f->loop, &f->key_timer, KEY_STORE_MS, on_key_time);
}
