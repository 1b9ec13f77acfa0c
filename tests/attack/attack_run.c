/* SPDX-License-Identifier: Apache-2.0 */
/* Starting cay from a test, with a deadline, and the folders that tests hand to it. */
#include "attack_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "patience.h"

#define CAPTURE_MAX ((size_t)64 << 20)
#define SCRATCHES_MAX 16

static char build_dir[4096], cay_path[4200], probe_dir[64], probe_path[80], run_dir[64];

static char scratches[SCRATCHES_MAX][64]; /* "": free */

static unsigned user;
static bool has_range;

unsigned attack_user(void)
{
        return user;
}

bool attack_user_has_range(void)
{
        return has_range;
}

static void copy_file(const char *from, const char *to, mode_t mode)
{
        static char block[65536];
        int in = open(from, O_RDONLY | O_CLOEXEC),
            out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        ssize_t n;

        if (in < 0 || out < 0) {
                fprintf(stderr, "copy %s to %s: %s\n", from, to, strerror(errno));
                exit(1);
        }
        while ((n = read(in, block, sizeof(block))) > 0)
                if (write(out, block, (size_t)n) != n)
                        n = -1;
        fchmod(out, mode);
        close(in);
        close(out);
        if (n < 0)
                exit(1);
}

/* A file of the host's with a line more, for us and our children only. */
static void stand_in(const char *path, const char *line)
{
        static char text[65536];
        char name[128];
        int from = open(path, O_RDONLY | O_CLOEXEC), to;
        ssize_t n = from < 0 ? 0 : read(from, text, sizeof(text) - 256);

        snprintf(name, sizeof(name), "%s/%s", probe_dir, strrchr(path, '/') + 1);
        to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        n += snprintf(text + (n > 0 ? n : 0), 256, "%s", line);
        if (to < 0 || write(to, text, (size_t)n) != n || mount(name, path, NULL, MS_BIND, NULL) < 0) {
                perror(path);
                exit(1);
        }
        close(from);
        close(to);
}

static void be_ordinary(const char *as)
{
        static const char *const programs[] = { "cay", "cay-init", "cay-warden" };
        const char *own = getenv("CAY_TEST_FIRST_ID"); /* of run_isolated: ids that no other test has */
        char from[4300], to[128], line[128];

        user = (unsigned)strtoul(as, NULL, 10);
        has_range = strstr(as, ":range") != NULL;
        for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
                snprintf(from, sizeof(from), "%s/%s", build_dir, programs[i]);
                snprintf(to, sizeof(to), "%s/%s", probe_dir, programs[i]);
                copy_file(from, to, 0755);
        }
        snprintf(cay_path, sizeof(cay_path), "%s/cay", probe_dir);
        snprintf(run_dir, sizeof(run_dir), "/tmp/.cay-%u", user);
        if (mkdir(run_dir, 0700) < 0 || chown(run_dir, user, user) < 0) {
                perror(run_dir);
                exit(1);
        }
        if (!has_range)
                return;
        if (access("/usr/bin/newuidmap", X_OK) < 0) {
                printf("newuidmap is missing: scripts/bootstrap check installs it\n");
                exit(1);
        }
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
                perror("mount namespace");
                exit(1);
        }
        snprintf(line, sizeof(line), "ordinary:x:%u:%u::/:/bin/sh\n", user, user);
        stand_in("/etc/passwd", line);
        snprintf(line, sizeof(line), "ordinary:%s:65536\n", own ? own : "1879048192");
        stand_in("/etc/subuid", line);
        stand_in("/etc/subgid", line);
}

