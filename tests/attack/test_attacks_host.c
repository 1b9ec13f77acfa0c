/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attacks with somebody on the host: a listener, a secret, a second box, an eye on what is left (security.md
 * 2.1 to 2.5). Each is run as it is and, where a switch opens it, with that layer off.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attack/attack_run.h"
#include "isolated/leftovers.h"
#include "patience.h"

#define DEADLINE_MS 30000
#define ORDINARY_USER 4242
#define SECRET "xyzzy-plugh-4711"

/* What a test has put on the host; taken away by its teardown, whether it failed or not. */
static int shared_memory = -1;
static char shared_file[128];

static void nap_ms(unsigned ms)
{
        usleep(ms * 1000);
}

/*
 * cay run OPTIONS --workspace DIR -- /workspace/probe PROBE; dir NULL: the read-only one. Blanks separate
 * words.
 */
static struct attack_child box_start(const char *options, const char *dir, const char *probe)
{
        char room[512], probe_room[1024], workspace[128];
        const char *words[ATTACK_WORDS_MAX];
        size_t n = attack_words(options, room, sizeof(room), words, 20);

        snprintf(workspace, sizeof(workspace), "%s:%s", dir ? dir : attack_probe_dir(), dir ? "rw" : "ro");
        words[n++] = "--workspace";
        words[n++] = workspace;
        words[n++] = "--";
        words[n++] = "/workspace/probe";
        n += attack_words(probe, probe_room, sizeof(probe_room), words + n, 20);
        words[n] = NULL;
        return attack_start(words, NULL);
}

static struct attack_result box_run(const char *options, const char *dir, const char *probe)
{
        struct attack_child c = box_start(options, dir, probe);

        return attack_finish(&c, DEADLINE_MS);
}

static void expect(const char *options, const char *dir, const char *probe, const char *word)
{
        struct attack_result r = box_run(options, dir, probe);
        bool lacking = strcmp(word, "BROKE") == 0 && strncmp(r.line, "LACKS", 5) == 0;

        if (strncmp(r.line, word, strlen(word)) != 0 && !lacking)
                fail_msg("'%s' (%s) should say %s: line '%s', cause '%s', status %#x\n%.1500s\n%.500s", probe,
                         options, word, r.line, r.cause, (unsigned)r.status, r.json, r.errors);
        if (lacking)
                print_message("this kernel lacks it: %s\n", r.line + 6);
        attack_result_free(&r);
}

/* Held as it is, broken with the layers in `off`; off NULL: nothing opens it. */
static void held_by(const char *off, const char *dir, const char *probe)
{
        char options[128];

        expect("", dir, probe, "HELD");
        if (!off)
                return;
        snprintf(options, sizeof(options), "--test-off %s", off);
        expect(options, dir, probe, "BROKE");
}

/* --- The host's files, descriptors, environment, name, processes --- */

static void write_file(const char *path, const char *text, mode_t mode)
{
        int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        fchmod(fd, mode);
        close(fd);
}

static void test_flag_of_the_host(void **state)
{
        char dir[64], path[128], probe[256];

        attack_scratch(dir, ORDINARY_USER);
        snprintf(path, sizeof(path), "%s/flag", dir);
        write_file(path, SECRET, 0644);
        snprintf(probe, sizeof(probe), "flag_by_path %s %s", path, SECRET);
        held_by(NULL, NULL, probe);
        attack_scratch_remove(dir);
}

/* A link on the workspace that leads out of it: inside, it leads to the box's own root. */
static void test_link_out_of_the_workspace(void **state)
{
        char dir[64], outside[64], flag[128], link[128], probe[128];

        attack_scratch(dir, ORDINARY_USER);
        attack_scratch(outside, ORDINARY_USER);
        snprintf(flag, sizeof(flag), "%s/flag", outside);
        write_file(flag, SECRET, 0644);
        snprintf(link, sizeof(link), "%s/out", dir);
        assert_int_equal(symlink(flag, link), 0);
        snprintf(probe, sizeof(probe), "flag_by_path /workspace/out %s", SECRET);
        held_by(NULL, dir, probe);
        attack_scratch_remove(outside);
        attack_scratch_remove(dir);
}

