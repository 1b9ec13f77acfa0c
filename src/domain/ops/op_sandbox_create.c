/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sandbox. The request's values come first, then the template's, then the configuration's. */
#include <fcntl.h>
#include <sys/stat.h>

#include "domain/auth/machines.h"
#include "domain/settings/config.h"
#include "foundation/base/str.h"
#include "domain/ops/create_args.h"
#include "domain/ops/network_use.h"
#include "domain/ops/secret_use.h"
#include "domain/ops/snapshot_use.h"
#include "domain/ops/template_use.h"
#include "domain/ops/view.h"
#include "domain/ops/most_time.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"

#define DEFAULT_FILES 4096
#define SAID_MAX (4u << 20)
#define POLICY_MAX CAY_SERVICE_TEXT_MAX

const struct cay_field cay_create_workspace_fields[] = {
        { "path", CAY_FIELD_TEXT, offsetof(struct cay_create_workspace, path), 0,
          "folder on the host; leave it out if its descriptor comes with the request over the unix socket" },
        { "mode", CAY_FIELD_TEXT, offsetof(struct cay_create_workspace, mode), 0, "ro (default), rw or cow" },
        {},
};

static const struct cay_field fields[] = {
#define CAY_CREATE_AT(member) offsetof(struct cay_create_args, member)
#include "domain/ops/create_fields.def"
#undef CAY_CREATE_AT
        { "project_name", CAY_FIELD_TEXT, offsetof(struct cay_create_args, project_name), 0,
          "stored as the label project_name", .max = 256 },
        { "template", CAY_FIELD_TEXT, offsetof(struct cay_create_args, template_name), 0,
          "template, or name of a snapshot; default: host", .max = 63 },
        { "snapshot", CAY_FIELD_TEXT, offsetof(struct cay_create_args, snapshot), 0,
          "id or name of a snapshot whose files it gets; its template, disk and variables are the default",
          .min = 1, .max = 63 },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct cay_create_args, timeout_ms), 0,
          "time to live (\"90s\", \"2h\", seconds); 0: until destroyed",
          .given = CAY_FIELD_GIVEN(struct cay_create_args, has_timeout) },
        { "idle_timeout", CAY_FIELD_DURATION, offsetof(struct cay_create_args, idle_ms), 0,
          "idle time after which it is destroyed",
          .given = CAY_FIELD_GIVEN(struct cay_create_args, has_idle) },
        { "own_user_only", CAY_FIELD_BOOL, offsetof(struct cay_create_args, options.own_user_only), 0,
          "never run commands as another user; makes creation faster" },
        { "purpose", CAY_FIELD_TEXT, offsetof(struct cay_create_args, purpose), 0,
          "purpose (the code, the task); a confirmation applies only to it", .max = 512 * 1024 },
        { "execution_id", CAY_FIELD_TEXT, offsetof(struct cay_create_args, execution_id), 0,
          "single-use id: a second request with it creates nothing (409)", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

struct create {
        struct cay_service_call service;
        struct cay_waiter waiter; /* while too many of its template are alive */
        struct cay_store_commit spend;
        struct cay_confirmation confirmation;
        struct cay_snapshot_use snapshot;
        struct cay_op_call *call;
};

/* A default that the engine cannot enforce would refuse every plain request. */
void cay_op_fill_limits(struct cay_limits *l, const struct cay_config *config, unsigned held)
{
        bool has_disk = held & CAY_LIMIT_BIT(disk_bytes), has_rates = held & CAY_LIMIT_BIT(network_up);
        const struct {
                uint64_t *at, value;
        } defaults[] = {
                { &l->memory_bytes, config->default_memory },
                { &l->cpu_milli, config->default_cpus },
                { &l->pids, config->default_pids },
                { &l->disk_bytes, has_disk ? config->default_disk : 0 },
                { &l->inodes, has_disk ? config->default_inodes : 0 },
                { &l->files, DEFAULT_FILES },
                { &l->network_up, has_rates ? config->default_network_up : 0 },
                { &l->network_down, has_rates ? config->default_network_down : 0 },
                { &l->network_total, has_rates ? config->default_network_total : 0 },
        };

        for (unsigned i = 0; i < CAY_COUNT(defaults); i++)
                if (*defaults[i].at == 0)
                        *defaults[i].at = defaults[i].value;
}

/*
 * One caller must not be able to take the whole machine: requested limits have a ceiling. Callers of /sandbox
 * request none: their limits are settings.
 */
static int check_most(const struct cay_op_call *c, const struct cay_create_args *a, const char **ret_field,
                      struct cay_error *err)
{
        const struct cay_config *config = c->world->config;
        const struct cay_limits *l = &a->limits;
        const struct {
                const char *field, *key;
                enum cay_limit nr;
                uint64_t asked, most;
        } rows[] = {
                { a->said_memory_limit ? "memory_limit" : "limits.memory", "most_memory",
                  CAY_LIMIT_NR_memory_bytes, l->memory_bytes, config->most_memory },
                { "limits.swap", "most_memory", CAY_LIMIT_NR_swap_bytes, l->swap_bytes, config->most_memory },
                { a->said_cpu_limit ? "cpu_limit" : "limits.cpus", "most_cpus", CAY_LIMIT_NR_cpu_milli,
                  l->cpu_milli, config->most_cpus },
                { "limits.pids", "most_pids", CAY_LIMIT_NR_pids, l->pids, config->most_pids },
                { "limits.disk", "most_disk", CAY_LIMIT_NR_disk_bytes, l->disk_bytes, config->most_disk },
                { "limits.inodes", "most_inodes", CAY_LIMIT_NR_inodes, l->inodes, config->most_inodes },
        };
        char asked[48], most[48];

        if (cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN) || c->dialect == CAY_OP_SERVICE)
                return 0;
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (rows[i].asked <= rows[i].most)
                        continue;
                *ret_field = rows[i].field;
                return cay_fail(err, CAY_INVALID,
                                "%s: %s is more than callers may ask for here (%s): ask for less, or have %s "
                                "raised",
                                rows[i].field,
                                cay_limit_value_text(rows[i].nr, rows[i].asked, asked, sizeof(asked)),
                                cay_limit_value_text(rows[i].nr, rows[i].most, most, sizeof(most)),
                                rows[i].key);
        }
        if (cay_op_check_time(c, "limits.wall_time", l->wall_ms, err) < 0) {
                *ret_field = "limits.wall_time";
                return -1;
        }
        return 0;
}

