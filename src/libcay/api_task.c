/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks and their setters (cay.h). A setter that fails leaves what was set before; its error names the
 * setting.
 */
#include "libcay/api_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "foundation/base/str.h"
#include "links/box/message.h"
#include "domain/model/user.h"
#include "foundation/sys/fd.h"

#define NETWORK_RULES_MAX 100u /* of a kind */
#define INPUT_MAX (1ull << 30)

/* Their numbers are part of the ABI: ours may be reordered, theirs may not. */
#define SAME(name) _Static_assert((int)CAY_E_##name == (int)CAY_##name, "cay.h and error_codes.def differ")
SAME(INVALID);
SAME(NOT_FOUND);
SAME(EXISTS);
SAME(DENIED);
SAME(CONFLICT);
SAME(LIMIT);
SAME(UNSUPPORTED);
SAME(UNAVAILABLE);
SAME(TIMEOUT);
SAME(NO_SPACE);
SAME(INTERNAL);
SAME(DAMAGED);
_Static_assert((int)CAY_WORKSPACE_READ_ONLY == (int)CAY_WORKSPACE_RO &&
                       (int)CAY_WORKSPACE_READ_WRITE == (int)CAY_WORKSPACE_RW &&
                       (int)CAY_WORKSPACE_COPY == (int)CAY_WORKSPACE_COW,
               "cay.h and domain/model/spec.h differ");
_Static_assert((int)CAY_E_DAMAGED + 1 == (int)CAY_CODE_COUNT, "a code that cay.h does not name");

static int code_of(struct cay_task *task, int r)
{
        return r < 0 ? (int)task->err.code : 0;
}

static int no_memory(struct cay_task *task)
{
        return cay_fail(&task->err, CAY_INTERNAL, "no memory");
}

struct cay_task *cay_task_new(void)
{
        struct cay_task *task = calloc(1, sizeof(*task));

        if (task == NULL)
                return NULL;
        task->input_fd = -1;
        task->options = (struct cay_run_options){
                .spec = { .rootfs_fd = -1, .workspace_fd = -1, .limits = cay_limits_default_run() },
                .stdin_fd = -1,
                .changes_fd = -1,
        };
        task->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (task->cancel_fd < 0) {
                int saved_errno = errno;

                free(task);
                errno = saved_errno;
                return NULL;
        }
        return task;
}

static void free_list(char **list)
{
        for (unsigned i = 0; list != NULL && list[i] != NULL; i++)
                free(list[i]);
        free(list);
}

static void replace_fd(int *at, int fd)
{
        if (*at >= 0)
                close(*at);
        *at = fd;
}

void cay_task_free(struct cay_task *task)
{
        if (task == NULL)
                return;
        free_list(task->argv);
        free_list(task->env);
        free_list(task->allow);
        free_list(task->deny);
        free(task->cwd);
        free(task->user);
        free(task->program_dir);
        replace_fd(&task->options.spec.rootfs_fd, -1);
        replace_fd(&task->options.spec.workspace_fd, -1);
        replace_fd(&task->input_fd, -1);
        replace_fd(&task->cancel_fd, -1);
        free(task);
}

const char *cay_task_error(const struct cay_task *task)
{
        return task->err.msg;
}

struct cay_run_options *cay_task_options(struct cay_task *task)
{
        return &task->options;
}

/* Puts a copy of text (NULL: none) in place of what is there. */
static int replace_text(struct cay_task *task, char **at, const char *text)
{
        char *copy = text != NULL ? strdup(text) : NULL;

        if (text != NULL && copy == NULL)
                return no_memory(task);
        free(*at);
        *at = copy;
        return 0;
}

static unsigned list_len(char *const *list)
{
        unsigned count = 0;

        while (list != NULL && list[count] != NULL)
                count++;
        return count;
}

