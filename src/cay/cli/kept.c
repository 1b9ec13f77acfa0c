/* SPDX-License-Identifier: Apache-2.0 */
/* Kept runs, as verbs name them. */
#include "cay/cli/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <limits.h>

#include "foundation/base/clock.h"
#include "foundation/base/files_text.h"
#include "cay/cli/cli.h"

static int parse(const struct cay_flag *table, int argc, char **argv, void *args, const char **ret_name,
                 const char *const **ret_paths, size_t *ret_count, struct cay_error *err)
{
        int rest = 0, more = 0, r;

        r = cay_flags_parse(table, argc, argv, args, &rest, err);
        if (r != 0)
                return r;
        if (rest >= argc)
                return cay_fail(err, CAY_INVALID,
                                "no RUN given: an id of `cay runs`, the beginning of one, or `last`");
        r = cay_flags_parse(table, argc - rest, argv + rest, args, &more, err);
        if (r != 0)
                return r;
        *ret_name = argv[rest];
        *ret_paths = (const char *const *)argv + rest + more;
        *ret_count = (size_t)(argc - rest - more);
        return 0;
}

int cay_kept_set_data(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        char here[PATH_MAX] = "", path[2 * PATH_MAX];

        if (value[0] == '\0')
                return cay_fail(err, CAY_INVALID, "--%s: the value is not a folder", flag->name);
        if (value[0] != '/' && getcwd(here, sizeof(here)) == NULL)
                return cay_fail_sys(err, CAY_INVALID, -errno, "--%s: find '%.80s'", flag->name, value);
        snprintf(path, sizeof(path), "%s%s%s/runs", here, here[0] != '\0' ? "/" : "", value);
        if (strlen(path) >= PATH_MAX || setenv("CAY_RUNS", path, 1) < 0)
                return cay_fail(err, CAY_INVALID, "--%s: the path is too long", flag->name);
        return 0;
}

static void init(struct cay_kept *k)
{
        *k = (struct cay_kept){ .store.fd = -1,
                                .run = { .dir_fd = -1, .changes_fd = -1 },
                                .folder = { .fd = -1, .dir_fd = -1 } };
}

int cay_kept_open_store(struct cay_run_store *s, struct cay_error *err)
{
        char path[PATH_MAX];

        if (cay_run_store_path(path, sizeof(path), err) < 0)
                return -1;
        return cay_run_store_open(s, path, false, cay_clock_wall_ms(), err);
}

static int open_folder(struct cay_kept *k, struct cay_error *err)
{
        const struct cay_meta *m = &k->run.meta;
        struct cay_files_text t;
        struct stat st;
        int fd = open(m->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = fd < 0 ? -errno : cay_folder_init_take(&k->folder, fd);

        if (r < 0)
                return cay_fail_sys(err, r == -EACCES ? CAY_DENIED : CAY_NOT_FOUND, r,
                                    "the run's folder '%s'", cay_files_quote(&t, m->folder));
        /* Device numbers may change with a reboot, so only the inode is compared. */
        if (fstat(k->folder.fd, &st) < 0 || st.st_ino != m->folder_ino)
                return cay_fail(
                        err, CAY_CONFLICT,
                        "'%s' is not the folder that the run worked on; it was moved or replaced since",
                        cay_files_quote(&t, m->folder));
        return 0;
}

static int open_kept(struct cay_kept *k, const char *name, enum cay_run_store_use use,
                     const char *const *paths, size_t count, struct cay_error *err)
{
        if (cay_kept_open_store(&k->store, err) < 0 ||
            cay_run_store_find(&k->store, name, use, &k->run, err) < 0 ||
            cay_change_set_open(k->run.changes_fd, &k->set, err) < 0 || open_folder(k, err) < 0)
                return -1;
        return cay_change_set_select(k->set, paths, count, err);
}

static void done(struct cay_kept *k)
{
        cay_folder_done(&k->folder);
        cay_change_set_free(cay_take(k->set));
        cay_run_store_let_go(&k->run);
        cay_run_store_close(&k->store);
}

bool cay_kept_find(const struct cay_kept_verb *v, int argc, char **argv, void *args, struct cay_error *err)
{
        cay_auto(done) struct cay_kept k;
        const char *const *paths = NULL;
        const char *name = NULL;
        size_t count = 0;

        init(&k);
        if (parse(v->table, argc, argv, args, &name, &paths, &count, err) != 0) {
                if (argc < 2 || argv[1][0] == '-') /* else its options may be another verb's */
                        return true;
                name = argv[1];
                *err = (struct cay_error){ 0 };
        }
        return strcmp(name, "last") == 0 ||
               (cay_kept_open_store(&k.store, err) == 0 &&
                cay_run_store_find(&k.store, name, CAY_STORE_READ, &k.run, err) == 0) ||
               err->code != CAY_NOT_FOUND;
}

int cay_kept_main(const struct cay_kept_verb *v, int argc, char **argv, void *args)
{
        cay_auto(done) struct cay_kept k;
        struct cay_error err = { 0 };
        const char *const *paths = NULL;
        const char *name = NULL;
        size_t count = 0;
        int r;

        init(&k);
        r = parse(v->table, argc, argv, args, &name, &paths, &count, &err);
        if (r > 0) {
                v->print_help();
                return 0;
        }
        if (r == 0 && v->check)
                r = v->check(args, &err);
        if (r == 0)
                r = open_kept(&k, name, v->use, paths, count, &err);
        if (r == 0)
                r = v->run(&k, args, count == 0, &err);
        return r < 0 ? cay_cli_complain(v->name, &err) : r;
}
