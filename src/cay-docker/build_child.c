/* SPDX-License-Identifier: Apache-2.0 */
/* Fork, close everything, confine, read. */
#include "cay-docker/build_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/auth/digest.h"
#include "foundation/base/path.h"
#include "foundation/base/str.h"
#include "domain/templates/registry.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/landlock.h"
#include "foundation/sys/syscalls.h"

enum {
        DEADLINE_MS = 120000,
        RECORDS_MAX = 4 * 1024 * 1024,
        CPU_S = 100,
        OUT_FD = 3, /* the child's */
        TAR_FD = 4,
        FIRST_FREE = 5,
};

/* The last message of a child that has no more to say: a record without a name. */
static void tell_end(int out, const struct cay_error *err)
{
        struct docker_context c = { .code = err->code };

        cay_str_copy(c.text, sizeof(c.text), err->msg);
        (void)sys_write_all(out, &c, sizeof(c));
}

static void tell(struct docker_context_sink *sink, const struct docker_context *c)
{
        (void)sink;
        if (sys_write_all(OUT_FD, c, sizeof(*c)) < 0)
                _exit(1); /* nobody listens any more */
}

static int read_registry(const char *path, char *text, size_t size, int *ret_folder, struct cay_error *err)
{
        cay_auto_close int fd = sys_open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        char folder[4096];
        ssize_t n = fd < 0 ? fd : sys_read_fd(fd, text, size);
        int len = (int)(cay_path_base(path) - path);

        if (n < 0)
                return cay_fail_sys(err, CAY_CONFLICT, (int)n, "registry %.150s", path);
        snprintf(folder, sizeof(folder), "%.*s", len > 0 ? len : 1, len > 0 ? path : ".");
        *ret_folder = sys_open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
        return *ret_folder < 0 ? cay_fail_sys(err, CAY_CONFLICT, *ret_folder, "registry %.150s", path)
                               : (int)n;
}

/* Where there is no landlock, opening below a descriptor is what holds. */
static void confine(int folder)
{
        const struct sys_landlock_folder rule = { folder, SYS_LANDLOCK_READ_FILE | SYS_LANDLOCK_READ_DIR };
        const struct rlimit cpu = { CPU_S, CPU_S }, none = { 0, 0 };

        setrlimit(RLIMIT_CPU, &cpu);
        setrlimit(RLIMIT_CORE, &none);
        setrlimit(RLIMIT_NPROC, &none);
        (void)sys_landlock_enter(&rule, 1);
}

static int run_build(const char *registry, const char *name, struct cay_error *err)
{
        static char text[CAY_REGISTRY_FILE_MAX + 2];
        struct docker_context_sink sink = { tell };
        uint8_t digest[CAY_DIGEST_SIZE];
        int folder, n;

        n = read_registry(registry, text, sizeof(text), &folder, err);
        if (n < 0)
                return -1;
        cay_digest_sha256("", 0, digest); /* the library looks for files of its own now, and never again */
        confine(folder);
        return docker_context_read(folder, text, (size_t)n, name, name ? TAR_FD : -1, &sink, err);
}

_Noreturn static void be_child(int out, int tar, const char *registry, const char *name)
{
        struct cay_error err = { 0 };
        int high_out = fcntl(out, F_DUPFD, FIRST_FREE),
            high_tar = tar < 0 ? -1 : fcntl(tar, F_DUPFD, FIRST_FREE);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        if (high_out < 0 || dup2(high_out, OUT_FD) < 0 || (tar >= 0 && dup2(high_tar, TAR_FD) < 0))
                _exit(1);
        sys_close_range(tar >= 0 ? FIRST_FREE : TAR_FD, ~0u, 0);
        run_build(registry, name, &err);
        tell_end(OUT_FD, &err);
        _exit(0);
}

/* The parent's side */