static void test_inherited_descriptors(void **state)
{
        int left_open[3];

        for (int i = 0; i < 3; i++) /* on purpose without CLOEXEC: cay gets them, the box must not */
                assert_true((left_open[i] = open("/etc", O_RDONLY | O_DIRECTORY)) >= 0);
        held_by("fds", NULL, "fds_inherited");
        for (int i = 0; i < 3; i++)
                close(left_open[i]);
}

static void test_environment(void **state)
{
        setenv("CAY_ATTACK_SECRET", SECRET, 1);
        held_by(NULL, NULL, "environment " SECRET);
        /* Init's own is empty as well: with the first layer off, the second holds. */
        expect("--test-off env", NULL, "environment " SECRET, "HELD");
        unsetenv("CAY_ATTACK_SECRET");
}

static void test_host_name(void **state)
{
        char name[256], probe[300];

        assert_int_equal(gethostname(name, sizeof(name)), 0);
        snprintf(probe, sizeof(probe), "host_name %s", name);
        held_by("utsns", NULL, probe);
}

static void test_boot_id(void **state)
{
        char probe[64] = "boot_id ";
        FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

        assert_non_null(f);
        assert_non_null(fgets(probe + 8, sizeof(probe) - 8, f));
        fclose(f);
        probe[strcspn(probe, "\n")] = '\0';
        held_by("proc_masks", NULL, probe);
}

static void test_host_processes(void **state)
{
        char probe[64];

        snprintf(probe, sizeof(probe), "host_process %d", (int)getpid());
        held_by(NULL, NULL, probe);
}

/* --- The host's sockets and shared memory --- */

static void test_abstract_socket(void **state)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        char name[64], probe[128];
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(name, sizeof(name), "attack-%d", (int)getpid());
        memcpy(un.sun_path + 1, name, strlen(name));
        assert_int_equal(bind(fd, (struct sockaddr *)&un,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
                         0);
        assert_int_equal(listen(fd, 8), 0);
        snprintf(probe, sizeof(probe), "host_abstract %s", name);
        held_by("netns", NULL, probe);
        close(fd);
}

static void test_path_socket(void **state)
{
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        char dir[64], probe[192];
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        attack_scratch(dir, ORDINARY_USER);
        snprintf(un.sun_path, sizeof(un.sun_path), "%s/socket", dir);
        assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
        assert_int_equal(chmod(un.sun_path, 0777), 0);
        assert_int_equal(listen(fd, 8), 0);
        snprintf(probe, sizeof(probe), "host_path_socket %s", un.sun_path);
        held_by(NULL, NULL, probe);
        close(fd);
        attack_scratch_remove(dir);
}

static void test_loopback(void **state)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof(in);
        char probe[64];
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
        snprintf(probe, sizeof(probe), "host_loopback %u", ntohs(in.sin_port));
        held_by("netns", NULL, probe);
        close(fd);
}

static void test_shared_memory(void **state)
{
        key_t key = 0x63000000 + getpid();
        char probe[64];

        shared_memory = shmget(key, 4096, IPC_CREAT | 0666);
        assert_true(shared_memory >= 0);
        snprintf(probe, sizeof(probe), "ipc_key %d", (int)key);
        held_by("ipcns", NULL, probe);
}

static void test_shm_files(void **state)
{
        char probe[128];

        snprintf(shared_file, sizeof(shared_file), "/dev/shm/attack-%d", (int)getpid());
        write_file(shared_file, "x", 0666);
        snprintf(probe, sizeof(probe), "shm_name attack-%d", (int)getpid());
        held_by(NULL, NULL, probe);
}

/* --- Workspaces --- */

static void test_device_on_a_workspace(void **state)
{
        char dir[64], path[128];

        attack_scratch(dir, ORDINARY_USER);
        snprintf(path, sizeof(path), "%s/zero", dir);
        assert_int_equal(mknod(path, S_IFCHR | 0666, makedev(1, 5)), 0);
        assert_int_equal(chmod(path, 0666), 0);
        assert_int_equal(chown(path, ORDINARY_USER, ORDINARY_USER), 0);
        held_by("nodev", dir, "device_open /workspace/zero");
        attack_scratch_remove(dir);
}