/* NULL: no memory. */
static char **copy_list(const char *const *list, unsigned count)
{
        char **copy = calloc(count + 1, sizeof(*copy));

        for (unsigned i = 0; copy != NULL && i < count; i++) {
                copy[i] = strdup(list[i]);
                if (copy[i] == NULL) {
                        free_list(copy);
                        return NULL;
                }
        }
        return copy;
}

/* At most one more than max. */
static unsigned count_list(const char *const *list, unsigned max)
{
        unsigned count = 0;

        while (list != NULL && list[count] != NULL && count <= max)
                count++;
        return count;
}

int cay_task_set_command(struct cay_task *task, const char *const *argv)
{
        unsigned count = count_list(argv, CAY_BOX_ARGS_MAX);
        char **copy;

        if (count == 0 || argv[0][0] == '\0')
                return code_of(task, cay_fail(&task->err, CAY_INVALID, "command: there is no program in it"));
        if (count > CAY_BOX_ARGS_MAX)
                return code_of(task, cay_fail(&task->err, CAY_INVALID, "command: more than %u words",
                                              CAY_BOX_ARGS_MAX));
        copy = copy_list(argv, count);
        if (copy == NULL)
                return code_of(task, no_memory(task));
        free_list(task->argv);
        task->argv = copy;
        task->options.argv = (const char *const *)task->argv;
        return 0;
}

/* Where NAME= stands in the list; its end when it does not. */
static unsigned find_env(const struct cay_task *task, const char *name, size_t len)
{
        unsigned i = 0;

        while (task->env != NULL && task->env[i] != NULL &&
               (strncmp(task->env[i], name, len) != 0 || task->env[i][len] != '='))
                i++;
        return i;
}

int cay_task_set_env(struct cay_task *task, const char *name, const char *value)
{
        unsigned count = list_len(task->env), at;
        char **list, *pair = NULL;

        if (name[0] == '\0' || strchr(name, '=') != NULL)
                return code_of(task,
                               cay_fail(&task->err, CAY_INVALID, "environment: '%.80s' is no name", name));
        if (count >= CAY_BOX_ARGS_MAX)
                return code_of(task, cay_fail(&task->err, CAY_INVALID, "environment: more than %u variables",
                                              CAY_BOX_ARGS_MAX));
        if (asprintf(&pair, "%s=%s", name, value) < 0)
                return code_of(task, no_memory(task));
        at = find_env(task, name, strlen(name));
        if (at < count) {
                free(task->env[at]);
                task->env[at] = pair;
                return 0;
        }
        list = realloc(task->env, (count + 2) * sizeof(*list));
        if (list == NULL) {
                free(pair);
                return code_of(task, no_memory(task));
        }
        list[count] = pair;
        list[count + 1] = NULL;
        task->env = list;
        task->options.env = (const char *const *)list;
        return 0;
}

int cay_task_set_cwd(struct cay_task *task, const char *path)
{
        int r = 0;

        if (path != NULL && (path[0] != '/' || strlen(path) >= PATH_MAX))
                r = cay_fail(&task->err, CAY_INVALID, "cwd: '%.80s' is not an absolute path", path);
        if (r == 0)
                r = replace_text(task, &task->cwd, path);
        task->options.cwd = task->cwd;
        return code_of(task, r);
}

int cay_task_set_user(struct cay_task *task, const char *user)
{
        struct cay_user parsed;
        int r = 0;

        if (user != NULL && cay_user_parse(user, &parsed, &task->err) < 0)
                r = cay_wrap(&task->err, "user");
        if (r == 0)
                r = replace_text(task, &task->user, user);
        task->options.user = task->user;
        return code_of(task, r);
}

/* A folder as a descriptor; it must be readable, or the box would be made for nothing. */
static int open_folder(const char *setting, const char *path, int *ret_fd, struct cay_error *err)
{
        cay_auto_close int fd = -1, check = -1;

        if (strlen(path) >= PATH_MAX)
                return cay_fail(err, CAY_INVALID, "%s: the folder's name is too long", setting);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
                check = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || check < 0)
                return cay_fail_sys(err, CAY_INVALID, -errno, "%s: folder '%.120s'", setting, path);
        *ret_fd = cay_take_fd(fd);
        return 0;
}

