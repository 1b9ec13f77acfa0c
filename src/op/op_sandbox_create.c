/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a sandbox. Limits that nobody names are the configuration's. */
#include <fcntl.h>
#include <sys/stat.h>

#include "config/config.h"
#include "op/limit_fields.h"
#include "op/view.h"

#define DEFAULT_FILES 4096

struct workspace {
        const char *path, *mode;
        bool given;
};

struct args {
        const char *name, *project_name, *template_name, *network, *execution_id;
        struct cay_field_map labels, metadata, env;
        struct cay_limits limits;
        struct cay_field_texts may_skip;
        struct workspace workspace;
        uint64_t timeout_ms, idle_ms;
        bool has_timeout, has_idle, read_only, own_user_only, swap_given;
};

static const struct cay_field workspace_fields[] = {
        { "path", CAY_FIELD_TEXT, offsetof(struct workspace, path), 0,
          "folder on the host; left out when its descriptor comes with the request over the unix socket" },
        { "mode", CAY_FIELD_TEXT, offsetof(struct workspace, mode), 0, "ro (default), rw or cow" },
        {},
};

static const struct cay_field fields[] = {
        { "name", CAY_FIELD_TEXT, offsetof(struct args, name), 0,
          "name of one's own for it: 1 to 63 of a-z, 0-9 and -; unique among one's sandboxes", .max = 63 },
        { "project_name", CAY_FIELD_TEXT, offsetof(struct args, project_name), 0,
          "kept as the label project_name", .max = 256 },
        { "template", CAY_FIELD_TEXT, offsetof(struct args, template_name), 0,
          "what it is made from; default: host", .max = 63 },
        { "labels", CAY_FIELD_MAP, offsetof(struct args, labels), 0, "for finding it again", .max = 255 },
        { "metadata", CAY_FIELD_MAP, offsetof(struct args, metadata), 0, "kept with it, not looked at",
          .max = 255 },
        { "env", CAY_FIELD_MAP, offsetof(struct args, env), 0,
          "environment of all its commands; never shown again", .max = 256, .item_max = 128 * 1024 },
        { "limits", CAY_FIELD_OBJECT, offsetof(struct args, limits), 0, "limits",
          .fields = cay_op_limit_fields },
        { "memory_limit", CAY_FIELD_PARSED, offsetof(struct args, limits), 0,
          "the same as limits.memory (\"1g\")", .parse = cay_op_parse_limit,
          .nr = CAY_LIMIT_NR_memory_bytes },
        { "cpu_limit", CAY_FIELD_PARSED, offsetof(struct args, limits), 0,
          "the same as limits.cpus (\"1.0\")", .parse = cay_op_parse_limit, .nr = CAY_LIMIT_NR_cpu_milli },
        { "may_skip", CAY_FIELD_TEXTS, offsetof(struct args, may_skip), 0,
          "limits by name that need not hold where this machine cannot hold them",
          .max = CAY_LIMIT_NR_COUNT },
        { "network", CAY_FIELD_TEXT, offsetof(struct args, network), 0, "none (loopback alone)", .max = 63 },
        { "workspace", CAY_FIELD_OBJECT, offsetof(struct args, workspace), 0,
          "a host folder as the workspace", .fields = workspace_fields,
          .given = CAY_FIELD_GIVEN(struct args, workspace.given) },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct args, timeout_ms), 0,
          "how long it lives (\"90s\", \"2h\", seconds); 0: until destroyed",
          .given = CAY_FIELD_GIVEN(struct args, has_timeout) },
        { "idle_timeout", CAY_FIELD_DURATION, offsetof(struct args, idle_ms), 0,
          "how long it may be without use", .given = CAY_FIELD_GIVEN(struct args, has_idle) },
        { "read_only", CAY_FIELD_BOOL, offsetof(struct args, read_only), 0, "root read-only" },
        { "own_user_only", CAY_FIELD_BOOL, offsetof(struct args, own_user_only), 0,
          "no command will run as another user: made faster" },
        { "execution_id", CAY_FIELD_TEXT, offsetof(struct args, execution_id), 0,
          "single-use id: a second request with it makes nothing (409)", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

struct create {
        struct cay_service_call service;
        struct cay_op_call *call;
};

static void fill_limits(struct cay_limits *l, const struct cay_config *config)
{
        const struct {
                uint64_t *at, value;
        } defaults[] = {
                { &l->memory_bytes, config->default_memory }, { &l->cpu_milli, config->default_cpus },
                { &l->pids, config->default_pids },           { &l->disk_bytes, config->default_disk },
                { &l->inodes, config->default_inodes },       { &l->files, DEFAULT_FILES },
        };

        for (unsigned i = 0; i < CAY_COUNT(defaults); i++)
                if (*defaults[i].at == 0)
                        *defaults[i].at = defaults[i].value;
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
        return cay_fail(err, CAY_INVALID, "workspace.mode: '%.40s' is none of ro, rw, cow", text);
}

/* The descriptor that came with the request, or a folder that the configuration lets clients name. */
static int open_workspace(struct cay_op_call *c, const struct args *a, struct cay_sandbox_new *what,
                          int *ret_fd, struct cay_error *err)
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
                        return cay_fail(
                                err, CAY_INVALID,
                                "workspace.path: is required, or the folder's descriptor with the request");
                return c->world->open_workspace(c->world, a->workspace.path, ret_fd, err);
        }
        if (fstat(c->fd, &st) < 0 || !S_ISDIR(st.st_mode))
                return cay_fail(err, CAY_INVALID, "workspace: the descriptor is no folder");
        *ret_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 3);
        return *ret_fd < 0 ? cay_fail(err, CAY_LIMIT, "workspace: out of descriptors") : 0;
}

