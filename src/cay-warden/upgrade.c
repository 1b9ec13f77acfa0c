/* SPDX-License-Identifier: Apache-2.0 */
/* From one warden to the next. See upgrade.h for the theory. */
#include "cay-warden/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/child.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/files_limit.h"
#include "foundation/sys/syscalls.h"
#include "cay-warden/warden.h"

#define STATE_MAGIC 0x63617975u
#define STATE_VERSION                                                                                        \
        6u /* of struct warden and what is in it: one more whenever a field changes its meaning or place */
#define CHECK_MS 5000
#define CHECK_FD 3
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct head {
        uint32_t magic, version, size;
        uint32_t body_size, box_size, steps; /* a different layout has other sizes */
        uint32_t boxes;                      /* rows that follow the body */
        uint32_t cgroup_version;             /* 0: none was opened */
};

static char program[PATH_MAX];

void warden_upgrade_note_program(void)
{
        ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

        program[len < 0 ? 0 : len] = 0;
}

static struct head make_head(const struct warden *w)
{
        return (struct head){ .magic = STATE_MAGIC,
                              .version = STATE_VERSION,
                              .size = sizeof(struct head),
                              .body_size = offsetof(struct warden, boxes),
                              .box_size = sizeof(struct warden_box),
                              .steps = CAY_STEP_COUNT,
                              .boxes = w->rows,
                              .cgroup_version = sys_cgroup_version(&w->cgroups) };
}

static int write_state(const struct warden *w)
{
        cay_auto_close int fd = memfd_create("cay-warden-state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        struct head head = make_head(w);
        int r;

        if (fd < 0)
                return -errno;
        r = sys_write_all(fd, &head, sizeof(head));
        if (r == 0)
                r = sys_write_all(fd, w, head.body_size);
        if (r == 0)
                r = sys_write_all(fd, w->boxes, (size_t)head.boxes * head.box_size);
        if (r < 0)
                return r;
        return fcntl(fd, F_ADD_SEALS, SEALS) < 0 ? -errno : cay_take_fd(fd);
}

static int read_all(int fd, void *to, size_t len, off_t at)
{
        return pread(fd, to, len, at) == (ssize_t)len ? 0 : -EPROTO;
}

/* Written by this program or its predecessor, and by nobody since. */
static int read_head(int fd, struct head *ret)
{
        struct stat st;
        int seals = fcntl(fd, F_GET_SEALS);

        if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 ||
            read_all(fd, ret, sizeof(*ret), 0) < 0)
                return -EPROTO;
        if (ret->magic != STATE_MAGIC || ret->version != STATE_VERSION || ret->size != sizeof(*ret) ||
            ret->body_size != offsetof(struct warden, boxes) || ret->box_size != sizeof(struct warden_box) ||
            ret->steps != CAY_STEP_COUNT || ret->boxes > WARDEN_BOXES || ret->cgroup_version > 2 ||
            st.st_size != (off_t)(sizeof(*ret) + ret->body_size + (uint64_t)ret->boxes * ret->box_size))
                return -EPROTO;
        return 0;
}

/* Descriptors */

static void mark_all(const struct warden *w, bool close_on_exec)
{
        sys_fd_mark(w->keeper, close_on_exec);
        sys_fd_mark(w->layers, close_on_exec);
        sys_fd_mark(w->disk, close_on_exec);
        sys_fd_mark(w->registry, close_on_exec);
        for (unsigned i = 0; i < WIRE_ROOTS; i++)
                sys_fd_mark(w->roots[i], close_on_exec);
        for (unsigned i = 0; i < SYS_CGROUP_PARTS; i++)
                sys_fd_mark(w->cgroups.parent[i], close_on_exec);
        for (unsigned i = 0; i < w->volume_rows; i++)
                if (w->volumes[i].is_used)
                        sys_fd_mark(w->volumes[i].mount, close_on_exec);
        for (unsigned i = 0; i < w->rows; i++) {
                const struct warden_box *box = &w->boxes[i];

                if (box->state == BOX_FREE)
                        continue;
                sys_fd_mark(box->pidfd, close_on_exec);
                sys_fd_mark(box->control, close_on_exec);
                sys_fd_mark(box->record.fd, close_on_exec);
                for (unsigned part = 0; part < SYS_CGROUP_PARTS; part++)
                        sys_fd_mark(box->cgroup.dir[part], close_on_exec);
        }
}