static int fill_skip(const struct cay_field_texts *words, unsigned *ret, struct cay_error *err)
{
        for (unsigned i = 0; i < words->count; i++) {
                unsigned mask;

                if (cay_limit_mask_parse("may_skip", words->items[i], &mask, err) < 0)
                        return -1;
                *ret |= mask;
        }
        return 0;
}

static int fill_mode(const char *text, enum cay_workspace_mode *ret, struct cay_error *err)
{
        static const struct {
                const char *word;
                enum cay_workspace_mode mode;
        } modes[] = { { "ro", CAY_WORKSPACE_RO }, { "rw", CAY_WORKSPACE_RW }, { "cow", CAY_WORKSPACE_COW } };

        *ret = CAY_WORKSPACE_RO;
        if (text == NULL)
                return 0;
        for (unsigned i = 0; i < CAY_COUNT(modes); i++) {
                if (strcmp(modes[i].word, text) == 0) {
                        *ret = modes[i].mode;
                        return 0;
                }
        }
        return cay_fail(err, CAY_INVALID, "workspace.mode: '%.40s' must be ro, rw or cow", text);
}

#define DISK_MASK (CAY_LIMIT_BIT(disk_bytes) | CAY_LIMIT_BIT(inodes))

/* The remote engine needs a machine of the caller's; an owner with one need not name it. */
static int fill_machine(const struct cay_op_call *c, const struct cay_engine_view *engine,
                        const char **machine, struct cay_error *err)
{
        const struct cay_machine *only;

        if (!(engine->caps & CAY_ENGINE_CAN_OWN_FOLDERS))
                return *machine ? cay_fail(err, CAY_INVALID,
                                           "machine: only the engine remote has machines; leave engine out")
                                : 0;
        if (!c->world->machines)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "this daemon takes no agents of machines: its log says why");
        if (*machine)
                return cay_machines_find(c->world->machines, c->caller.owner, *machine)
                               ? 0
                               : cay_fail(err, CAY_NOT_FOUND,
                                          "machine: there is no '%.63s'; `cay remote` lists yours", *machine);
        only = cay_machines_only(c->world->machines, c->caller.owner);
        if (!only)
                return cay_fail(
                        err, CAY_INVALID,
                        "machine: name the one to use; `cay remote` lists yours, `cay remote add` adds one");
        *machine = only->name; /* until the sandbox has its copy */
        return 0;
}