int cay_task_set_workspace(struct cay_task *task, const char *path, int mode)
{
        struct cay_spec *spec = &task->options.spec;
        int fd = -1, r = 0;

        if (mode < CAY_WORKSPACE_READ_ONLY || mode > CAY_WORKSPACE_COPY)
                r = cay_fail(&task->err, CAY_INVALID, "workspace: there is no mode %d", mode);
        else if (path != NULL)
                r = open_folder("workspace", path, &fd, &task->err);
        if (r < 0)
                return code_of(task, r);
        replace_fd(&spec->workspace_fd, fd);
        spec->workspace_rw = fd >= 0 && mode == CAY_WORKSPACE_READ_WRITE;
        spec->workspace_cow = fd >= 0 && mode == CAY_WORKSPACE_COPY;
        return 0;
}

int cay_task_set_changes_fd(struct cay_task *task, int fd)
{
        struct stat st;

        if (fd >= 0 &&
            (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) /* a pipe could raise SIGPIPE, or block */
                return code_of(task,
                               cay_fail(&task->err, CAY_INVALID, "changes: descriptor %d is no file", fd));
        task->options.changes_fd = fd >= 0 ? fd : -1;
        return 0;
}

int cay_task_set_template(struct cay_task *task, const char *text)
{
        struct cay_spec *spec = &task->options.spec;
        enum cay_template_kind kind;
        const char *dir;
        int fd = -1;

        if (cay_spec_parse_template(text, &kind, &dir, &task->err) < 0)
                return code_of(task, cay_wrap(&task->err, "template"));
        if (dir != NULL && open_folder("template", dir, &fd, &task->err) < 0)
                return code_of(task, -1);
        replace_fd(&spec->rootfs_fd, fd);
        spec->template_kind = kind;
        return 0;
}

int cay_task_set_read_only(struct cay_task *task, int on)
{
        task->options.spec.options.read_only = on != 0;
        return 0;
}

int cay_task_set_network(struct cay_task *task, const char *mode, const char *const *allow,
                         const char *const *deny)
{
        static const char *const modes[] = { [CAY_RUN_NETWORK_NONE] = "none",
                                             [CAY_RUN_NETWORK_LIST] = "list",
                                             [CAY_RUN_NETWORK_PUBLIC] = "bridge" };
        unsigned nr = 0, allowed = count_list(allow, NETWORK_RULES_MAX),
                 denied = count_list(deny, NETWORK_RULES_MAX);
        char **allow_copy, **deny_copy;

        while (nr < CAY_COUNT(modes) && (mode == NULL || strcmp(modes[nr], mode) != 0))
                nr++;
        if (nr == CAY_COUNT(modes))
                return code_of(task, cay_fail(&task->err, CAY_INVALID,
                                              "network: must be none, list or bridge, not '%.40s'",
                                              mode != NULL ? mode : ""));
        if (allowed > NETWORK_RULES_MAX || denied > NETWORK_RULES_MAX)
                return code_of(task, cay_fail(&task->err, CAY_INVALID,
                                              "network: more than %u rules of a kind", NETWORK_RULES_MAX));
        allow_copy = copy_list(allow, allowed);
        deny_copy = copy_list(deny, denied);
        if (allow_copy == NULL || deny_copy == NULL) {
                free_list(allow_copy);
                free_list(deny_copy);
                return code_of(task, no_memory(task));
        }
        free_list(task->allow);
        free_list(task->deny);
        task->allow = allow_copy;
        task->deny = deny_copy;
        task->options.network = (enum cay_run_network_mode)nr;
        task->options.allow = (const char *const *)task->allow;
        task->options.deny = (const char *const *)task->deny;
        return 0;
}

int cay_output_limit_parse(struct cay_limits *limits, const char *option, const char *text,
                           struct cay_error *err)
{
        char number[64];
        size_t len = strlen(text);
        bool cut = len > 4 && strcmp(text + len - 4, ":cut") == 0;

        if (cut)
                len -= 4;
        snprintf(number, sizeof(number), "%.*s", (int)(len < sizeof(number) ? len : sizeof(number)), text);
        if (cay_limit_parse(limits, CAY_LIMIT_NR_output_bytes, option, number, err) < 0)
                return -1;
        limits->output_cut = cut;
        return 0;
}

int cay_task_set_limit(struct cay_task *task, const char *name, const char *value)
{
        struct cay_limits *limits = &task->options.spec.limits;
        int nr = cay_limit_find(name), r;
        char all[CAY_LIMIT_LIST_MAX];

        if (nr < 0)
                r = cay_fail(&task->err, CAY_INVALID, "there is no limit '%.40s'; there are: %s", name,
                             cay_limit_mask_text(CAY_LIMIT_MASK_ALL, all, sizeof(all)));
        else if (nr == CAY_LIMIT_NR_output_bytes)
                r = cay_output_limit_parse(limits, name, value, &task->err);
        else
                r = cay_limit_parse(limits, (enum cay_limit)nr, name, value, &task->err);
        if (r == 0)
                task->options.given |= 1u << nr;
        return code_of(task, r);
}

int cay_task_allow_missing(struct cay_task *task, const char *names)
{
        unsigned mask = 0;

        if (names != NULL && cay_limit_mask_parse("allow_missing", names, &mask, &task->err) < 0)
                return code_of(task, -1);
        task->options.spec.may_skip = mask;
        return 0;
}

int cay_task_set_id(struct cay_task *task, const char *id)
{
        if (id != NULL && !cay_id_is_valid(id))
                return code_of(task,
                               cay_fail(&task->err, CAY_INVALID,
                                        "id: '%.80s' is not a name: 1 to %d of a-z, 0-9 and '-', no '-' at "
                                        "either end",
                                        id, CAY_NAME_MAX));
        cay_str_copy(task->options.spec.id, sizeof(task->options.spec.id), id != NULL ? id : "");
        return 0;
}

int cay_task_set_stdin_fd(struct cay_task *task, int fd)
{
        if (fd >= 0 && fcntl(fd, F_GETFD) < 0)
                return code_of(task,
                               cay_fail_sys(&task->err, CAY_INVALID, -errno, "stdin: descriptor %d", fd));
        replace_fd(&task->input_fd, -1);
        task->options.stdin_fd = fd >= 0 ? fd : -1;
        return 0;
}

/* A file in memory: the run reads it as it would any other, and every run from its start. */
int cay_task_set_stdin(struct cay_task *task, const void *bytes, size_t len)
{
        cay_auto_close int fd = -1;
        int r;

        if (len > INPUT_MAX)
                return code_of(task, cay_fail(&task->err, CAY_INVALID, "stdin: more than 1 GiB"));
        fd = memfd_create("cay-stdin", MFD_CLOEXEC);
        r = fd < 0 ? -errno : sys_write_all(fd, bytes, len);
        if (r < 0)
                return code_of(task, cay_fail_sys(&task->err, CAY_INTERNAL, r, "stdin: keep %zu bytes", len));
        replace_fd(&task->input_fd, cay_take_fd(fd));
        task->options.stdin_fd = task->input_fd;
        return 0;
}

int cay_task_set_output(struct cay_task *task, cay_output_fn *fn, void *ctx)
{
        task->on_output = fn;
        task->output_ctx = ctx;
        return 0;
}

int cay_task_set_program_dir(struct cay_task *task, const char *path)
{
        int r = 0;

        if (path != NULL && path[0] != '/')
                r = cay_fail(&task->err, CAY_INVALID, "program_dir: '%.80s' is not an absolute path", path);
        if (r == 0)
                r = replace_text(task, &task->program_dir, path);
        task->options.program_dir = task->program_dir;
        return code_of(task, r);
}
