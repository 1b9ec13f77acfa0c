/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of `cay run` and the checks behind it. Every error names its option. */
#include "cli/run_args.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "base/str.h"
#include "core/spec.h"
#include "core/user.h"

static int set_limit(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;
        char option[32];

        snprintf(option, sizeof(option), "--%s", flag->name);
        return cay_limit_parse(&a->limits, (enum cay_limit)flag->nr, option, value, err);
}

static int set_output_limit(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;
        char number[64];
        size_t len = strlen(value);
        bool cut = len > 4 && strcmp(value + len - 4, ":cut") == 0;

        if (cut)
                len -= 4;
        snprintf(number, sizeof(number), "%.*s", (int)(len < sizeof(number) ? len : sizeof(number)), value);
        if (cay_limit_parse(&a->limits, CAY_LIMIT_NR_output_bytes, "--output-limit", number, err) < 0)
                return -1;
        a->limits.output_cut = cut;
        return 0;
}

static int set_env(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (value[0] == '=' || strchr(value, '=') == NULL)
                return cay_fail(err, CAY_INVALID, "--env: '%.80s' is not NAME=VALUE", value);
        return cay_flag_add_text(args, flag, value, err);
}

static int set_user(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_user user;

        if (cay_user_parse(value, &user, err) < 0)
                return cay_wrap(err, "--user");
        return cay_flag_set_text(args, flag, value, err);
}

static int set_cwd(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (value[0] != '/' || strlen(value) >= PATH_MAX)
                return cay_fail(err, CAY_INVALID, "--cwd: '%.80s' is not an absolute path", value);
        return cay_flag_set_text(args, flag, value, err);
}

static int set_engine(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        char names[128];

        if (!cay_run_has_engine(value))
                return cay_fail(err, CAY_INVALID, "--engine: no engine '%.40s'; there are: %s", value,
                                cay_run_engine_names(names, sizeof(names)));
        return cay_flag_set_text(args, flag, value, err);
}

static int set_id(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (!cay_id_is_valid(value))
                return cay_fail(
                        err, CAY_INVALID,
                        "--id: '%.80s' is not a name: 1 to %d of a-z, 0-9 and '-', no '-' at either end",
                        value, CAY_NAME_MAX);
        return cay_flag_set_text(args, flag, value, err);
}

static int set_missing(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;
        unsigned mask;

        if (cay_limit_mask_parse("--allow-missing", value, &mask, err) < 0)
                return -1;
        a->may_skip |= mask;
        return 0;
}

#ifdef CAY_TEST_HOOKS
static int set_test_off(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;

        return cay_run_parse_layers("--test-off", value, &a->test_off, err);
}
#endif

#define TEXT(field) cay_flag_set_text, offsetof(struct cay_run_args, field)
#define TRUE(field) cay_flag_set_true, offsetof(struct cay_run_args, field)
#define LIMIT(field) set_limit, CAY_LIMIT_NR_##field

static const struct cay_flag table[] = {
        { "template", "host|DIR|rootfs:DIR", "what the root is made of (host: this machine's /usr)",
          TEXT(template) },
        { "workspace", "DIR[:ro|:rw]", "folder mapped to /workspace, read-only unless :rw (none: empty)",
          TEXT(workspace) },
        { "memory", "SIZE", "memory of everything in it (256m)", LIMIT(memory_bytes) },
        { "swap", "SIZE", "swap on top of memory (0)", LIMIT(swap_bytes) },
        { "cpus", "N", "processors (0.5)", LIMIT(cpu_milli) },
        { "pids", "N", "processes and threads at once (50)", LIMIT(pids) },
        { "disk", "SIZE", "bytes it may write, a mapped workspace apart (64m)", LIMIT(disk_bytes) },
        { "inodes", "N", "files it may make (16384)", LIMIT(inodes) },
        { "files", "N", "open files of a process (4096)", LIMIT(files) },
        { "timeout", "TIME", "wall time: seconds, or 250ms, 10m, 2h (60)", LIMIT(wall_ms) },
        { "cpu-time", "TIME", "processor time of the command and all it starts (none)", LIMIT(cpu_time_ms) },
        { "output-limit", "SIZE[:cut]",
          "bytes of output; at the limit it is ended, or with :cut the rest dropped (8m)", set_output_limit,
          0 },
        { "allow-missing", "LIST",
          "limits that need not hold where this host or engine cannot (memory,pids,… or all)", set_missing,
          0 },
        { "env", "NAME=VALUE", "environment; may come several times", set_env,
          offsetof(struct cay_run_args, env) },
        { "user", "U", "name, UID or UID:GID inside (sandbox)", set_user,
          offsetof(struct cay_run_args, user) },
        { "cwd", "DIR", "working directory inside (/workspace)", set_cwd,
          offsetof(struct cay_run_args, cwd) },
        { "read-only", NULL, "nothing but /workspace, /tmp and /dev/shm can be written to", TRUE(read_only) },
        { "engine", "NAME", "native, or process: no isolation at all (native)", set_engine,
          offsetof(struct cay_run_args, engine) },
        { "id", "NAME", "name of the run (a fresh one)", set_id, offsetof(struct cay_run_args, id) },
        { "tty", NULL, "give the command a terminal", TRUE(tty) },
        { "json", NULL, "print one object with output and result at the end", TRUE(json) },
        { "quiet", NULL, "do not say on stderr why it ended", TRUE(quiet) },
        { "trace", NULL, "print when each step was reached", TRUE(trace) },
#ifdef CAY_TEST_HOOKS
        { "test-off", "LIST", "test builds: layers to leave out", set_test_off, 0 },
#endif
        {},
};