/*
 * A template's disk limits apply to engines that support them; requested ones must be enforced. An engine
 * without isolation enforces defaults as far as it can, and the rest is reported (`skipped`).
 */
static unsigned limits_to_skip(const struct cay_limits *asked, const struct cay_engine_view *engine)
{
        unsigned lacks = engine->isolates ? DISK_MASK : CAY_LIMIT_MASK_ALL;

        if (engine->isolates && engine->holds & CAY_LIMIT_BIT(disk_bytes))
                return 0;
        return lacks & ~engine->holds & ~cay_limits_set_mask(asked);
}

static struct cay_network_wish wish_of(const struct cay_create_args *a)
{
        return (struct cay_network_wish){
                .network = a->network, .allow = a->allow, .deny = a->deny, .is_member = a->member.network
        };
}

/* What leads out by a proxy leads out. */
static unsigned able(unsigned caps)
{
        return caps & CAY_ENGINE_CAN_PROXY ? caps | CAY_ENGINE_CAN_EGRESS : caps;
}

/* If only some engines support a requested feature, `auto` means the first of those. */
static bool choose_able(struct cay_op_call *c, const struct cay_template *t, struct cay_engine_view *ret)
{
        const struct cay_create_args *a = c->args;
        const struct cay_network_wish wish = wish_of(a);
        const char *network = a->network ? a->network : a->allow.count > 0 ? "list" : t ? t->network : "none";
        const char *init = a->init ? a->init : t ? t->init : "cay";
        bool has_way_out = strcmp(network, "none") != 0 || wish.is_member;
        unsigned wanted = (cay_op_network_has_rules(t, &wish) ? CAY_ENGINE_CAN_EGRESS : 0) |
                          (has_way_out && a->ports.count > 0 ? CAY_ENGINE_CAN_PORTS : 0) |
                          (a->volumes.count > 0 ? CAY_ENGINE_CAN_VOLUMES : 0) |
                          (strcmp(init, "none") == 0 ? CAY_ENGINE_CAN_NO_INIT : 0);

        if (wanted == 0 && !has_way_out)
                return false;
        for (unsigned i = 0; cay_service_engine_at(c->world->service, i, ret); i++)
                if ((able(ret->caps) & wanted) == wanted &&
                    (!has_way_out || ret->caps & CAY_ENGINE_CAN_REACH_OUT))
                        return true;
        return false;
}

/* The engine whose sandboxes are on users' own machines; NULL: it is not there. */
static const char *machine_engine(const struct cay_op_call *c, struct cay_engine_view *ret)
{
        for (unsigned i = 0; cay_service_engine_at(c->world->service, i, ret); i++)
                if (ret->is_there && ret->caps & CAY_ENGINE_CAN_OWN_FOLDERS)
                        return ret->name;
        return NULL;
}

static int choose_engine(struct cay_op_call *c, const struct cay_template *t, struct cay_engine_view *ret,
                         struct cay_error *err)
{
        const struct cay_create_args *a = c->args;
        bool is_open = !a->engine || strcmp(a->engine, "auto") == 0;
        struct cay_engine_view named;
        const char *asked = is_open && a->options.machine ? machine_engine(c, &named) : a->engine;
        const char *name = NULL;