void attack_setup(void)
{
        const char *dir = getenv("CAY_BUILD_DIR");
        char source[4300];

        if (geteuid() != 0) {
                printf("needs root: the warden makes namespaces\n");
                exit(77);
        }
        if (!dir || strlen(dir) >= sizeof(build_dir)) {
                printf("CAY_BUILD_DIR is not set\n");
                exit(1);
        }
        snprintf(build_dir, sizeof(build_dir), "%s", dir);
        snprintf(cay_path, sizeof(cay_path), "%s/cay", dir);
        if (access(cay_path, X_OK) < 0) {
                perror(cay_path);
                exit(1);
        }
        snprintf(source, sizeof(source), "%s/tests/attack/probe", dir);
        snprintf(probe_dir, sizeof(probe_dir), "/tmp/attacks-XXXXXX");
        if (!mkdtemp(probe_dir) || chmod(probe_dir, 0755) < 0) {
                perror(probe_dir);
                exit(1);
        }
        snprintf(probe_path, sizeof(probe_path), "%s/probe", probe_dir);
        copy_file(source, probe_path, 0755);
        if (getenv("CAY_TEST_AS"))
                be_ordinary(getenv("CAY_TEST_AS"));
        signal(SIGPIPE, SIG_IGN);
        /* Ignored in the background of a shell: cay leaves such a signal alone. */
        signal(SIGINT, SIG_DFL);
}

void attack_teardown(void)
{
        attack_scratch_remove_all();
        if (has_range) {
                umount2("/etc/passwd", MNT_DETACH);
                umount2("/etc/subuid", MNT_DETACH);
                umount2("/etc/subgid", MNT_DETACH);
        }
        attack_scratch_remove(probe_dir);
        if (user && rmdir(run_dir) < 0)
                perror(run_dir);
}

const char *attack_build_dir(void)
{
        return build_dir;
}

const char *attack_probe_dir(void)
{
        return probe_dir;
}

const char *attack_probe_path(void)
{
        return probe_path;
}

void attack_scratch(char ret_dir[64], unsigned owner)
{
        char copy[128];
        size_t slot = 0;

        while (slot < SCRATCHES_MAX && scratches[slot][0])
                slot++;
        assert_true(slot < SCRATCHES_MAX);
        snprintf(ret_dir, 64, "/tmp/attacks-XXXXXX");
        assert_non_null(mkdtemp(ret_dir));
        snprintf(scratches[slot], sizeof(scratches[slot]), "%s", ret_dir);
        snprintf(copy, sizeof(copy), "%s/probe", ret_dir);
        copy_file(probe_path, copy, 0755);
        assert_int_equal(chown(copy, owner, owner), 0);
        assert_int_equal(chown(ret_dir, owner, owner), 0);
        assert_int_equal(chmod(ret_dir, 0755), 0);
}

/* Below a descriptor and never through a link: what is in there was made by an attacker. */
static void empty_folder(int fd)
{
        DIR *dir = fdopendir(fd);
        struct dirent *e;

        while (dir && (e = readdir(dir))) {
                int inner;

                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                if (unlinkat(dirfd(dir), e->d_name, 0) == 0)
                        continue;
                inner = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (inner >= 0)
                        empty_folder(inner);
                unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
        }
        if (dir)
                closedir(dir);
}

void attack_scratch_remove(const char *dir)
{
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd >= 0)
                empty_folder(fd);
        rmdir(dir);
        for (size_t i = 0; i < SCRATCHES_MAX; i++)
                if (strcmp(scratches[i], dir) == 0)
                        scratches[i][0] = '\0';
}

void attack_scratch_remove_all(void)
{
        char dir[64];

        for (size_t i = 0; i < SCRATCHES_MAX; i++) {
                if (!scratches[i][0])
                        continue;
                memcpy(dir, scratches[i], sizeof(dir));
                attack_scratch_remove(dir);
        }
}

size_t attack_words(const char *text, char *room, size_t room_size, const char **ret_words, size_t max)
{
        size_t n = 0;
        char *save, *word;

        snprintf(room, room_size, "%s", text);
        for (word = strtok_r(room, " ", &save); word && n < max; word = strtok_r(NULL, " ", &save))
                ret_words[n++] = word;
        return n;
}

