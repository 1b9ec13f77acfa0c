/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay diff`: what a kept run changed, as a patch, as figures, or as a list. A word that is no kept run is a
 * sandbox: what changed since one of its steps is the verb `log diff`, which asks the daemon.
 */
#include <errno.h>
#include <inttypes.h>

#include "foundation/base/json_out.h"
#include "cay/changes/check.h"
#include "cay/changes/patch.h"
#include "cay/cli/cli.h"
#include "cay/cli/kept.h"
#include "cay/cli/verb.h"

#define JSON_MAX (1u << 30)
#define BAR_MAX 40u

struct args {
        bool stat, name_status, json, raw;
};

#define TRUE(field) cay_flag_set_true, offsetof(struct args, field)

static const struct cay_flag table[] = {
        { "stat", NULL, "count the changed lines of each file", TRUE(stat) },
        { "name-status", NULL, "print A (added), M (changed), T (another type) or D (removed), and the name",
          TRUE(name_status) },
        { "json", NULL, "print the list as one JSON object, with the conflicts for `cay apply`", TRUE(json) },
        { "raw", NULL, "do not escape control characters in output to a terminal", TRUE(raw) },
        CAY_KEPT_DATA,
        {},
};

static void print_help(void)
{
        printf("usage: cay diff [OPTION…] RUN [PATH…]\n"
               "       cay diff SANDBOX [FROM [TO]] [OPTION…]\n\n"
               "Shows what RUN (an id, the beginning of one, or `last`) changed in its copy-on-write "
               "workspace,\n"
               "compared with the folder as it is now, as a patch for `git apply` or `patch -p1`. PATHs are\n"
               "relative to the folder. Binary files and files above 64 MiB are only named. Changes that "
               "the\n"
               "folder already has are not shown.\n\n"
               "Of a SANDBOX of the daemon: lists the files that changed since its newest step, since step "
               "FROM,\n"
               "or from step FROM to step TO; `cay log diff --help` has its options.\n\n");
        cay_flags_print(table, stdout);
        printf("\nExit status: 0 also when there are changes; 2 wrong usage, 125 something failed.\n");
}

/* --- What would conflict --- */

struct conflicts {
        const struct cay_kept *k;
        const char **why; /* owned, as are the texts; by the entry's number */
};

static void on_conflict(void *ctx, const struct cay_change *c, const char *why)
{
        struct conflicts *all = ctx;

        all->why[c - cay_change_set_at(all->k->set, 0)] = strdup(why);
}

static void conflicts_done(struct conflicts *all)
{
        for (size_t i = 0; all->why != NULL && i < cay_change_set_count(all->k->set); i++)
                free((void *)(uintptr_t)all->why[i]);
        free(all->why);
}

static int find_conflicts(struct cay_kept *k, struct cay_check *check, struct conflicts *ret,
                          struct cay_error *err)
{
        size_t count = cay_change_set_count(k->set);

        *ret = (struct conflicts){ .k = k, .why = calloc(count > 0 ? count : 1, sizeof(*ret->why)) };
        if (ret->why == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        *check = (struct cay_check){ .set = k->set,
                                     .folder = &k->folder,
                                     .began_ns = k->run.meta.began_ns,
                                     .on_conflict = on_conflict,
                                     .ctx = ret };
        return cay_check_run(check, err);
}

/* A patch can be shown even if others have changed the files; warn that it would not be applied. */
static void warn(struct cay_kept *k, const struct conflicts *all)
{
        for (size_t i = 0; i < cay_change_set_count(k->set); i++) {
                if (all->why[i] == NULL)
                        continue;
                fputs("cay diff: ", stderr);
                cay_patch_print_name(stderr, "", cay_change_set_at(k->set, i)->path);
                fprintf(stderr, ": %s\n", all->why[i]);
        }
}

/* --- Forms --- */

/* What is listed: selected, not in the folder yet, and not implied by its content. */
static bool is_shown(const struct cay_kept *k, const struct cay_check *check, size_t i)
{
        return check->verdicts[i] != CAY_VERDICT_NONE && check->verdicts[i] != CAY_VERDICT_DONE &&
               !cay_change_set_at(k->set, i)->is_implied;
}

static bool is_directory(const struct cay_change *c)
{
        return (c->type != CAY_CHANGE_NONE ? c->type : c->base.type) == CAY_CHANGE_DIRECTORY;
}

static void print_names(struct cay_kept *k, const struct cay_check *check)
{
        for (size_t i = 0; i < cay_change_set_count(k->set); i++) {
                const struct cay_change *c = cay_change_set_at(k->set, i);

                if (!is_shown(k, check, i))
                        continue;
                printf("%c\t", cay_change_status(c));
                cay_patch_print_name(stdout, "", c->path);
                puts(is_directory(c) ? "/" : "");
        }
}

/* Directories cannot be in a patch: these lines are ignored by patch and git. */
static void print_directories(struct cay_kept *k, const struct cay_check *check)
{
        for (size_t i = 0; i < cay_change_set_count(k->set); i++) {
                const struct cay_change *c = cay_change_set_at(k->set, i);
                char status = cay_change_status(c);

                if (!is_shown(k, check, i) || !is_directory(c))
                        continue;
                fputs("# directory ", stdout);
                cay_patch_print_name(stdout, "", c->path);
                if (status == 'D')
                        puts(": removed");
                else
                        printf(": %s mode %03o\n", status == 'M' ? "now" : "new,", (unsigned)c->mode);
        }
}

static int print_patch(struct cay_kept *k, const struct cay_check *check, bool raw, struct cay_error *err)
{
        struct cay_patch p = { .set = k->set,
                               .folder = &k->folder,
                               .out = stdout,
                               .is_terminal = !raw && isatty(STDOUT_FILENO) };

        print_directories(k, check);
        return cay_patch_print(&p, err);
}

static void print_bar(uint64_t added, uint64_t removed)
{
        uint64_t all = added + removed, width = all < BAR_MAX ? all : BAR_MAX;
        uint64_t plus = all > 0 ? (added * width + all - 1) / all : 0;

        for (uint64_t i = 0; i < width; i++)
                putchar(i < plus ? '+' : '-');
}

static int print_stat(struct cay_kept *k, const struct cay_check *check, struct cay_error *err)
{
        struct cay_patch p = { .set = k->set, .folder = &k->folder };
        uint64_t files = 0, added = 0, removed = 0;

        for (size_t i = 0; i < cay_change_set_count(k->set); i++) {
                const struct cay_change *c = cay_change_set_at(k->set, i);
                struct cay_patch_lines n;

                if (!is_shown(k, check, i) || is_directory(c))
                        continue;
                if (cay_patch_count(&p, c, &n, err) < 0)
                        return -1;
                putchar(' ');
                cay_patch_print_name(stdout, "", c->path);
                if (n.is_binary) {
                        printf(" | binary, %" PRIu64 " -> %" PRIu64 " bytes\n", n.old_size, n.new_size);
                } else {
                        printf(" | %" PRIu64 " ", n.added + n.removed);
                        print_bar(n.added, n.removed);
                        putchar('\n');
                }
                files++;
                added += n.added;
                removed += n.removed;
        }
        printf(" %" PRIu64 " file%s changed, %" PRIu64 " line%s added, %" PRIu64 " removed\n", files,
               files == 1 ? "" : "s", added, added == 1 ? "" : "s", removed);
        return 0;
}

static const char *type_word(enum cay_change_type type)
{
        switch (type) {
        case CAY_CHANGE_FILE:
                return "file";
        case CAY_CHANGE_DIRECTORY:
                return "directory";
        case CAY_CHANGE_SYMLINK:
                return "symlink";
        case CAY_CHANGE_NONE:
                return NULL;
        default:
                return "other";
        }
}

static void put_entry(struct cay_json *j, const struct cay_change *c, const char *why)
{
        const char status[] = { cay_change_status(c), '\0' };
        char mode[8];

        cay_json_begin_object(j);
        cay_json_key(j, "status");
        cay_json_text(j, status);
        cay_json_key(j, "path");
        cay_json_text(j, c->path);
        cay_json_key(j, "type");
        cay_json_text(j, type_word(c->type));
        cay_json_key(j, "type_before");
        cay_json_text(j, type_word(c->base.type));
        if (c->type == CAY_CHANGE_FILE || c->type == CAY_CHANGE_DIRECTORY) {
                snprintf(mode, sizeof(mode), "%04o", (unsigned)c->mode);
                cay_json_key(j, "mode");
                cay_json_text(j, mode);
        }
        if (c->type == CAY_CHANGE_FILE) {
                cay_json_key(j, "size");
                cay_json_u64(j, c->size);
        }
        if (c->type == CAY_CHANGE_SYMLINK) {
                cay_json_key(j, "target");
                cay_json_text(j, c->target);
        }
        cay_json_key(j, "conflict");
        cay_json_text(j, why);
        cay_json_end_object(j);
}

static int print_json(struct cay_kept *k, const struct cay_check *check, const struct conflicts *all,
                      struct cay_error *err)
{
        cay_auto_buf struct cay_buf text;
        struct cay_json j;

        cay_buf_init(&text, JSON_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        cay_json_key(&j, "run");
        cay_json_text(&j, k->run.meta.id);
        cay_json_key(&j, "folder");
        cay_json_text(&j, k->run.meta.folder);
        cay_json_key(&j, "changes");
        cay_json_begin_array(&j);
        for (size_t i = 0; i < cay_change_set_count(k->set); i++)
                if (is_shown(k, check, i))
                        put_entry(&j, cay_change_set_at(k->set, i), all->why[i]);
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        return cay_cli_print_json(&j, err);
}

static int show(struct cay_kept *k, const struct args *a, struct cay_error *err)
{
        cay_auto(conflicts_done) struct conflicts all = { 0 };
        cay_auto(cay_check_done) struct cay_check check = { 0 };
        int r = find_conflicts(k, &check, &all, err);

        if (r < 0)
                return -1;
        if (a->json)
                return print_json(k, &check, &all, err);
        if (a->name_status)
                print_names(k, &check);
        else
                r = a->stat ? print_stat(k, &check, err) : print_patch(k, &check, a->raw, err);
        if (fflush(stdout) == 0)
                warn(k, &all);
        return r;
}

static int check_args(const void *args, struct cay_error *err)
{
        const struct args *a = args;

        if (a->stat + a->name_status + a->json > 1)
                return cay_fail(err, CAY_INVALID, "--stat, --name-status and --json exclude each other");
        return 0;
}

static int run_diff(struct cay_kept *k, const void *args, bool is_whole, struct cay_error *err)
{
        if (show(k, args, err) < 0)
                return -1;
        if (fflush(stdout) != 0 || ferror(stdout))
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "write to standard output");
        return 0;
}

static bool is_of_sandbox; /* the daemon knows the name: then it is not that of a run */

static int call_steps(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        int r = cay_verb_call(reach, a, err);

        is_of_sandbox = r >= 0 || (reach->status != 0 &&
                                   strcmp(reach->reason, cay_reason_word(CAY_REASON_NO_SANDBOX)) != 0);
        return r;
}

int cay_cmd_diff(int argc, char **argv)
{
        static const struct cay_kept_verb verb = { "diff",         table,      print_help,
                                                   CAY_STORE_READ, check_args, run_diff };
        struct args a = { 0 }, look = { 0 };
        char steps[] = "log diff";
        struct cay_error err = { 0 };
        int r;

        if (cay_kept_find(&verb, argc, argv, &look, &err))
                return cay_kept_main(&verb, argc, argv, &a);
        argv[0] = steps;
        r = cay_verb_main(argc, argv, call_steps);
        return r == 0 || is_of_sandbox ? r : cay_cli_complain("diff", &err);
}