        /* An unknown name is the request's error, whatever the template says. */
        if (asked && cay_service_engine_choose(c->world->service, asked, &named, err) < 0)
                return -1;
        if (asked && strcmp(asked, "auto") == 0 && !named.isolates)
                return cay_fail(err, CAY_CONFLICT,
                                "engine: auto selects only engines with isolation, and this daemon has only "
                                "%s; leave engine out, or name it",
                                named.name);
        if (cay_op_template_engine(t, asked, &name, err) < 0)
                return -1;
        if (strcmp(name, "auto") == 0 && choose_able(c, t, ret))
                return 0;
        return cay_service_engine_choose(c->world->service, name, ret, err);
}

/*
 * A request that names a template has its bounds. A request for a network without a template does not mean
 * the default template's.
 */
static bool is_unbound(const struct cay_create_args *a)
{
        return !a->template_name && (a->network || a->allow.count > 0 || a->member.network);
}

/* The operator's setting for the clients of a dialect. */
static bool is_given_network(const struct cay_op_call *c)
{
        const struct cay_config *config = c->world->config;

        return (c->dialect == CAY_OP_E2B && strcmp(config->e2b_network, "bridge") == 0) ||
               (c->dialect == CAY_OP_BROWSERBASE && strcmp(config->browserbase_network, "bridge") == 0);
}

/* A network needs permission: from the template, or from an administrator. */
static int fill_network(const struct cay_op_call *c, const struct cay_template *t,
                        const struct cay_engine_view *engine, struct cay_sandbox_new *what,
                        struct cay_buf *policy, struct cay_error *err)
{
        const struct cay_create_args *a = c->args;
        const struct cay_network_wish wish = wish_of(a);
        const struct cay_member_place place = { .owner = what->owner, .name = what->name };
        /* The operator's setting is a permission, too. */
        bool is_given = is_given_network(c);
        bool is_admin = cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN) || is_given;
        const char *network = NULL;
        int found;

        if (is_given || (is_admin && is_unbound(a)))
                t = NULL;
        if (cay_op_network_word(t, &wish, &network, err) < 0)
                return -1;
        found = cay_network_find(network);
        if (found < 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "network: '%.40s' must be none, list, bridge, learn or private", network);
        what->network = (enum cay_network)found;
        if (found == CAY_NETWORK_NONE)
                return cay_op_member_put(c->world->service, &place, &a->member, policy, err);
        if (!t && !is_admin)
                return cay_fail(err, CAY_DENIED,
                                "network: '%s' needs a template that allows it (network_mode), or an "
                                "administrator; name such a template",
                                network);
        if (a->secrets.count > 0 && !(able(engine->caps) & CAY_ENGINE_CAN_EGRESS))
                return cay_fail(
                        err, CAY_UNSUPPORTED,
                        "secrets: the network of sandboxes of the %s engine has no rules, and secrets "
                        "need them; leave secrets out, or choose another engine",
                        engine->name);
        if (!(engine->caps & CAY_ENGINE_CAN_EGRESS) &&
            !(engine->caps & CAY_ENGINE_CAN_PROXY &&
              (what->network != CAY_NETWORK_BRIDGE || cay_op_network_has_rules(t, &wish))))
                /* the engine's own network, which knows no rules */
                return cay_engine_caps_check(engine->name, engine->caps,
                                             cay_op_network_has_rules(t, &wish)
                                                     ? CAY_ENGINE_CAN_EGRESS
                                                     : CAY_ENGINE_CAN_NETWORK_BRIDGE,
                                             err);
        if (cay_op_network_policy(t, what->network, &wish, policy, err) < 0 ||
            (wish.is_member && cay_op_member_allow(t, err) < 0) ||
            cay_op_member_put(c->world->service, &place, &a->member, policy, err) < 0)
                return -1;
        what->policy = cay_buf_data(policy);
        return 0;
}

