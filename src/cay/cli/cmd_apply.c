/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay apply`: puts the changes of a kept run into its folder. Everything is checked first; if others changed
 * files meanwhile, they are listed and nothing is changed. A run is removed when all its changes are in the
 * folder.
 */
#include "cay/changes/apply.h"
#include "cay/changes/patch.h"
#include "cay/cli/cli.h"
#include "cay/cli/kept.h"

enum { EXIT_CONFLICT = 1 };

struct args {
        bool force, keep, dry_run;
};

#define TRUE(field) cay_flag_set_true, offsetof(struct args, field)

static const struct cay_flag table[] = {
        { "dry-run", NULL, "print what would be done, and do nothing", TRUE(dry_run) },
        { "force", NULL, "also overwrite files that changed in the folder since the run", TRUE(force) },
        { "keep", NULL, "keep the run afterwards", TRUE(keep) },
        CAY_KEPT_DATA,
        {},
};

static void print_help(void)
{
        printf("usage: cay apply [OPTION…] RUN [PATH…]\n\n"
               "Applies the changes of RUN (an id, the beginning of one, or `last`) to its folder. With "
               "PATHs,\n"
               "relative to the folder, only what is at or below them is applied. Each file is replaced\n"
               "atomically. If a file to be applied has changed in the folder since the run began, it is\n"
               "printed and nothing is applied. A run that is applied completely is deleted.\n\n");
        cay_flags_print(table, stdout);
        printf("\nExit status: 0 applied, 1 conflicts, 2 wrong usage, 125 something failed.\n");
}

static void on_conflict(void *ctx, const struct cay_change *c, const char *why)
{
        fputs("cay apply: ", stderr);
        cay_patch_print_name(stderr, "", c->path);
        fprintf(stderr, ": %s\n", why);
}

static void print_change(const struct cay_change *c)
{
        if (c->is_implied)
                return;
        printf("%c\t", cay_change_status(c));
        cay_patch_print_name(stdout, "", c->path);
        putchar('\n');
}

static void on_applied(void *ctx, const struct cay_change *c)
{
        print_change(c);
}

static void print_plan(const struct cay_check *check)
{
        for (size_t i = 0; i < cay_change_set_count(check->set); i++)
                if (check->verdicts[i] == CAY_VERDICT_READY)
                        print_change(cay_change_set_at(check->set, i));
}

static int conflicts(const struct cay_check *check)
{
        fprintf(stderr,
                "cay apply: %zu conflict%s; nothing was applied; name the paths without conflicts, %s\n",
                check->conflicts, check->conflicts == 1 ? "" : "s",
                check->force ? "or remove these from the folder by hand" : "or overwrite with --force");
        return EXIT_CONFLICT;
}

/* Whether all of it is in the folder now, including what was not selected. */
static bool is_all_applied(struct cay_kept *k)
{
        cay_auto(cay_check_done) struct cay_check check = { .set = k->set,
                                                            .folder = &k->folder,
                                                            .began_ns = k->run.meta.began_ns };
        struct cay_error err = { 0 };

        return cay_change_set_select(k->set, NULL, 0, &err) == 0 && cay_check_run(&check, &err) == 0 &&
               check.done == cay_change_set_count(k->set);
}

static int finish(struct cay_kept *k, const struct args *a, const struct cay_apply *apply, bool is_whole,
                  struct cay_error *err)
{
        if (apply->left > 0)
                fprintf(stderr, "cay apply: %zu director%s stay%s: not empty without what the run removed\n",
                        apply->left, apply->left == 1 ? "y" : "ies", apply->left == 1 ? "s" : "");
        if (a->keep || !((is_whole && apply->left == 0) || is_all_applied(k)))
                return 0;
        return cay_run_store_remove(&k->store, &k->run, err);
}

static int apply(struct cay_kept *k, const void *args, bool is_whole, struct cay_error *err)
{
        const struct args *a = args;
        cay_auto(cay_check_done) struct cay_check check = { .set = k->set,
                                                            .folder = &k->folder,
                                                            .began_ns = k->run.meta.began_ns,
                                                            .force = a->force,
                                                            .on_conflict = on_conflict };
        struct cay_apply job = { .check = &check, .on_applied = on_applied };

        if (cay_check_run(&check, err) < 0)
                return -1;
        if (check.conflicts > 0)
                return conflicts(&check);
        if (a->dry_run) {
                print_plan(&check);
                return 0;
        }
        if (cay_apply_run(&job, err) < 0) {
                fflush(stdout);
                fprintf(stderr,
                        "cay apply: %zu of %zu changes were applied before a failure; the run is kept, `cay "
                        "apply %s` "
                        "goes on\n",
                        job.applied, check.ready, k->run.meta.id);
                return -1;
        }
        return finish(k, a, &job, is_whole, err);
}

int cay_cmd_apply(int argc, char **argv)
{
        static const struct cay_kept_verb verb = {
                "apply", table, print_help, CAY_STORE_CHANGE, NULL, apply
        };
        struct args a = { 0 };

        return cay_kept_main(&verb, argc, argv, &a);
}