static void let_go(struct docker_child *c)
{
        int fd = c->watch.fd;

        if (c->watch.loop) {
                cay_watch_remove(&c->watch);
                close(fd);
        }
        cay_timer_clear(&c->deadline);
        cay_timer_clear(&c->start);
        if (c->pid > 0) {
                kill(c->pid, SIGKILL);
                while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                c->pid = 0;
        }
}

static void end(struct docker_child *c)
{
        unsigned count = (unsigned)(c->records.len / sizeof(struct docker_context));
        const struct docker_context *last = count > 0 ? docker_child_record(c, count - 1) : NULL;

        let_go(c);
        if (c->err.code == CAY_OK && (!last || last->name[0] != '\0'))
                cay_fail(&c->err, CAY_INTERNAL, "reading the build's files ended too early");
        else if (c->err.code == CAY_OK && last->code != CAY_OK)
                cay_fail(&c->err, last->code < CAY_CODE_COUNT ? (enum cay_code)last->code : CAY_INTERNAL,
                         "%s", last->text);
        c->on_done(c);
}

static void on_deadline(struct cay_timer *t)
{
        struct docker_child *c = cay_container_of(t, struct docker_child, deadline);

        cay_fail(&c->err, CAY_TIMEOUT, "reading the build's files took more than %d s", DEADLINE_MS / 1000);
        end(c);
}

static void on_records(struct cay_watch *w, uint32_t events)
{
        struct docker_child *c = cay_container_of(w, struct docker_child, watch);
        char *room = cay_buf_room(&c->records, 64 * 1024);
        ssize_t n = room ? read(w->fd, room, 64 * 1024) : -1;

        (void)events;
        if (n > 0) {
                cay_buf_added(&c->records, (size_t)n);
                return;
        }
        if (n < 0 && room && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0)
                cay_fail(&c->err, CAY_INTERNAL, "reading the build's files: its process reported too much");
        end(c);
}

static void on_failed_start(struct cay_timer *t)
{
        end(cay_container_of(t, struct docker_child, start));
}

static int start(struct docker_child *c, const char *registry, const char *name, struct cay_error *err)
{
        int out[2], r;

        if (registry[0] == '\0')
                return cay_fail(
                        err, CAY_CONFLICT,
                        "there is no registry: name one with --registry and put its templates' folders "
                        "beside it");
        if (name) {
                c->tar_fd = memfd_create("cay-context", MFD_CLOEXEC);
                if (c->tar_fd < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "make room for the build's files");
        }
        if (pipe2(out, O_CLOEXEC) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a pipe");
        c->pid = fork();
        if (c->pid == 0)
                be_child(out[1], c->tar_fd, registry, name);
        close(out[1]);
        r = c->pid < 0 ? -errno : fcntl(out[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
        if (r == 0)
                r = cay_watch_add(c->loop, &c->watch, out[0], EPOLLIN, on_records);
        if (r == 0)
                return cay_timer_set(c->loop, &c->deadline, DEADLINE_MS, on_deadline);
        close(out[0]);
        return cay_fail_sys(err, CAY_INTERNAL, r, "start reading the build's files");
}

void docker_child_begin(struct docker_child *c, struct cay_loop *loop, const char *registry, const char *name)
{
        c->loop = loop;
        c->tar_fd = -1;
        c->pid = 0;
        c->err = (struct cay_error){ 0 };
        cay_buf_init(&c->records, RECORDS_MAX);
        if (start(c, registry, name, &c->err) < 0)
                cay_timer_set(loop, &c->start, 0, on_failed_start);
}

void docker_child_abort(struct docker_child *c)
{
        if (!c->loop)
                return;
        let_go(c);
        cay_buf_done(&c->records);
        if (c->tar_fd >= 0)
                close(cay_take_fd(c->tar_fd));
        c->loop = NULL;
}

const struct docker_context *docker_child_record(const struct docker_child *c, unsigned i)
{
        size_t at = (size_t)i * sizeof(struct docker_context);

        return at + sizeof(struct docker_context) <= c->records.len
                       ? (const struct docker_context *)(const void *)(cay_buf_data(&c->records) + at)
                       : NULL;
}