static int fill_init(const struct cay_op_call *c, const struct cay_template *t,
                     const struct cay_engine_view *engine, bool *ret_none, struct cay_error *err)
{
        const struct cay_create_args *a = c->args;
        const char *init = NULL;

        if (cay_op_template_init(t, a->init, &init, err) < 0)
                return -1;
        *ret_none = strcmp(init, "none") == 0;
        return *ret_none ? cay_engine_caps_check(engine->name, engine->caps, CAY_ENGINE_CAN_NO_INIT, err) : 0;
}

/*
 * The descriptor that came with the request, a folder below workspace_roots, or a path that means something
 * elsewhere.
 */
static int find_workspace(struct cay_op_call *c, const struct cay_create_args *a,
                          const struct cay_engine_view *engine, struct cay_sandbox_new *what,
                          struct cay_error *err)
{
        struct stat st;

        if (!a->workspace.given)
                return 0;
        if (fill_mode(a->workspace.mode, &what->workspace_mode, err) < 0)
                return -1;
        what->has_workspace = true;
        what->workspace_path = a->workspace.path;
        if (c->fd < 0) {
                if (a->workspace.path == NULL)
                        return cay_fail(err, CAY_INVALID,
                                        "workspace.path: required, unless the folder's descriptor comes with "
                                        "the request");
                if (engine->caps & CAY_ENGINE_CAN_OWN_FOLDERS)
                        return 0;
                return c->world->find_workspace(c->world, a->workspace.path, &what->folder.root,
                                                &what->folder.below, err);
        }
        if (fstat(c->fd, &st) < 0 || !S_ISDIR(st.st_mode))
                return cay_fail(err, CAY_INVALID, "workspace: the descriptor is not a folder");
        what->folder.fd = c->fd;
        what->folder.peer = c->peer_fd;
        return 0;
}

/* project_name becomes a label. The service copies the pairs before it returns. */
static unsigned fill_labels(const struct cay_create_args *a, struct cay_field_pair *pairs,
                            struct cay_sandbox_new *what)
{
        unsigned count = a->labels.count;

        for (unsigned i = 0; i < count; i++)
                pairs[i] = a->labels.pairs[i];
        if (a->project_name)
                pairs[count++] = (struct cay_field_pair){ "project_name", a->project_name };
        what->labels = (struct cay_field_map){ pairs, count };
        return count;
}

static void on_made(struct cay_job *job)
{
        struct create *s = cay_container_of(job, struct create, service.job);
        struct cay_op_call *c = s->call;
        const struct cay_create_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_error err = s->service.job.err;
        struct cay_op_result o;

        memcpy(c->first, s->service.first, sizeof(c->first));
        if (err.code == CAY_OK)
                cay_service_get(c->world->service, &viewer, s->service.id, &view, &err);
        free(s);
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        memccpy(c->made, view.id, '\0', CAY_NAME_MAX);
        cay_op_result_begin(&o, c);
        cay_op_put_sandbox(&o.j, &view, c->dialect);
        cay_op_key_text(&o.j, "execution_id", a->execution_id ? a->execution_id : c->request_id);
        cay_op_result_answer(&o, c, CAY_OP_CREATED);
}

/* What the request names; NULL: nothing. */
static const char *named_template(const struct create *s)
{
        const struct cay_create_args *a = s->call->args;

        return s->snapshot.id[0] ? s->snapshot.template_name : a->template_name;
}

static void fail(struct create *s, const struct cay_error *err, const char *field)
{
        struct cay_op_call *c = s->call;

        free(s);
        cay_op_fail(c, err, field);
}

static int check_on_timeout(const char *word, struct cay_error *err)
{
        if (!word || strcmp(word, "destroy") == 0 || strcmp(word, "pause") == 0 || strcmp(word, "stop") == 0)
                return 0;
        return cay_fail(err, CAY_INVALID, "on_timeout: must be destroy, pause or stop");
}

