/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the changes of a run: both processes of run_keep.h. */
#include "cay/cli/run_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "cay/changes/tick.h"
#include "foundation/sys/fd.h"

struct verdict { /* to the keeper */
        uint32_t size, keep;
        struct cay_change_counts counts;
        uint64_t left_out;
};

void cay_run_keep_init(struct cay_run_keep *k)
{
        *k = (struct cay_run_keep){ .store.fd = -1,
                                    .run = { .dir_fd = -1, .changes_fd = -1 },
                                    .keeper_fd = -1 };
}

/* --- The keeper --- */

static bool read_verdict(int fd, struct verdict *ret)
{
        size_t have = 0;

        while (have < sizeof(*ret)) {
                ssize_t n = read(fd, (char *)ret + have, sizeof(*ret) - have);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return false;
                have += (size_t)n;
        }
        return ret->size == sizeof(*ret);
}

static int carry_out(struct cay_run_keep *k, const struct verdict *v, struct cay_error *err)
{
        if (!v->keep)
                return cay_run_store_remove(&k->store, &k->run, err);
        k->run.meta.state = CAY_META_KEPT;
        k->run.meta.counts = v->counts;
        k->run.meta.left_out = v->left_out;
        return cay_run_store_save(&k->run, err);
}

/*
 * The terminal's signals are for the run, which tells us. We close the streams, so that their readers do not
 * wait for us.
 */
static void leave_terminal(void)
{
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (unsigned i = 0; i < CAY_COUNT(signals); i++)
                signal(signals[i], SIG_IGN);
        for (int fd = 0; fd < 3 && null >= 0; fd++)
                dup2(null, fd);
        prctl(PR_SET_NAME, "cay-keep", 0, 0, 0);
}

/* Exit status: 0, or an errno that says why nothing is kept. */
_Noreturn static void keeper(struct cay_run_keep *k, int fd)
{
        struct cay_error err = { 0 };
        struct verdict v;

        leave_terminal();
        if (!read_verdict(fd, &v))
                v = (struct verdict){ .keep = false };
        if (carry_out(k, &v, &err) == 0)
                _exit(0);
        if (v.keep)
                cay_run_store_remove(&k->store, &k->run, &(struct cay_error){ 0 });
        _exit(err.sys > 0 && err.sys < 256 ? err.sys : EIO);
}

static int start_keeper(struct cay_run_keep *k, struct cay_error *err)
{
        int ends[2];
        pid_t pid;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a pipe");
        pid = fork();
        if (pid == 0) {
                close(ends[1]);
                keeper(k, ends[0]);
        }
        close(ends[0]);
        k->keeper_fd = ends[1];
        k->keeper_pid = pid > 0 ? pid : 0;
        return pid < 0 ? cay_fail_sys(err, CAY_INTERNAL, -errno, "start a process") : 0;
}

/* --- Before the run --- */

static int choose_id(struct cay_spec *spec, struct cay_error *err)
{
        uint8_t random[15];

        if (spec->id[0] != '\0')
                return 0;
        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an id");
        cay_id_make(spec->id, 0, 0, random);
        return 0;
}

static int describe(struct cay_meta *m, const struct cay_run_options *o, uint64_t keep_ms,
                    struct cay_error *err)
{
        char link[32];
        struct stat st;
        ssize_t n;

        *m = (struct cay_meta){ .state = CAY_META_RUNNING, .started_ms = cay_clock_wall_ms() };
        m->expires_ms = m->started_ms + keep_ms;
        cay_str_copy(m->id, sizeof(m->id), o->spec.id);
        cay_meta_set_command(m, o->argv);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", o->spec.workspace_fd);
        n = readlink(link, m->folder, sizeof(m->folder) - 1);
        if (n < 0 || fstat(o->spec.workspace_fd, &st) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "find the workspace's path");
        if (n == (ssize_t)sizeof(m->folder) - 1 || m->folder[0] != '/')
                return cay_fail(err, CAY_INVALID, "--workspace: the folder's path is too long to be kept");
        m->folder_dev = st.st_dev;
        m->folder_ino = st.st_ino;
        return 0;
}

int cay_run_keep_begin(struct cay_run_keep *k, struct cay_run_options *o, uint64_t keep_ms,
                       struct cay_error *err)
{
        char path[PATH_MAX];
        struct cay_meta m;

        if (!o->spec.workspace_cow)
                return 0;
        if (choose_id(&o->spec, err) < 0 || describe(&m, o, keep_ms, err) < 0 ||
            cay_run_store_path(path, sizeof(path), err) < 0 ||
            cay_run_store_open(&k->store, path, true, m.started_ms, err) < 0)
                return -1;
        m.began_ns = cay_tick_await();
        if (cay_run_store_make(&k->store, &m, &k->run, err) < 0)
                return -1;
        if (start_keeper(k, err) < 0) {
                cay_run_store_remove(&k->store, &k->run, &(struct cay_error){ 0 });
                return -1;
        }
        k->is_on = true;
        o->changes_fd = k->run.changes_fd;
        return 0;
}

/* --- After it --- */

static void count(struct cay_run_keep *k, const struct cay_run_result *r)
{
        cay_auto(cay_change_set_freep) struct cay_change_set *set = NULL;

        k->left_out = r->changes_left_out;
        if (r->changes_entries == 0 || cay_change_set_open(k->run.changes_fd, &set, &k->failure) < 0)
                return;
        cay_change_set_counts(set, &k->counts);
        k->is_kept = cay_change_set_count(set) > 0;
}

static void wait_for_keeper(struct cay_run_keep *k)
{
        int status = 0, pid = k->keeper_pid;

        k->keeper_pid = 0;
        close(cay_take_fd(k->keeper_fd));
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return;
        if (status == 0)
                return;
        if (k->failure.code == CAY_OK)
                cay_fail_sys(&k->failure, CAY_INTERNAL, WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO, "%s",
                             k->is_kept ? "keep the run" : "remove the run's folder");
        k->is_kept = false;
}

void cay_run_keep_end(struct cay_run_keep *k, const struct cay_run_result *result)
{
        struct verdict v = { .size = sizeof(v) };
        int r;

        if (!k->is_on || k->keeper_pid == 0)
                return;
        if (result != NULL && result->changes_error.code != CAY_OK)
                k->failure = result->changes_error;
        else if (result != NULL)
                count(k, result);
        v.keep = k->is_kept;
        v.counts = k->counts;
        v.left_out = k->left_out;
        r = sys_write_all(k->keeper_fd, &v, sizeof(v));
        if (r < 0 && k->is_kept) {
                cay_fail_sys(&k->failure, CAY_INTERNAL, r, "tell the process that keeps the run");
                k->is_kept = false;
        }
        wait_for_keeper(k);
}

void cay_run_keep_done(struct cay_run_keep *k)
{
        if (k->keeper_pid > 0)
                wait_for_keeper(k);
        cay_run_store_let_go(&k->run);
        cay_run_store_close(&k->store);
}