/* project_name is a label like others. The pairs are copied by the service before it returns. */
static unsigned fill_labels(const struct args *a, struct cay_field_pair *pairs, struct cay_sandbox_new *what)
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
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_error err = s->service.job.err;
        struct cay_op_json o;

        memcpy(c->first, s->service.first, sizeof(c->first));
        if (err.code == CAY_OK)
                cay_service_get(c->world->service, &viewer, s->service.id, &view, &err);
        free(s);
        if (err.code != CAY_OK) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        cay_op_json_begin(&o);
        cay_op_put_sandbox(&o.j, &view);
        cay_op_key_text(&o.j, "execution_id", a->execution_id ? a->execution_id : c->request_id);
        cay_op_json_answer(&o, c, CAY_OP_CREATED);
}

static void run(struct cay_op_call *c)
{
        const struct args *a = c->args;
        const struct cay_config *config = c->world->config;
        struct cay_field_pair labels[CAY_SERVICE_PAIRS_MAX];
        cay_auto_close int fd = -1;
        struct cay_error err = { 0 };
        struct create *s;
        struct cay_sandbox_new what = {
                .owner = c->caller.owner,
                .name = a->name,
                .template_name = a->template_name,
                .metadata = a->metadata,
                .env = a->env,
                .limits = a->limits,
                .read_only = a->read_only,
                .own_user_only = a->own_user_only,
                .timeout_ms = a->has_timeout ? a->timeout_ms : config->default_timeout,
                .idle_ms = a->has_idle ? a->idle_ms : config->default_idle,
                .claim = a->execution_id ? a->execution_id : c->request_id,
                .claim_is_ours = a->execution_id == NULL,
                .workspace_fd = -1,
        };

        fill_limits(&what.limits, config);
        fill_labels(a, labels, &what);
        if (a->network && strcmp(a->network, "none") != 0)
                cay_fail(&err, CAY_UNSUPPORTED, "network: '%.40s' is not there; none is", a->network);
        if (err.code != CAY_OK || fill_skip(&a->may_skip, &what.may_skip, &err) < 0 ||
            open_workspace(c, a, &what, &fd, &err) < 0) {
                cay_op_fail(c, &err, a->workspace.given ? "workspace" : NULL);
                return;
        }
        what.workspace_fd = fd;
        s = calloc(1, sizeof(*s));
        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        cay_job_init(&s->service.job, on_made);
        cay_service_create(c->world->service, &what, &s->service);
}

const struct cay_op cay_op_sandbox_create = {
        .name = "sandbox_create",
        .route = "POST /api/sandboxes",
        .doc = "Makes a sandbox and answers when it is ready",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .run = run,
};
