/* SPDX-License-Identifier: Apache-2.0 */
/* The request's values come first, then the template's, then the configuration's. */
#include "domain/ops/create_request.h"

#include <sys/stat.h>

#include "domain/auth/machines.h"
#include "domain/settings/config.h"
#include "domain/ops/most_time.h"
#include "domain/ops/network_use.h"
#include "domain/ops/template_use.h"

#define DEFAULT_FILES 4096
#define POLICY_MAX CAY_SERVICE_TEXT_MAX

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

int cay_create_check_most(const struct cay_op_call *c, const char **ret_field, struct cay_error *err)
{
        const struct cay_create_args *a = c->args;
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
 * A machine is what it says itself: what machines of others say must not weaken its sandboxes' limits. One
 * that is away makes none.
 */
static void see_what_machine_holds(const struct cay_op_call *c, const char *machine,
                                   struct cay_engine_view *engine)
{
        struct cay_machine_facts f = { 0 };

        if (machine && c->world->machine_facts &&
            c->world->machine_facts(c->world->agents, c->caller.owner, machine, &f))
                engine->holds = f.holds;
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

int cay_create_choose_engine(struct cay_op_call *c, const struct cay_template *t, struct cay_engine_view *ret,
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

const char *cay_create_template_name(const struct cay_op_call *c, const struct cay_snapshot_use *snapshot)
{
        const struct cay_create_args *a = c->args;

        return snapshot->id[0] ? snapshot->template_name : a->template_name;
}

/* Engine and snapshot. The field that is wrong, or NULL. */
static const char *choose(struct cay_op_call *c, const struct cay_template *t,
                          const struct cay_snapshot_use *snapshot, struct cay_engine_view *ret_engine,
                          struct cay_sandbox_new *what, struct cay_error *err)
{
        const struct cay_create_args *a = c->args;

        if (cay_create_choose_engine(c, t, ret_engine, err) < 0)
                return "engine";
        what->engine = ret_engine->name;
        if (check_on_timeout(a->options.on_timeout, err) < 0)
                return "on_timeout";
        return cay_op_snapshot_fill(c, snapshot, what, err) < 0 ? "snapshot" : NULL;
}

int cay_create_request_fill(struct cay_create_request *r, struct cay_op_call *c, const struct cay_template *t,
                            const struct cay_snapshot_use *snapshot, const char **ret_field,
                            struct cay_error *err)
{
        const struct cay_create_args *a = c->args;
        const struct cay_config *config = c->world->config;
        const char *template_name = cay_create_template_name(c, snapshot);
        bool is_free = is_unbound(a) && cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN);
        struct cay_sandbox_new *what = &r->what;
        struct cay_engine_view engine;
        struct cay_field_map own;

        *what = (struct cay_sandbox_new){
                .owner = c->caller.owner,
                .by = c->caller.id,
                .name = a->name,
                .template_name = template_name ? template_name : cay_op_unnamed_template(c),
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
        *ret_field = choose(c, t, snapshot, &engine, what, err);
        if (*ret_field)
                return -1;
        if (t)
                cay_sandbox_options_fill(&what->options, &t->options);
        what->options.warm = cay_template_is_warm(t, what->pool > 0);
        if (a->unrecorded)
                what->options.record = what->options.checkpoint = false;
        if (fill_machine(c, &engine, &what->options.machine, err) < 0) {
                *ret_field = "machine";
                return -1;
        }
        see_what_machine_holds(c, what->options.machine, &engine);
        what->may_skip = limits_to_skip(&a->limits, &engine);
        if (cay_op_network_limits(is_free ? NULL : t, &what->limits, err) < 0)
                return -1;
        cay_op_template_limits(t, &what->limits);
        cay_op_fill_limits(&what->limits, config, engine.holds);
        fill_labels(a, r->labels, what);
        cay_buf_init(&r->policy, POLICY_MAX);
        /* where one fails, the text begins with the field */
        if (fill_network(c, t, &engine, what, &r->policy, err) < 0 ||
            fill_init(c, t, &engine, &what->options.no_init, err) < 0 ||
            cay_op_fit_inodes(&what->limits, a->limits.inodes == 0, err) < 0 ||
            cay_op_snapshot_env(c, snapshot, &a->env, r->own, &own, err) < 0 ||
            cay_op_template_env(t, &own, r->env, &what->env, err) < 0 ||
            cay_op_use_secrets(c, &a->secrets, what->policy, r->env, &what->env, &r->secrets, err) < 0 ||
            fill_skip(&a->may_skip, &what->may_skip, err) < 0 || find_workspace(c, a, &engine, what, err) < 0)
                return -1;
        what->secrets = cay_buf_data(&r->secrets.text);
        return 0;
}

void cay_create_request_done(struct cay_create_request *r)
{
        cay_secret_use_done(&r->secrets);
        cay_buf_done(&r->policy);
}
