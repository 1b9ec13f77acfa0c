/* SPDX-License-Identifier: Apache-2.0 */
/* The option table of `cay run` and its checks. Every error names its option. */
#include "cay/cli/run_args.h"

#include <errno.h>
#include <inttypes.h>

#include "foundation/base/parse.h"
#include "cay/changes/store.h"
#include "cay/cli/kept.h"
#include "domain/model/spec.h"
#include "engines/engine_list.h"

#define DAY_MS (24ull * 3600 * 1000)
#define KEEP_MAX_DAYS 3650ull

static int set_limit(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;
        char option[32];

        snprintf(option, sizeof(option), "--%s", flag->name);
        if (cay_limit_parse(&a->limits, (enum cay_limit)flag->nr, option, value, err) < 0)
                return -1;
        a->given |= 1u << flag->nr;
        return 0;
}

static int set_memory_mb(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;
        uint64_t mb;
        char text[32];

        if (cay_parse_u64(value, &mb) < 0 || mb > UINT64_MAX >> 20)
                return cay_fail(err, CAY_INVALID, "--max-memory-mb: '%.40s' is not a number of MiB", value);
        snprintf(text, sizeof(text), "%" PRIu64, mb << 20);
        return cay_limit_parse(&a->limits, CAY_LIMIT_NR_memory_bytes, "--max-memory-mb", text, err);
}

/* If the folder's name contains a colon, nothing is cut off. */
static int set_workspace_path(void *args, const struct cay_flag *flag, const char *value,
                              struct cay_error *err)
{
        struct cay_run_args *a = args;

        if (snprintf(a->workspace_text, sizeof(a->workspace_text), "%s:rw", value) >=
            (int)sizeof(a->workspace_text))
                return cay_fail(err, CAY_INVALID, "--workspace-path: is too long");
        a->workspace = a->workspace_text;
        return 0;
}

static int set_output_limit(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;

        return cay_output_limit_parse(&a->limits, "--output-limit", value, err);
}

static int set_env(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (value[0] == '=' || strchr(value, '=') == NULL)
                return cay_fail(err, CAY_INVALID, "--env: '%.80s' is not NAME=VALUE", value);
        return cay_flag_add_text(args, flag, value, err);
}

static int set_network(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;

        if (strcmp(value, "none") != 0 && strcmp(value, "bridge") != 0)
                return cay_fail(err, CAY_INVALID,
                                "--network: '%.40s' is not none or bridge; --allow names single hosts",
                                value);
        a->network = strcmp(value, "bridge") == 0 ? CAY_RUN_NETWORK_PUBLIC : CAY_RUN_NETWORK_NONE;
        a->has_network = true;
        return 0;
}

static int set_engine(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        char names[128];

        if (strcmp(value, "spawn") == 0) /* for compatibility with similar programs */
                value = cay_engine_infos[CAY_ENGINE_process].name;
        if (!cay_run_has_engine(value))
                return cay_fail(err, CAY_INVALID, "--engine: no engine '%.40s'; there are: %s", value,
                                cay_run_engine_names(names, sizeof(names)));
        return cay_flag_set_text(args, flag, value, err);
}

/* cay-docker reads it from there: as the image of the run, and as the one that may be used. */
static int set_image(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;

        if (!value[0])
                return cay_fail(err, CAY_INVALID, "--image: is empty; name an image that Docker has");
        if (setenv("CAY_DOCKER_IMAGE", value, 1) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "note the image");
        a->has_image = true;
        return 0;
}