static void test_foreign_file_on_a_workspace(void **state)
{
        char dir[64], path[128];

        attack_scratch(dir, ORDINARY_USER);
        snprintf(path, sizeof(path), "%s/secret", dir);
        write_file(path, SECRET, 0600); /* root's */
        held_by(NULL, dir, "foreign_file /workspace/secret");
        assert_int_equal(chown(path, ORDINARY_USER + 1, ORDINARY_USER + 1), 0);
        held_by(NULL, dir, "foreign_file /workspace/secret");
        attack_scratch_remove(dir);
}

/* Everything that a run left belongs to the folder's owner, and nothing is set-id or a device. */
static void test_what_a_workspace_is_left_with(void **state)
{
        char dir[64], path[400];
        struct dirent *e;
        struct stat st;
        int seen = 0;
        DIR *d;

        attack_scratch(dir, ORDINARY_USER);
        expect("", dir, "leave /workspace", "HELD");
        expect("", dir, "set_id /workspace", "HELD");
        d = opendir(dir);
        assert_non_null(d);
        while ((e = readdir(d))) {
                if (!strcmp(e->d_name, ".."))
                        continue;
                snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
                assert_int_equal(lstat(path, &st), 0);
                if (st.st_uid != ORDINARY_USER || st.st_gid != ORDINARY_USER)
                        fail_msg("%s belongs to %u:%u", e->d_name, st.st_uid, st.st_gid);
                if ((st.st_mode & 06000) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
                        fail_msg("%s has mode %o", e->d_name, st.st_mode);
                seen++;
        }
        closedir(d);
        assert_true(seen >= 6); /* . probe file link fifo folder */
        attack_scratch_remove(dir);
}

/* A read-only workspace is that, whatever its owner could do. */
static void test_read_only_workspace(void **state)
{
        struct attack_result r;
        char workspace[128];
        const char *words[] = { "--workspace", workspace, "--",
                                "sh",          "-c",      "echo x >/workspace/new && echo BROKE || echo HELD",
                                NULL };

        snprintf(workspace, sizeof(workspace), "%s:ro", attack_probe_dir());
        r = attack_run(words, NULL, DEADLINE_MS);
        assert_string_equal(r.line, "HELD");
        attack_result_free(&r);
}

/* --- The runtime's own programs --- */

static uint64_t checksum(const char *path)
{
        unsigned char block[65536];
        uint64_t sum = 1469598103934665603ull;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        assert_true(fd >= 0);
        while ((n = read(fd, block, sizeof(block))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        sum = (sum ^ block[i]) * 1099511628211ull;
        close(fd);
        return sum;
}

/*
 * A script whose interpreter is "the program that starts me": cay-init's own code, now in the attacker's
 * process.
 */
static void test_program_of_init(void **state)
{
        char dir[64], path[4200], workspace[128];
        const char *words[] = {
                "--workspace", workspace,
                "--timeout",   "10",
                "--",          "sh",
                "-c",          "/workspace/self & /workspace/self & /workspace/probe exe_write 50",
                NULL
        };
        const char *alone[] = { "--workspace", workspace, "--timeout", "10", "--", "/workspace/self", NULL };
        struct attack_result r;
        uint64_t before;

        snprintf(path, sizeof(path), "%s/cay-init", attack_build_dir());
        before = checksum(path);
        attack_scratch(dir, ORDINARY_USER);
        snprintf(workspace, sizeof(workspace), "%s:rw", dir);
        snprintf(path, sizeof(path), "%s/self", dir);
        write_file(path, "#!/proc/self/exe\n", 0755);
        r = attack_run(words, NULL, DEADLINE_MS);
        if (strncmp(r.line, "HELD", 4) != 0)
                fail_msg("line '%s': %.1000s", r.line, r.json);
        attack_result_free(&r);
        r = attack_run(alone, NULL, DEADLINE_MS);
        assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) != 0);
        assert_true(attack_json_is_valid(r.json));
        attack_result_free(&r);
        snprintf(path, sizeof(path), "%s/cay-init", attack_build_dir());
        assert_true(checksum(path) == before);
        attack_scratch_remove(dir);
}

/* --- Two boxes --- */

/* One box takes all inotify instances it can get; the other must get as many. */
static void test_pools_are_not_shared(void **state)
{
        struct attack_child first = box_start("", NULL, "inotify_pool 128 2500");
        struct attack_result a, b;
        char text_a[64], text_b[64];

        nap_ms(800);
        b = box_run("", NULL, "inotify_pool 128 1");
        a = attack_finish(&first, DEADLINE_MS);
        snprintf(text_a, sizeof(text_a), "%.60s", a.line);
        snprintf(text_b, sizeof(text_b), "%.60s", b.line);
        attack_result_free(&a);
        attack_result_free(&b);
        assert_int_equal(strncmp(text_a, "TOOK ", 5), 0);
        assert_string_equal(text_a, text_b);
        assert_true(atoi(text_a + 5) > 8);
}

/*
 * A lock that one box takes on a file of the host's must not be felt by another, nor by the host.
 */
static void locks_are_apart(const char *options, const char *path)
{
        char hold[128], try[128];
        struct attack_child first;
        struct attack_result a, b;
        int fd = open(path, O_RDONLY | O_CLOEXEC), host;

        snprintf(hold, sizeof(hold), "flock_hold %s 2500", path);
        snprintf(try, sizeof(try), "flock_hold %s 1", path);
        first = box_start(options, NULL, hold);
        nap_ms(800);
        host = flock(fd, LOCK_EX | LOCK_NB);
        close(fd);
        b = box_run(options, NULL, try);
        a = attack_finish(&first, DEADLINE_MS);
        if (strncmp(a.line, "READY", 5) != 0 || host < 0 || strncmp(b.line, "READY", 5) != 0)
                fail_msg("a lock on %s is felt %s: '%s', '%s'", path,
                         host < 0 ? "on the host" : "in another box", a.line, b.line);
        attack_result_free(&a);
        attack_result_free(&b);
}

static void test_locks_are_apart(void **state)
{
        locks_are_apart("--user root", "/usr/bin/env");
}

static void test_locks_are_apart_default_user(void **state)
{
        locks_are_apart("", "/usr/bin/env");
}

static void test_locks_are_apart_default_user_etc(void **state)
{
        locks_are_apart("", "/etc/ld.so.cache");
}

static void test_locks_are_apart_folder(void **state)
{
        locks_are_apart("", "/usr/bin");
}

static void test_locks_are_apart_read_only(void **state)
{
        locks_are_apart("--read-only --user root", "/usr/bin/env");
}

static void test_locks_are_apart_etc(void **state)
{
        locks_are_apart("--user root", "/etc/ld.so.cache");
}

static void test_storm(void **state)
{
        struct attack_child boxes[12];

        for (size_t i = 0; i < 12; i++)
                boxes[i] = box_start("", NULL, "capabilities");
        for (size_t i = 0; i < 12; i++) {
                struct attack_result r = attack_finish(&boxes[i], DEADLINE_MS);

                if (strncmp(r.line, "HELD", 4) != 0)
                        fail_msg("box %zu: '%s' %s\n%s", i, r.line, r.json, r.errors);
                attack_result_free(&r);
        }
}

/* --- Output --- */

static void flood(const char *kind, const char *where)
{
        char probe[64];
        struct attack_result r;
        double cut;

        snprintf(probe, sizeof(probe), "flood 64 %s %s", kind, where);
        r = box_run("--output-limit 1m --timeout 20", NULL, probe);
        if (!attack_json_is_valid(r.json) || strcmp(r.cause, "output") != 0 || strlen(r.json) > (9u << 20))
                fail_msg("flood of %s: cause '%s', %zu bytes of JSON, valid %d\n%s", kind, r.cause,
                         strlen(r.json), attack_json_is_valid(r.json), r.errors);
        if (r.peak_kib > 65536)
                fail_msg("flood of %s: cay took %ld KiB", kind, r.peak_kib);
        attack_result_free(&r);

        snprintf(probe, sizeof(probe), "flood 8 %s %s", kind, where);
        r = box_run("--output-limit 1m:cut --timeout 20", NULL, probe);
        if (!attack_json_is_valid(r.json) || strcmp(r.cause, "exited") != 0)
                fail_msg("cut flood of %s: cause '%s'", kind, r.cause);
        assert_true(attack_json_number(r.json, "cut_bytes", &cut) && cut >= 7 << 20);
        attack_result_free(&r);
}

static void test_flood_text(void **state)
{
        flood("text", "stdout");
        flood("text", "stderr");
}

static void test_flood_one_line(void **state)
{
        flood("line", "stdout");
}

static void test_flood_nul(void **state)
{
        flood("nul", "stdout");
}

static void test_flood_broken_utf8(void **state)
{
        flood("utf8", "stderr");
}

static void test_flood_escapes(void **state)
{
        flood("escape", "stdout");
}

/* --- Sizes of what is given --- */

static void test_huge_arguments(void **state)
{
        static char big[100001];
        const char *words[24] = { "--", "/bin/true" };
        struct attack_result r;

        memset(big, 'x', sizeof(big) - 1);
        for (size_t i = 2; i < 18; i++)
                words[i] = big;
        r = attack_run(words, NULL, DEADLINE_MS);
        if (!WIFEXITED(r.status) ||
            (WEXITSTATUS(r.status) != 0 && WEXITSTATUS(r.status) != 2 && WEXITSTATUS(r.status) != 125))
                fail_msg("1.6 MB of arguments: status %#x\n%s", (unsigned)r.status, r.errors);
        if (WEXITSTATUS(r.status) != 0 && !r.errors[0] && !strstr(r.json, "\"error\""))
                fail_msg("no word about what was wrong");
        attack_result_free(&r);
}

static void test_huge_environment(void **state)
{
        static char big[100003] = "X=";
        const char *words[40];
        struct attack_result r;
        size_t n = 0;

        memset(big + 2, 'x', sizeof(big) - 3);
        for (int i = 0; i < 12; i++) {
                words[n++] = "--env";
                words[n++] = big;
        }
        words[n++] = "--";
        words[n++] = "/bin/true";
        words[n] = NULL;
        r = attack_run(words, NULL, DEADLINE_MS);
        if (!WIFEXITED(r.status) ||
            (WEXITSTATUS(r.status) != 0 && WEXITSTATUS(r.status) != 2 && WEXITSTATUS(r.status) != 125))
                fail_msg("1.2 MB of environment: status %#x\n%s", (unsigned)r.status, r.errors);
        attack_result_free(&r);
}

static void test_hostile_ids(void **state)
{
        static const char *const ids[] = { "../../etc", "a/b", "",   ".",    "..",   "A",
                                           "a b",       "x\n", "-x", "xn--", "%s%n", "\xff" };

        for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
                const char *words[] = { "--id", ids[i], "--", "/bin/true", NULL };
                struct attack_result r = attack_run(words, NULL, DEADLINE_MS);

                if (!WIFEXITED(r.status) || WEXITSTATUS(r.status) != 2)
                        fail_msg("id '%s': status %#x", ids[i], (unsigned)r.status);
                attack_result_free(&r);
        }
}

