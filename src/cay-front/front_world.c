/* SPDX-License-Identifier: Apache-2.0 */
/* What ops get beside the service: tokens, keys, folders on the host. */
#include <stdio.h>
#include <string.h>

#include "domain/auth/sandbox_token.h"
#include "domain/auth/token.h"
#include "foundation/base/log.h"
#include "cay-front/front_priv.h"
#include "foundation/http/listen.h"
#include "cay/keeper/hand_over.h"
#include "daemon/store/store_sqlite.h"
#include "foundation/sys/fd.h"

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

static int make_session(const struct cay_op_world *w, const struct cay_caller *who, char *ret,
                        uint64_t *ret_expires_s, struct cay_error *err)
{
        const struct front *f = w->ctx;
        struct cay_token token = { .expires_s = wall_ms() / 1000 + CAY_SESSION_S, .caller = *who };

        token.caller.id[0] = '\0'; /* a key of its own, so that it can be revoked */
        *ret_expires_s = token.expires_s;
        return cay_token_make(&f->secret, CAY_TOKEN_SESSION, &token, ret, err);
}

static int make_link(const struct cay_op_world *w, const char *owner, const char *label, const char *key,
                     uint64_t lifetime_ms, char *ret, uint64_t *ret_expires_s, struct cay_error *err)
{
        const struct front *f = w->ctx;
        struct cay_token token = { .expires_s = (wall_ms() + lifetime_ms) / 1000,
                                   .caller = { .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC } };

        snprintf(token.caller.owner, sizeof(token.caller.owner), "%s", owner);
        if (snprintf(token.caller.id, sizeof(token.caller.id), "%s%s%s", label, key ? ":" : "",
                     key ? key : "") >= (int)sizeof(token.caller.id))
                return cay_fail(err, CAY_INTERNAL, "the link's name is too long");
        *ret_expires_s = token.expires_s;
        return cay_token_make(&f->secret, CAY_TOKEN_PORT, &token, ret, err);
}

static void sandbox_token(const struct cay_op_world *w, int use, const char *sandbox, char *ret)
{
        const struct front *f = w->ctx;

        cay_sandbox_token_make(&f->secret, (enum cay_sandbox_token_use)use, sandbox, ret);
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

/* Compares names only: the front cannot open folders. The warden checks what the front says about one. */
static int find_workspace(const struct cay_op_world *w, const char *path, unsigned *ret_root,
                          const char **ret_below, struct cay_error *err)
{
        const struct front *f = w->ctx;

        for (unsigned i = 0; i < f->config.workspace_roots.count; i++) {
                const char *rest = below(path, f->config.workspace_roots.items[i]);

                if (!rest)
                        continue;
                rest += strspn(rest, "/");
                *ret_root = i + 1;
                *ret_below = rest[0] ? rest : ".";
                return 0;
        }
        return cay_fail(err, CAY_DENIED,
                        "workspace.path: '%.100s' is not below any of workspace_roots; over the unix socket, "
                        "pass the folder's descriptor instead",
                        path);
}

/* The engine that builds templates' images. */
static struct cay_engine *builder(const struct cay_front_engines *e)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (e->rows[i].engine && e->rows[i].engine->ops->build)
                        return e->rows[i].engine;
        return NULL;
}

static void fill_volume_keepers(const struct cay_front_engines *e, struct cay_op_world *ret)
{
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                if (e->rows[i].engine && e->rows[i].engine->ops->volumes)
                        ret->volume_keepers[ret->volume_keeper_count++] = e->rows[i].engine;
}

void cay_front_fill_world(struct front *f)
{
        cay_config_url(&f->config, cay_listen_port(CAY_HAND_TCP), f->url);
        cay_admission_init(&f->templates.use.admission, f->loop, f->service, &f->templates.use.set);
        f->templates.use.confirms.secret = &f->secret;
        f->world = (struct cay_op_world){
                .loop = f->loop,
                .service = f->service,
                .store = f->store,
                .clock = &cay_store_system_clock,
                .config = &f->config,
                .keys = f->keys,
                .browsers = f->browsers,
                .vault = f->vault,
                .machines = f->machines,
                .machine_facts = cay_front_machine_facts,
                .machine_forget = cay_front_machine_forget,
                .machine_changed = cay_front_machine_changed,
                .agents = f,
                .key = f->machines ? &f->agent_pair : NULL,
                .use = &f->use,
                .logins = &f->logins,
                .seats = f->seats,
                .budgets = &f->budgets,
                .url = f->url,
                .started_wall_ms = wall_ms(),
                .make_token = make_token,
                .make_session = make_session,
                .make_link = make_link,
                .sandbox_token = sandbox_token,
                .find_workspace = find_workspace,
                .templates = &f->templates.use,
                .builder = builder(&f->engines),
                .ctx = f,
        };
        fill_volume_keepers(&f->engines, &f->world);
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