unsigned attack_now_ms(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (unsigned)((uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000);
}

struct attack_child attack_start(const char *const *words, const char *stdin_path)
{
        const char *argv[ATTACK_WORDS_MAX + 4] = { cay_path, "run", "--json" };
        struct attack_child c = { .started_ms = attack_now_ms() };
        int out[2], err[2];
        size_t n = 3;

        while (*words) {
                assert_true(n < ATTACK_WORDS_MAX + 3);
                argv[n++] = *words++;
        }
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        assert_int_equal(pipe2(err, O_CLOEXEC), 0);
        c.pid = fork();
        assert_true(c.pid >= 0);
        if (c.pid == 0) {
                int in = open(stdin_path ? stdin_path : "/dev/null", O_RDONLY);

                if (in < 0 || dup2(in, 0) < 0 || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0)
                        _exit(98);
                if (in > 2)
                        close(in);
                if (user && (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 ||
                             setresuid(user, user, user) < 0))
                        _exit(97);
                execv(cay_path, (char **)(uintptr_t)argv);
                _exit(99);
        }
        close(out[1]);
        close(err[1]);
        c.out = out[0];
        c.err = err[0];
        return c;
}

struct capture {
        char *bytes;
        size_t len;
};

/* Reads once; false at the end. NUL bytes can't be in the JSON and are shown as '?'. */
static bool capture_some(struct capture *c, int fd)
{
        ssize_t n;

        if (c->len + 65536 > CAPTURE_MAX)
                return false;
        c->bytes = realloc(c->bytes, c->len + 65536 + 1);
        assert_non_null(c->bytes);
        n = read(fd, c->bytes + c->len, 65536);
        if (n <= 0) {
                c->bytes[c->len] = '\0';
                return false;
        }
        for (ssize_t i = 0; i < n; i++)
                if (!c->bytes[c->len + (size_t)i])
                        c->bytes[c->len + (size_t)i] = '?';
        c->len += (size_t)n;
        c->bytes[c->len] = '\0';
        return true;
}

struct attack_result attack_finish(struct attack_child *child, unsigned deadline_ms)
{
        struct attack_result r = { 0 };
        struct capture out = { 0 }, err = { 0 };
        struct pollfd p[2] = { { child->out, POLLIN, 0 }, { child->err, POLLIN, 0 } };
        struct rusage usage;
        bool late = false;
        char text[4096];

        deadline_ms = test_patience(deadline_ms);
        while (p[0].fd >= 0 || p[1].fd >= 0) {
                unsigned gone = attack_now_ms() - child->started_ms;

                if (gone >= deadline_ms) {
                        late = true;
                        break;
                }
                if (poll(p, 2, (int)(deadline_ms - gone)) <= 0)
                        continue;
                if (p[0].revents && !capture_some(&out, p[0].fd))
                        p[0].fd = -1;
                if (p[1].revents && !capture_some(&err, p[1].fd))
                        p[1].fd = -1;
        }
        if (late)
                kill(child->pid, SIGKILL);
        assert_int_equal(wait4(child->pid, &r.status, 0, &usage), child->pid);
        r.peak_kib = usage.ru_maxrss;
        if (late)
                r.status = -1;
        close(child->out);
        close(child->err);
        r.elapsed_ms = attack_now_ms() - child->started_ms;
        r.json = out.bytes ? out.bytes : calloc(1, 1);
        r.errors = err.bytes ? err.bytes : calloc(1, 1);
        if (attack_json_text(r.json, "stdout", text, sizeof(text))) {
                text[strcspn(text, "\n")] = '\0';
                snprintf(r.line, sizeof(r.line), "%.1000s", text);
        }
        if (attack_json_text(r.json, "cause", text, sizeof(text)))
                snprintf(r.cause, sizeof(r.cause), "%.31s", text);
        return r;
}

struct attack_result attack_run(const char *const *words, const char *stdin_path, unsigned deadline_ms)
{
        struct attack_child c = attack_start(words, stdin_path);

        return attack_finish(&c, deadline_ms);
}

void attack_result_free(struct attack_result *r)
{
        free(r->json);
        free(r->errors);
        r->json = r->errors = NULL;
}

pid_t attack_find_process(const char *mark)
{
        char path[64], text[4096];
        DIR *proc = opendir("/proc");
        struct dirent *e;
        pid_t found = 0;

        while (proc && !found && (e = readdir(proc))) {
                pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
                ssize_t n;
                int fd;

                if (pid <= 0)
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0)
                        continue;
                n = read(fd, text, sizeof(text) - 1);
                close(fd);
                for (ssize_t i = 0; i < n; i++)
                        if (!text[i])
                                text[i] = ' ';
                text[n > 0 ? n : 0] = '\0';
                if (strncmp(text, "/workspace/probe ", 17) == 0 && strstr(text, mark))
                        found = pid;
        }
        if (proc)
                closedir(proc);
        return found;
}