/* --- Ends --- */

/* Waits until a probe of ours runs in a box. */
static pid_t await_process(const char *mark)
{
        for (int i = 0; i < 2000; i++) {
                pid_t pid = attack_find_process(mark);

                if (pid)
                        return pid;
                nap_ms(20);
        }
        fail_msg("no process '%s' came up", mark);
        return 0;
}

static bool is_gone(const char *mark, unsigned within_ms)
{
        unsigned start = attack_now_ms();

        while (attack_find_process(mark)) {
                if (attack_now_ms() - start > test_patience(within_ms))
                        return false;
                nap_ms(20);
        }
        return true;
}

/*
 * Ended with the call, though in a session of its own and deaf to signals. Two layers: init ends what its
 * command started, and the pid namespace's end is everybody's; with the first off, the second holds.
 */
static void test_daemon_after_the_call(void **state)
{
        char probe[64];

        snprintf(probe, sizeof(probe), "daemonize 3%d", (int)getpid());
        expect("", NULL, probe, "HELD");
        assert_true(is_gone(probe, 0));
        expect("--test-off kill_all", NULL, probe, "HELD");
        assert_true(is_gone(probe, 0));
}

/* What a dead cay leaves is swept by the next. */
static void next_start_sweeps(void)
{
        const char *words[] = { "--", "/bin/true", NULL };
        struct attack_result r = attack_run(words, NULL, DEADLINE_MS);

        assert_true(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0);
        attack_result_free(&r);
}