static unsigned pool_of(const struct cay_template *t, const struct cay_config *config)
{
        if (t && (t->pool || t->pool_learned))
                return t->pool ? (unsigned)t->pool : CAY_POOL_LEARNED;
        return config->pool ? (unsigned)config->pool : config->pool_learned ? CAY_POOL_LEARNED : 0;
}

/* Engine and snapshot. The field that is wrong, or NULL. */
static const char *choose(struct create *s, const struct cay_template *t, struct cay_engine_view *ret_engine,
                          struct cay_sandbox_new *what, struct cay_error *err)
{
        const struct cay_create_args *a = s->call->args;

        if (choose_engine(s->call, t, ret_engine, err) < 0)
                return "engine";
        what->engine = ret_engine->name;
        if (check_on_timeout(a->options.on_timeout, err) < 0)
                return "on_timeout";
        return cay_op_snapshot_fill(s->call, &s->snapshot, what, err) < 0 ? "snapshot" : NULL;
}

/* It was admitted: reads everything from the arguments now; the service copies it. */
static void make(struct create *s, const struct cay_template *t)
{
        struct cay_op_call *c = s->call;
        const struct cay_create_args *a = c->args;
        const struct cay_config *config = c->world->config;
        struct cay_field_pair labels[CAY_SERVICE_PAIRS_MAX], env[CAY_SERVICE_PAIRS_MAX],
                own[CAY_SERVICE_PAIRS_MAX];
        struct cay_field_map own_env;
        cay_auto_buf struct cay_buf policy = { 0 };
        cay_auto(cay_secret_use_done) struct cay_secret_use secrets = { 0 };
        struct cay_engine_view engine;
        const char *wrong;
        struct cay_error err = { 0 };
        struct cay_sandbox_new what = {
                .owner = c->caller.owner,
                .by = c->caller.id,
                .name = a->name,
                .template_name = named_template(s) ? named_template(s) : cay_op_unnamed_template(c),
                .metadata = a->metadata,
                .limits = a->limits,
                .ports = a->ports,
                .volumes = a->volumes,
                .options = a->options,
                .brief = a->brief,
                .compare = { a->compare[0], a->compare[1] },
                .pool = pool_of(t, config),
                .timeout_ms = a->has_timeout    ? a->timeout_ms
                              : t && t->life_ms ? t->life_ms
                                                : config->default_timeout,
                .idle_ms = a->has_idle       ? a->idle_ms
                           : t && t->idle_ms ? t->idle_ms
                                             : config->default_idle,
                .claim = a->execution_id, /* an id that only names the answer is not stored */
                .folder = CAY_FOLDER_NONE,
        };

        wrong = choose(s, t, &engine, &what, &err);
        if (wrong) {
                fail(s, &err, wrong);
                return;
        }
        if (t)
                cay_sandbox_options_fill(&what.options, &t->options);
        what.options.warm = cay_template_is_warm(t, what.pool > 0);
        if (a->unrecorded)
                what.options.record = what.options.checkpoint = false;
        if (fill_machine(c, &engine, &what.options.machine, &err) < 0) {
                fail(s, &err, "machine");
                return;
        }
        what.may_skip = limits_to_skip(&a->limits, &engine);
        if (cay_op_network_limits(is_unbound(a) && cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN) ? NULL
                                                                                                    : t,
                                  &what.limits, &err) < 0) {
                fail(s, &err, NULL);
                return;
        }
        cay_op_template_limits(t, &what.limits);
        cay_op_fill_limits(&what.limits, config, engine.holds);
        fill_labels(a, labels, &what);
        cay_buf_init(&policy, POLICY_MAX);
        if (fill_network(c, t, &engine, &what, &policy, &err) < 0 ||
            fill_init(c, t, &engine, &what.options.no_init, &err) < 0 ||
            cay_op_fit_inodes(&what.limits, a->limits.inodes == 0, &err) < 0 ||
            cay_op_snapshot_env(c, &s->snapshot, &a->env, own, &own_env, &err) < 0 ||
            cay_op_template_env(t, &own_env, env, &what.env, &err) < 0 ||
            cay_op_use_secrets(c, &a->secrets, what.policy, env, &what.env, &secrets, &err) < 0 ||
            fill_skip(&a->may_skip, &what.may_skip, &err) < 0 ||
            find_workspace(c, a, &engine, &what, &err) < 0) {
                fail(s, &err, NULL); /* the text begins with the field */
                return;
        }
        what.secrets = cay_buf_data(&secrets.text);
        cay_job_init(&s->service.job, on_made);
        cay_service_create(c->world->service, &what, &s->service);
}

