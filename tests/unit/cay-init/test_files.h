/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the file workers share: a scratch folder, and a worker run in this process with files for
 * streams.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "cay-init/files.h"
#include "cay-init/worker.h"
#include "foundation/sys/fd.h"

struct scratch {
        char path[256];
        int fd;
};

static struct scratch scratch;

/*
 * A new empty folder, the base of relative paths and the working directory: in TMPDIR, or in memory where
 * that is not set, since trees of thousands of directories take seconds on a disk.
 */
__attribute__((unused)) static int scratch_setup(void **state)
{
        const char *tmp = getenv("TMPDIR");

        (void)state;
        umask(022); /* whatever the caller has, or the test before set */
        if (!tmp || !*tmp)
                tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(scratch.path, sizeof(scratch.path), "%s/cay-files.XXXXXX", tmp);
        if (!mkdtemp(scratch.path) || chdir(scratch.path) < 0)
                return -1;
        scratch.fd = open(scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cay_files_base = scratch.path;
        return scratch.fd < 0 ? -1 : 0;
}

/* rm does deep trees and closed directories, and is not ours. */
__attribute__((unused)) static int scratch_teardown(void **state)
{
        char command[1024];

        (void)state;
        close(scratch.fd);
        umount2("other", MNT_DETACH); /* what a failed test left mounted */
        if (chdir("/") < 0)
                return -1;
        snprintf(command, sizeof(command), "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", scratch.path,
                 scratch.path);
        return system(command) == 0 ? 0 : -1;
}

struct run {
        uint32_t flags, mode;
        uint64_t offset, max_bytes, max_entries;
        const void *in;
        size_t in_len;
        int in_fd; /* instead of in, if above 0 */
        struct cay_worker_result res;
        char *out; /* to be freed with run_done */
        size_t out_len;
};

typedef void (*worker_fn)(const struct cay_worker_request *, struct cay_worker_result *);

__attribute__((unused)) static void run_done(struct run *r)
{
        free(r->out);
        r->out = NULL;
        r->out_len = 0;
}

__attribute__((unused)) static enum cay_code run(struct run *r, worker_fn fn, const char *path,
                                                 const char *path2)
{
        struct cay_box_open open_msg = {
                .kind = CAY_BOX_READ,
                .file = { .flags = r->flags,
                          .mode = r->mode,
                          .offset = r->offset,
                          .max_bytes = r->max_bytes,
                          .max_entries = r->max_entries },
        };
        struct cay_worker_request req = { .open = &open_msg, .path = path, .path2 = path2 ? path2 : "" };
        cay_auto_close int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
        off_t len;

        run_done(r);
        assert_true(in >= 0 && out >= 0);
        if (r->in_len > 0)
                assert_int_equal(sys_write_all(in, r->in, r->in_len), 0);
        lseek(in, 0, SEEK_SET);
        req.in_fd = r->in_fd > 0 ? r->in_fd : in;
        req.out_fd = out;
        memset(&r->res, 0, sizeof(r->res));
        fn(&req, &r->res);
        len = lseek(out, 0, SEEK_END);
        assert_true(len >= 0);
        r->out = malloc((size_t)len + 1);
        assert_non_null(r->out);
        lseek(out, 0, SEEK_SET);
        assert_int_equal(sys_read_all(out, r->out, (size_t)len), len);
        r->out[len] = '\0';
        r->out_len = (size_t)len;
        return (enum cay_code)r->res.code;
}

__attribute__((unused)) static void put_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(sys_write_all(fd, text, strlen(text)), 0);
        close(fd);
}

__attribute__((unused)) static const char *get_file(const char *path)
{
        static char text[4096];
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return "(missing)";
        n = sys_read_all(fd, text, sizeof(text) - 1);
        close(fd);
        text[n > 0 ? n : 0] = '\0';
        return text;
}

__attribute__((unused)) static bool is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

__attribute__((unused)) static mode_t mode_of(const char *path)
{
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode & 07777;
}

/* Runs a shell line in the scratch folder; it must succeed. */
__attribute__((unused)) static void shell(const char *line)
{
        int status = system(line);

        if (status != 0)
                print_message("failed: %s\n", line);
        assert_int_equal(status, 0);
}

/* Levels "d/d/d/…" below the working directory, made one by one; the lowest gets a file "f". */
__attribute__((unused)) static void make_deep(const char *name, unsigned levels)
{
        int at = dup(scratch.fd), fd;

        for (unsigned i = 0; i < levels; i++) {
                assert_int_equal(mkdirat(at, name, 0755), 0);
                fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(fd >= 0);
                close(at);
                at = fd;
        }
        fd = openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(fd >= 0 && write(fd, "deep", 4) == 4);
        close(fd);
        close(at);
}

/* How many levels of `name` there are below a folder, and whether the last holds "f". */
__attribute__((unused)) static unsigned count_deep(const char *top, const char *name, bool *ret_file)
{
        int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
        unsigned n = 0;

        while (at >= 0 && (fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
                close(at);
                at = fd;
                n++;
        }
        *ret_file = at >= 0 && faccessat(at, "f", F_OK, 0) == 0;
        if (at >= 0)
                close(at);
        return n;
}

/* A child that works against the test until it is killed; it does not outlive a test that fails. */
__attribute__((unused)) static pid_t fork_rival(void)
{
        pid_t pid = fork();

        if (pid == 0)
                prctl(PR_SET_PDEATHSIG, SIGKILL);
        assert_true(pid >= 0);
        return pid;
}

__attribute__((unused)) static void end_rival(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* it did not give up */
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* As an ordinary user in a child, where permissions count; the child's assertions fail the test. */
__attribute__((unused)) static void as_nobody(void (*fn)(void))
{
        pid_t pid;
        int status;

        assert_int_equal(chmod(scratch.path, 0777), 0);
        pid = fork();
        if (pid == 0) {
                if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
                        _exit(2);
                fn();
                _exit(0);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

/* In such a child: cmocka's assertions can't jump out of it. */
#define NOBODY_CHECK(condition)                                                                              \
        do {                                                                                                 \
                if (!(condition)) {                                                                          \
                        dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                           \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

#define FILE_TEST(fn) cmocka_unit_test_setup_teardown(fn, scratch_setup, scratch_teardown)