static void test_client_killed(void **state)
{
        struct attack_child c = box_start("", NULL, "sleeps 61");
        struct attack_result r;

        await_process("sleeps 61");
        kill(c.pid, SIGKILL);
        r = attack_finish(&c, 5000);
        attack_result_free(&r);
        assert_true(is_gone("sleeps 61", 10000));
        next_start_sweeps();
}

/* The first child of `parent` with that name. */
static pid_t child_named(pid_t parent, const char *name)
{
        char path[64], text[512], comm[64];
        DIR *proc = opendir("/proc");
        struct dirent *e;
        pid_t found = 0;

        while (proc && !found && (e = readdir(proc))) {
                int fd, ppid;
                ssize_t n;

                snprintf(path, sizeof(path), "/proc/%.16s/stat", e->d_name);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0)
                        continue;
                n = read(fd, text, sizeof(text) - 1);
                close(fd);
                text[n > 0 ? n : 0] = '\0';
                if (sscanf(text, "%*d (%63[^)]) %*c %d", comm, &ppid) == 2 && ppid == parent &&
                    strcmp(comm, name) == 0)
                        found = (pid_t)strtol(e->d_name, NULL, 10);
        }
        if (proc)
                closedir(proc);
        return found;
}

static void test_warden_killed(void **state)
{
        struct attack_child c = box_start("", NULL, "sleeps 62");
        struct attack_result r;
        pid_t warden;

        await_process("sleeps 62");
        warden = child_named(c.pid, "cay-warden");
        assert_true(warden > 0);
        kill(warden, SIGKILL);
        r = attack_finish(&c, 10000);
        if (!WIFEXITED(r.status) || !attack_json_is_valid(r.json))
                fail_msg("status %#x: %s\n%s", (unsigned)r.status, r.json, r.errors);
        if (strcmp(r.cause, "engine_lost") && strcmp(r.cause, "sandbox_gone") && !strstr(r.json, "\"error\""))
                fail_msg("cause '%s'", r.cause);
        attack_result_free(&r);
        assert_true(is_gone("sleeps 62", 10000));
        next_start_sweeps();
}