static void let_in(struct cay_waiter *w)
{
        struct create *s = cay_container_of(w, struct create, waiter);
        const struct cay_template *t;
        struct cay_error err = { 0 };

        s->call->on_gone = NULL;
        s->call->works_for_listener = false;
        if (cay_op_find_template(s->call, w->template_name[0] ? w->template_name : named_template(s), &t,
                                 &err) < 0)
                fail(s, &err, "template");
        else
                make(s, t);
}

/* A reached limit is not an error of the field template. */
static void refuse_for(struct create *s, const struct cay_error *err)
{
        if (err->code == CAY_LIMIT)
                cay_service_note_refused(s->call->world->service, s->waiter.owner);
        fail(s, err, err->code == CAY_LIMIT ? NULL : "template");
}

static void refuse(struct cay_waiter *w, const struct cay_error *err)
{
        refuse_for(cay_container_of(w, struct create, waiter), err);
}

/* The client is gone. */
static void on_gone(struct cay_op_call *c)
{
        struct create *s = c->state;

        cay_admission_leave(&c->world->templates->admission, &s->waiter);
        free(s);
        cay_op_abort(c);
}

/* Each list ends separately: no word can move from one into the next. */
static void say_list(struct cay_json *j, const struct cay_field_texts *words)
{
        cay_json_begin_array(j);
        for (unsigned i = 0; i < words->count; i++)
                cay_json_text(j, words->items[i]);
        cay_json_end_array(j);
}

/* A folder that came as a descriptor is identified by device and inode. */
static void say_workspace(struct cay_json *j, const struct cay_create_workspace *w, int fd)
{
        struct stat st = { 0 };

        if (fd >= 0)
                fstat(fd, &st); /* a descriptor that is no folder is refused later */
        cay_json_text(j, w->path);
        cay_json_text(j, w->mode);
        cay_json_bool(j, w->given);
        cay_json_u64(j, st.st_dev);
        cay_json_u64(j, st.st_ino);
}

#define SAY_BOOL cay_json_bool
#define SAY_NUMBER cay_json_u64
#define SAY_TEXT cay_json_text

/* Everything that decides what will run: a confirmation covers exactly this. */
static int say_what(const struct cay_create_args *a, int fd, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_array(&j);
        cay_json_text(&j, "sandbox_create");
        cay_json_text(&j, a->template_name);
        cay_json_text(&j, a->snapshot);
        cay_json_text(&j, a->purpose);
        cay_json_text(&j, a->name);
        cay_json_text(&j, a->engine);
        cay_json_text(&j, a->network);
        cay_json_text(&j, a->init);
        say_list(&j, &a->allow);
        say_list(&j, &a->deny);
        cay_json_text(&j, a->member.network);
        cay_json_text(&j, a->member.host);
        say_list(&j, &a->ports);
        say_list(&j, &a->volumes);
        say_list(&j, &a->may_skip);
        say_workspace(&j, &a->workspace, fd);
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc) SAY_##kind(&j, a->options.name);
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        for (unsigned i = 0; i < a->env.count; i++) {
                cay_json_text(&j, a->env.pairs[i].name);
                cay_json_text(&j, a->env.pairs[i].value);
        }
#define CAY_LIMIT(field, word, kind, min, max, doc) cay_json_u64(&j, a->limits.field);
#include "domain/model/limits.def"
#undef CAY_LIMIT
        cay_json_end_array(&j);
        return cay_json_end(&j);
}