/* Also in days, because runs are kept that long. */
static int set_keep(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_run_args *a = args;
        size_t len = strlen(value);
        char number[32];
        uint64_t days;
        int r;

        if (len > 1 && len < sizeof(number) && value[len - 1] == 'd') {
                memcpy(number, value, len - 1);
                number[len - 1] = '\0';
                r = cay_parse_u64(number, &days);
                if (r == 0)
                        r = days <= KEEP_MAX_DAYS ? 0 : -ERANGE;
                a->keep_ms = r == 0 ? days * DAY_MS : 0;
        } else {
                r = cay_parse_duration(value, &a->keep_ms);
        }
        if (r < 0 || a->keep_ms == 0 || a->keep_ms > KEEP_MAX_DAYS * DAY_MS)
                return cay_fail(err, CAY_INVALID,
                                "--keep: '%.40s' is not a time: 90m, 12h, 30d; at most %llud", value,
                                KEEP_MAX_DAYS);
        return 0;
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
        { "template", "host|DIR|rootfs:DIR", "use this root: the machine's /usr, or a folder (host)",
          TEXT(template) },
        { "workspace", "DIR[:ro|:rw|:cow]",
          "map this folder at /workspace: read-only, writable, or copy-on-write for `cay diff` and "
          "`cay apply` (an empty folder)",
          TEXT(workspace) },
        { "keep", "TIME", "keep the changes of a :cow workspace this long: 12h, 30d (7d)", set_keep, 0 },
        { "memory", "SIZE", "limit memory of the whole sandbox (256m)", LIMIT(memory_bytes) },
        { "swap", "SIZE", "allow this much swap on top of memory (0)", LIMIT(swap_bytes) },
        { "cpus", "N", "limit processors (0.5)", LIMIT(cpu_milli) },
        { "pids", "N", "limit processes and threads (50)", LIMIT(pids) },
        { "disk", "SIZE", "limit disk space, a mapped workspace not counted (64m)", LIMIT(disk_bytes) },
        { "inodes", "N", "limit the number of files it creates (16384)", LIMIT(inodes) },
        { "files", "N", "limit open files of a process (4096)", LIMIT(files) },
        { "timeout", "TIME", "end the command after this time: seconds, or 250ms, 10m, 2h (60)",
          LIMIT(wall_ms) },
        { "cpu-time", "TIME", "limit processor time of the command and its descendants (none)",
          LIMIT(cpu_time_ms) },
        { "output-limit", "SIZE[:cut]",
          "limit output; at the limit end the command, or with :cut drop the rest (8m)", set_output_limit,
          0 },
        { "allow-missing", "LIST",
          "skip these limits where this host or engine cannot enforce them (memory,pids,… or all)",
          set_missing, 0 },
        { "env", "NAME=VALUE", "set a variable; may be repeated", set_env,
          offsetof(struct cay_run_args, env) },
        { "network", "none|bridge",
          "let it reach nothing, or every public address except --deny (none, or what --allow names)",
          set_network, 0 },
        { "allow", "RULE",
          "let it reach this: pypi.org, *.example.org:443, 10.1.2.0/24:5432, preset:python; may be repeated",
          cay_flag_add_text, offsetof(struct cay_run_args, allow) },
        { "deny", "RULE", "never let it reach this, whatever else is allowed; may be repeated",
          cay_flag_add_text, offsetof(struct cay_run_args, deny) },
        { "network-up", "SIZE", "limit the bytes per second that it sends (none)", LIMIT(network_up) },
        { "network-down", "SIZE", "limit the bytes per second that it receives (none)", LIMIT(network_down) },
        { "network-total", "SIZE", "limit the bytes that it sends and receives in all (none)",
          LIMIT(network_total) },
        { "network-connections", "N", "limit its connections at once (512)", LIMIT(network_connections) },
        { "network-connects", "N", "limit its new connections per second (100)", LIMIT(network_connects) },
        { "network-queries", "N", "limit the names it looks up per second (50)", LIMIT(network_queries) },
        { "user", "U", "run as this name, UID or UID:GID of the sandbox (sandbox)", TEXT(user) },
        { "cwd", "DIR", "run in this folder of the sandbox (/workspace)", TEXT(cwd) },
        { "read-only", NULL, "make everything read-only except /workspace, /tmp and /dev/shm",
          TRUE(read_only) },
        { "engine", "NAME",
          "use this engine: native; auto (native, or an error that names the other engines); docker (image "
          "of "
          "CAY_DOCKER_IMAGE); process or spawn (no isolation at all, with --allow-missing all) (native)",
          set_engine, offsetof(struct cay_run_args, engine) },
        { "image", "NAME", "run in this image of Docker, with the engine docker (CAY_DOCKER_IMAGE)",
          set_image, 0 },
        { "id", "NAME", "name the run (a new id)", TEXT(id) },
        CAY_KEPT_DATA,
        { "run-id", "NAME", "the same as --id", TEXT(id) },
        { "workspace-path", "DIR", "the same as --workspace DIR:rw", set_workspace_path, 0 },
        { "max-runtime-sec", "N", "the same as --timeout", LIMIT(wall_ms) },
        { "max-memory-mb", "N", "the same as --memory Nm", set_memory_mb, 0 },
        { "tty", NULL, "give the command a terminal", TRUE(tty) },
        { "json", NULL, "print one JSON object with output and result at the end", TRUE(json) },
        { "quiet", NULL, "do not print on stderr why it ended", TRUE(quiet) },
        { "raw", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
        { "trace", NULL, "print when each step was reached", TRUE(trace) },
#ifdef CAY_TEST_HOOKS
        { "test-off", "LIST", "leave out these layers (test builds)", set_test_off, 0 },
#endif
        {},
};

void cay_run_args_print_help(FILE *out)
{
        fprintf(out,
                "usage: cay run [OPTION…] [--] COMMAND [ARGUMENT…]\n\n"
                "Runs one command in a fresh sandbox without network, and removes the sandbox afterwards.\n"
                "The command cannot write to files of this machine. A single COMMAND word with spaces is\n"
                "run by /bin/sh. Standard input is passed on if it is a pipe or a file, or with --tty.\n\n");
        cay_flags_print(table, out);
        fprintf(out,
                "\nExit status: the command's own (128+n for signal n), 124 out of time, 137 out of memory,\n"
                "126 not executable, 127 not found, 125 Cay failed, 2 wrong usage.\n");
}

static int set_variables(struct cay_run_args *a)
{
        int code = 0;

        for (unsigned i = 0; i < a->env.count && code == 0; i++) {
                const char *equals = strchr(a->env.items[i], '=');
                cay_auto_free char *name = strndup(a->env.items[i], (size_t)(equals - a->env.items[i]));

                code = name != NULL ? cay_task_set_env(a->task, name, equals + 1) : CAY_INTERNAL;
        }
        return code;
}

/* 0, libcay's code, or -1 with err filled. */
static int set_workspace(struct cay_run_args *a, struct cay_error *err)
{
        cay_auto_free char *dir = NULL;
        size_t len;

        if (a->workspace == NULL)
                return 0;
        if (cay_spec_parse_workspace(a->workspace, &len, &a->workspace_mode, err) < 0)
                return cay_wrap(err, "--workspace");
        dir = strndup(a->workspace, len);
        if (dir == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        return cay_task_set_workspace(a->task, dir, (int)a->workspace_mode);
}

/*
 * Options that libcay knows are passed to it. It checks them, opens folders, and begins its errors with the
 * option's name.
 */
static int make_task(struct cay_run_args *a, struct cay_error *err)
{
        int code;

        a->task = cay_task_new();
        if (a->task == NULL)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "prepare the run");
        code = cay_task_set_command(a->task, (const char *const *)a->command);
        if (code == 0)
                code = set_variables(a);
        if (code != 0)
                return cay_fail(err, (enum cay_code)code, "%s", cay_task_error(a->task));
        code = cay_task_set_user(a->task, a->user);
        if (code == 0)
                code = cay_task_set_cwd(a->task, a->cwd);
        if (code == 0)
                code = cay_task_set_id(a->task, a->id);
        if (code == 0)
                code = cay_task_set_read_only(a->task, a->read_only);
        if (code == 0 && a->template != NULL)
                code = cay_task_set_template(a->task, a->template);
        if (code == 0)
                code = set_workspace(a, err);
        if (code > 0)
                cay_fail(err, (enum cay_code)code, "--%s", cay_task_error(a->task));
        return code == 0 ? 0 : -1;
}

static int settle_network(struct cay_run_args *a, struct cay_error *err)
{
        if (a->has_network && a->network == CAY_RUN_NETWORK_NONE && (a->allow.count > 0 || a->deny.count > 0))
                return cay_fail(err, CAY_INVALID,
                                "--network none: leave --allow and --deny out, or leave out --network");
        if (!a->has_network && a->allow.count > 0)
                a->network = CAY_RUN_NETWORK_LIST;
        if (a->network == CAY_RUN_NETWORK_NONE && a->deny.count > 0)
                return cay_fail(err, CAY_INVALID,
                                "--deny: nothing is allowed without --allow or --network bridge");
        return 0;
}

/* An image is Docker's. */
static int settle_engine(struct cay_run_args *a, struct cay_error *err)
{
        const char *docker = cay_engine_infos[CAY_ENGINE_docker].name;

        if (!a->has_image || (a->engine != NULL && strcmp(a->engine, docker) == 0))
                return 0;
        if (a->engine != NULL)
                return cay_fail(err, CAY_INVALID,
                                "--image: the engine '%.40s' has no images; use --engine %s", a->engine,
                                docker);
        a->engine = docker;
        return 0;
}

int cay_run_args_read(struct cay_run_args *a, int argc, char **argv, struct cay_error *err)
{
        int rest = 0, r;

        *a = (struct cay_run_args){ .limits = cay_limits_default_run() };
        r = cay_flags_parse(table, argc, argv, a, &rest, err);
        if (r != 0)
                return r;
        if (rest >= argc || argv[rest][0] == '\0')
                return cay_fail(err, CAY_INVALID, "no COMMAND given; see `cay help run`");
        a->command = argv + rest;
        if (argc - rest == 1 &&
            strpbrk(argv[rest], " \t\n") != NULL) { /* a command line for a shell, as in `cay exec` */
                a->line[0] = (char *)"/bin/sh";
                a->line[1] = (char *)"-c";
                a->line[2] = argv[rest];
                a->command = a->line;
        }
        if (a->json && a->limits.output_bytes > CAY_TASK_KEPT_MAX)
                return cay_fail(
                        err, CAY_INVALID,
                        "--output-limit: at most 256 MiB with --json, because the output is kept in memory");
        if (settle_engine(a, err) < 0 || settle_network(a, err) < 0 || make_task(a, err) < 0)
                return -1;
        if (a->keep_ms > 0 && a->workspace_mode != CAY_WORKSPACE_COW)
                return cay_fail(err, CAY_INVALID, "--keep: needs --workspace DIR:cow");
        if (a->keep_ms == 0)
                a->keep_ms = CAY_STORE_KEEP_MS;
        return 0;
}

void cay_run_args_done(struct cay_run_args *a)
{
        cay_flag_list_done(&a->env);
        cay_flag_list_done(&a->allow);
        cay_flag_list_done(&a->deny);
        cay_task_free(cay_take(a->task));
}

void cay_run_args_fill(const struct cay_run_args *a, struct cay_run_options *o)
{
        *o = *cay_task_options(a->task);
        o->spec.limits = a->limits;
        o->given = a->given;
        o->spec.may_skip = a->may_skip;
        o->spec.test_off = a->test_off;
        o->engine = a->engine;
        o->network = a->network;
        o->allow = a->allow.items;
        o->deny = a->deny.items;
        o->tty = a->tty;
        o->trace = a->trace;
}

static bool is_option(const char *name, size_t len)
{
        for (const struct cay_flag *f = table; f->name; f++)
                if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
                        return true;
        return false;
}

void cay_run_args_name_option(struct cay_error *err)
{
        static const char below[] = "(may_skip ", here[] = "(--allow-missing ";
        const char *text = err->msg, *skip = strstr(err->msg, below);
        size_t len = strcspn(text, ":"), rest = skip ? (size_t)(skip - text) : strlen(text);
        struct cay_error told = *err;

        snprintf(told.msg, sizeof(told.msg), "%s%.*s%s%s",
                 text[len] == ':' && is_option(text, len) ? "--" : "", (int)rest, text, skip ? here : "",
                 skip ? skip + strlen(below) : "");
        *err = told;
}
