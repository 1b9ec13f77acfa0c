/* SPDX-License-Identifier: Apache-2.0 */
/* `cay discard`: removes kept runs. */
#include "cay/cli/cli.h"
#include "cay/cli/kept.h"

struct args {
        bool all;
};

static const struct cay_flag table[] = {
        { "all", NULL, "delete every kept run", cay_flag_set_true, offsetof(struct args, all) },
        CAY_KEPT_DATA,
        {},
};

static void print_help(void)
{
        printf("usage: cay discard RUN…\n       cay discard --all\n\n"
               "Deletes the changes of a RUN (an id, the beginning of one, or `last`). Its folder stays as "
               "it is.\n\n");
        cay_flags_print(table, stdout);
}

static int discard(struct cay_run_store *s, const char *name, struct cay_error *err)
{
        struct cay_stored run;

        return cay_run_store_find_any(s, name, &run, err) < 0 ? -1 : cay_run_store_remove(s, &run, err);
}

/* Runs that are running or in use stay. */
static int discard_all(struct cay_run_store *s, struct cay_error *err)
{
        cay_auto_free struct cay_run_store_row *rows = NULL;
        size_t count = 0;
        int result = 0;

        if (cay_run_store_list(s, &rows, &count, err) < 0)
                return -1;
        for (size_t i = 0; i < count; i++) {
                if (rows[i].meta.state == CAY_META_RUNNING && !rows[i].is_broken)
                        continue;
                if (discard(s, rows[i].meta.id, err) < 0 && err->code != CAY_NOT_FOUND)
                        result = -1;
        }
        return result;
}

int cay_cmd_discard(int argc, char **argv)
{
        cay_auto(cay_run_store_close) struct cay_run_store s = { .fd = -1 };
        struct cay_error err = { 0 };
        struct args a = { 0 };
        int rest = 0, r;

        r = cay_flags_parse(table, argc, argv, &a, &rest, &err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && a.all == (rest < argc))
                r = cay_fail(&err, CAY_INVALID,
                             a.all ? "--all takes no RUN"
                                   : "no RUN given: an id of `cay runs`, `last`, or --all");
        if (r == 0) {
                r = cay_kept_open_store(&s, &err);
                if (r < 0 && err.code == CAY_NOT_FOUND && a.all)
                        return 0;
        }
        if (r == 0 && a.all)
                r = discard_all(&s, &err);
        for (; r == 0 && rest < argc; rest++)
                r = discard(&s, argv[rest], &err);
        return r < 0 ? cay_cli_complain("discard", &err) : 0;
}