void cay_run_args_print_help(FILE *out)
{
        fprintf(out, "usage: cay run [OPTION…] [--] COMMAND [ARGUMENT…]\n\n"
                     "Runs one command in a fresh sandbox: no network, nothing of this machine writable, "
                     "gone afterwards.\n"
                     "Standard input is passed on if it is a pipe or a file, or with --tty.\n\n");
        cay_flags_print(table, out);
        fprintf(out,
                "\nExit status: the command's own (128+n for signal n), 124 out of time, 137 out of memory,\n"
                "126 not executable, 127 not found, 125 Cay failed, 2 wrong usage.\n");
}

/* A folder as a descriptor; it must be readable, or the box would be made for nothing. */
static int open_folder(const char *option, const char *path, size_t len, int *ret_fd, struct cay_error *err)
{
        cay_auto_close int fd = -1, check = -1;
        char dir[PATH_MAX];

        if (len >= sizeof(dir))
                return cay_fail(err, CAY_INVALID, "%s: the folder's name is too long", option);
        memcpy(dir, path, len);
        dir[len] = '\0';
        fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
                check = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || check < 0)
                return cay_fail_sys(err, CAY_INVALID, -errno, "%s: folder '%.120s'", option, dir);
        *ret_fd = cay_take_fd(fd);
        return 0;
}

static int open_folders(struct cay_run_args *a, struct cay_error *err)
{
        enum cay_template_kind kind;
        const char *dir;
        size_t len;

        if (a->template != NULL) {
                if (cay_spec_parse_template(a->template, &kind, &dir, err) < 0)
                        return cay_wrap(err, "--template");
                if (dir != NULL && open_folder("--template", dir, strlen(dir), &a->rootfs_fd, err) < 0)
                        return -1;
        }
        if (a->workspace != NULL) {
                if (cay_spec_parse_workspace(a->workspace, &len, &a->workspace_rw, err) < 0)
                        return cay_wrap(err, "--workspace");
                if (open_folder("--workspace", a->workspace, len, &a->workspace_fd, err) < 0)
                        return -1;
        }
        return 0;
}

int cay_run_args_read(struct cay_run_args *a, int argc, char **argv, struct cay_error *err)
{
        int rest = 0, r;

        *a = (struct cay_run_args){ .limits = cay_limits_default_run(), .rootfs_fd = -1, .workspace_fd = -1 };
        r = cay_flags_parse(table, argc, argv, a, &rest, err);
        if (r != 0)
                return r;
        if (rest >= argc || argv[rest][0] == '\0')
                return cay_fail(err, CAY_INVALID, "no COMMAND given; `cay help run` shows how");
        a->command = argv + rest;
        if (a->json && a->limits.output_bytes > CAY_RUN_JSON_OUTPUT_MAX)
                return cay_fail(err, CAY_INVALID,
                                "--output-limit: at most 256 MiB with --json, which keeps it in memory");
        return open_folders(a, err);
}

void cay_run_args_done(struct cay_run_args *a)
{
        cay_flag_list_done(&a->env);
        if (a->rootfs_fd >= 0)
                close(cay_take_fd(a->rootfs_fd));
        if (a->workspace_fd >= 0)
                close(cay_take_fd(a->workspace_fd));
}

void cay_run_args_fill(const struct cay_run_args *a, struct cay_run_options *o)
{
        *o = (struct cay_run_options){
                .spec = {
                        .template_kind = a->rootfs_fd >= 0 ? CAY_TEMPLATE_ROOTFS : CAY_TEMPLATE_HOST,
                        .rootfs_fd = a->rootfs_fd,
                        .workspace_fd = a->workspace_fd,
                        .workspace_rw = a->workspace_rw,
                        .read_only = a->read_only,
                        .limits = a->limits,
                        .may_skip = a->may_skip,
                        .test_off = a->test_off,
                },
                .engine = a->engine,
                .argv = (const char *const *)a->command,
                .env = a->env.items,
                .user = a->user,
                .cwd = a->cwd,
                .tty = a->tty,
                .stdin_fd = -1,
                .trace = a->trace,
        };
        if (a->id != NULL)
                cay_str_copy(o->spec.id, sizeof(o->spec.id), a->id);
}