static void test_init_killed(void **state)
{
        struct attack_child c = box_start("", NULL, "sleeps 63");
        struct attack_result r;
        pid_t init;

        await_process("sleeps 63");
        init = child_named(child_named(c.pid, "cay-warden"), "cay-init");
        assert_true(init > 0);
        kill(init, SIGKILL);
        r = attack_finish(&c, 10000);
        if (!WIFEXITED(r.status) || strcmp(r.cause, "sandbox_gone") != 0)
                fail_msg("status %#x, cause '%s': %s", (unsigned)r.status, r.cause, r.json);
        attack_result_free(&r);
        assert_true(is_gone("sleeps 63", 10000));
}

static void test_interrupted(void **state)
{
        struct attack_child c = box_start("", NULL, "sleeps 64");
        struct attack_result r;

        await_process("sleeps 64");
        kill(c.pid, SIGINT);
        r = attack_finish(&c, 10000);
        if (!WIFEXITED(r.status) || WEXITSTATUS(r.status) != 130 || strcmp(r.cause, "killed") != 0)
                fail_msg("status %#x, cause '%s'", (unsigned)r.status, r.cause);
        attack_result_free(&r);
        assert_true(is_gone("sleeps 64", 0));
}

/* Nobody reads any more: the run ends of that, not at the end of its time. */
static void test_reader_gone(void **state)
{
        char command[4600];

        snprintf(command, sizeof(command),
                 "bash -c \"'%s/cay' run --quiet --output-limit 200m --workspace '%s:ro' -- /workspace/probe "
                 "flood "
                 "100 text | head -c 10 >/dev/null; exit \\${PIPESTATUS[0]}\"",
                 attack_build_dir(), attack_probe_dir());
        assert_int_equal(WEXITSTATUS(system(command)), 128 + SIGPIPE);
        assert_true(is_gone("flood 100", 10000));
}

/* --- Images that fight back --- */

enum { AS_LINK, AS_FIFO, AS_FILE, AS_DEEP_LINK };