/* Now, or when there is room. */
static void enter(struct create *s, const struct cay_template *t)
{
        struct cay_op_call *c = s->call;
        struct cay_error err = { 0 };
        int r;

        cay_str_copy(s->waiter.owner, sizeof(s->waiter.owner), cay_op_viewer(c).owner);
        r = c->world->templates && c->world->templates->set
                    ? cay_admission_ask(&c->world->templates->admission, t, &s->waiter, &err)
                    : 1;
        if (r < 0) {
                refuse_for(s, &err);
        } else if (r > 0) {
                make(s, t);
        } else {
                c->state = s;
                c->on_gone = on_gone;
                c->works_for_listener = true; /* a client that hangs up loses its place in the queue */
        }
}

/* Confirmations */

static void on_spent(struct cay_job *job)
{
        struct create *s = cay_container_of(job, struct create, spend.job);
        const struct cay_template *t = NULL;
        struct cay_error err = job->err;

        if (err.code == CAY_EXISTS)
                cay_fail(&err, CAY_CONFLICT,
                         "confirm: this token was used before; leave it out to get a new one");
        else if (err.code == CAY_OK && !s->confirmation.is_right)
                cay_fail(&err, CAY_CONFLICT,
                         "confirm: belongs to another request; repeat that request, or leave confirm out");
        if (err.code != CAY_OK)
                fail(s, &err, "confirm");
        else if (cay_op_find_template(s->call, named_template(s), &t, &err) < 0)
                fail(s, &err, "template");
        else
                enter(s, t);
}

/* Stored before anything is done for it: a second use finds it, also in the next process. */
static void spend(struct create *s)
{
        struct cay_store *store = s->call->world->store;
        struct cay_store_batch *b = store->ops->begin(store);
        const struct cay_store_claim claim = { .owner = s->call->caller.owner,
                                               .key = s->confirmation.claim,
                                               .result = "confirmed" };

        cay_store_put_claim(store, b, &claim);
        cay_job_init(&s->spend.job, on_spent);
        store->ops->commit(store, b, CAY_STORE_FAST, &s->spend);
}

static int check_confirmed(struct create *s, const struct cay_template *t, struct cay_error *err)
{
        const struct cay_create_args *a = s->call->args;
        cay_auto_buf struct cay_buf what = { 0 };

        cay_buf_init(&what, SAID_MAX);
        if (say_what(a, s->call->fd, &what) < 0)
                return cay_fail(err, CAY_INVALID, "env: too long to be confirmed");
        return cay_op_confirm(s->call, t, a->danger, a->confirm, &what, &s->confirmation, err);
}

static void run_sandbox_create(struct cay_op_call *c)
{
        const struct cay_create_args *a = c->args;
        const struct cay_template *t = NULL;
        struct create *s = calloc(1, sizeof(*s));
        struct cay_engine_view engine;
        struct cay_error err = { 0 };
        const char *field = "template";

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        s->waiter.let_in = let_in;
        s->waiter.refuse = refuse;
        if (check_most(c, a, &field, &err) < 0 || cay_op_snapshot_choose(c, &s->snapshot, &field, &err) < 0 ||
            cay_op_find_template(c, named_template(s), &t, &err) < 0)
                fail(s, &err, field);
        else if (choose_engine(c, t, &engine, &err) < 0)
                fail(s, &err, "engine");
        else if (!a->danger && (!t || !t->needs_confirm))
                enter(s, t);
        else if (check_confirmed(s, t, &err) < 0)
                fail(s, &err, a->danger ? "confirm" : "template");
        else
                spend(s);
}

RESULT(result_created, "CreatedSandbox", ALSO(cay_result_sandbox), TEXT("execution_id"));

const struct cay_op cay_op_sandbox_create = {
        .name = "sandbox_create",
        .route = "POST /api/sandboxes",
        .doc = "Creates a sandbox and answers when it is ready",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct cay_create_args),
        .result = &result_created,
        .status = CAY_OP_CREATED,
        .run = run_sandbox_create,
};