/* Asking */

static _Noreturn void ask_as_child(int state)
{
        char *const argv[] = { (char *)"cay-warden", (char *)"check", NULL };
        extern char **environ;

        if (state != CHECK_FD && dup2(state, CHECK_FD) < 0)
                _exit(1);
        fcntl(CHECK_FD, F_SETFD, 0);
        sys_close_range(CHECK_FD + 1, ~0u, 0);
        execve(program, argv, environ);
        _exit(1);
}

static int ask(int state, struct cay_error *err)
{
        pid_t pid;
        int r;

        if (!program[0] || access(program, X_OK) < 0)
                return cay_fail_sys(err, CAY_NOT_FOUND, -errno, "the program '%.150s' is missing", program);
        pid = fork();
        if (pid == 0)
                ask_as_child(state);
        r = pid < 0 ? -errno : sys_child_status(pid, CHECK_MS);
        if (r == WARDEN_CHECK_OK)
                return 0;
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "try '%.150s'", program)
                     : cay_fail(err, CAY_UNSUPPORTED,
                                "'%.150s' cannot take over the sandboxes (status %d); stop the daemon and "
                                "start it again",
                                program, r);
}

int warden_upgrade_check(struct warden *w, struct cay_error *err)
{
        cay_auto_close int state = write_state(w);

        if (state < 0)
                return cay_fail_sys(err, CAY_INTERNAL, state, "write the state down");
        return ask(state, err);
}

int warden_upgrade(struct warden *w, struct cay_error *err)
{
        cay_auto_close int state = write_state(w);
        char number[16];
        char *const argv[] = { (char *)"cay-warden", (char *)"resume", number, NULL };
        extern char **environ;
        int r;

        if (state < 0)
                return cay_fail_sys(err, CAY_INTERNAL, state, "write the state down");
        if (ask(state, err) < 0)
                return -1;
        snprintf(number, sizeof(number), "%d", state);
        sys_fd_mark(state, false);
        mark_all(w, false);
        sys_files_restore(); /* it raises its limit itself, and must know what we were given */
        execve(program, argv, environ);
        r = -errno;
        sys_files_raise(UINT64_MAX);
        mark_all(w, true);
        return cay_fail_sys(err, CAY_UNAVAILABLE, r, "become '%.150s'", program);
}

/* The new program */

int warden_upgrade_main_check(int state_fd)
{
        struct head head;
        char path[PATH_MAX + 16];
        char *slash;

        warden_upgrade_note_program();
        if (read_head(state_fd, &head) < 0)
                return 3;
        snprintf(path, sizeof(path), "%s", program);
        slash = strrchr(path, '/');
        if (!slash)
                return 4;
        snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "cay-init");
        return access(path, X_OK) == 0 ? WARDEN_CHECK_OK : 4;
}

int warden_upgrade_load(struct warden *w, int state_fd, struct cay_error *err)
{
        cay_auto_close int fd = state_fd;
        struct head head;
        int r = read_head(fd, &head);

        if (r == 0)
                r = read_all(fd, w, head.body_size, sizeof(head));
        if (r == 0)
                r = read_all(fd, w->boxes, (size_t)head.boxes * head.box_size,
                             (off_t)(sizeof(head) + head.body_size));
        if (r < 0 || w->rows != head.boxes)
                return cay_fail(err, CAY_INVALID, "the state that was handed over is not of this version");
        mark_all(w, true);
        sys_cgroup_resume(&w->cgroups, head.cgroup_version);
        for (unsigned i = 0; i < w->rows; i++)
                w->boxes[i].cgroup.ops = w->cgroups.ops;
        return 0;
}