static void hostile_image(const char *name, int as)
{
        char image[64], victim[64], path[200], target[200], probe_left[128];
        const char *words[] = { "--template", image, "--", "/none", NULL };
        struct attack_result r;
        int entries = 0;
        struct dirent *e;
        DIR *d;

        attack_scratch(image, 0);
        attack_scratch(victim, ORDINARY_USER);
        snprintf(probe_left, sizeof(probe_left), "%s/probe", victim);
        unlink(probe_left);
        snprintf(path, sizeof(path), "%s/%s", image, name);
        if (as == AS_LINK)
                assert_int_equal(symlink(victim, path), 0);
        else if (as == AS_FIFO)
                assert_int_equal(mkfifo(path, 0666), 0);
        else if (as == AS_FILE)
                write_file(path, "x", 0666);
        else { /* a link that climbs out of the image */
                snprintf(target, sizeof(target), "../../../../../../..%s", victim);
                assert_int_equal(symlink(target, path), 0);
        }
        r = attack_run(words, NULL, DEADLINE_MS);
        if (!WIFEXITED(r.status) || (WEXITSTATUS(r.status) != 125 && WEXITSTATUS(r.status) != 127))
                fail_msg("/%s: status %#x\n%s\n%s", name, (unsigned)r.status, r.json, r.errors);
        attack_result_free(&r);
        d = opendir(victim);
        while ((e = readdir(d)))
                entries += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
        closedir(d);
        if (entries)
                fail_msg("/%s led to the host: %d files were made there", name, entries);
        attack_scratch_remove(image);
        attack_scratch_remove(victim);
}

static void test_hostile_images(void **state)
{
        static const char *const names[] = { "proc", "dev", "tmp", "workspace", "etc", "sys", "usr", "run" };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                for (int as = AS_LINK; as <= AS_DEEP_LINK; as++)
                        hostile_image(names[i], as);
}

/* --- */

static int before(void **state)
{
        *state = cay_leftovers_take();
        return 0;
}

static int after(void **state)
{
        unsigned left;

        attack_scratch_remove_all();
        if (shared_memory >= 0)
                shmctl(shared_memory, IPC_RMID, NULL);
        shared_memory = -1;
        if (shared_file[0])
                unlink(shared_file);
        shared_file[0] = '\0';
        left = cay_leftovers_compare(*state, CAY_LEFTOVERS_WAIT_MS);
        cay_leftovers_free(*state);
        return left ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(test_flag_of_the_host),
                TEST(test_link_out_of_the_workspace),
                TEST(test_inherited_descriptors),
                TEST(test_environment),
                TEST(test_host_name),
                TEST(test_boot_id),
                TEST(test_host_processes),
                TEST(test_abstract_socket),
                TEST(test_path_socket),
                TEST(test_loopback),
                TEST(test_shared_memory),
                TEST(test_shm_files),
                TEST(test_device_on_a_workspace),
                TEST(test_foreign_file_on_a_workspace),
                TEST(test_what_a_workspace_is_left_with),
                TEST(test_read_only_workspace),
                TEST(test_program_of_init),
                TEST(test_pools_are_not_shared),
                TEST(test_locks_are_apart),
                TEST(test_locks_are_apart_default_user),
                TEST(test_locks_are_apart_default_user_etc),
                TEST(test_locks_are_apart_folder),
                TEST(test_locks_are_apart_read_only),
                TEST(test_locks_are_apart_etc),
                TEST(test_storm),
                TEST(test_flood_text),
                TEST(test_flood_one_line),
                TEST(test_flood_nul),
                TEST(test_flood_broken_utf8),
                TEST(test_flood_escapes),
                TEST(test_huge_arguments),
                TEST(test_huge_environment),
                TEST(test_hostile_ids),
                TEST(test_daemon_after_the_call),
                TEST(test_client_killed),
                TEST(test_warden_killed),
                TEST(test_init_killed),
                TEST(test_interrupted),
                TEST(test_reader_gone),
                TEST(test_hostile_images),
        };
        int failed;

        if (getenv("CAY_ATTACK_ONLY"))
                cmocka_set_test_filter(getenv("CAY_ATTACK_ONLY"));
        attack_setup();
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        attack_teardown();
        return failed;
}
