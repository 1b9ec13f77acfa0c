/* SPDX-License-Identifier: Apache-2.0 */
/* box_make: what a good plan gives, and every way in which a bad one is refused with nothing left behind. */
#include "rig.h"

#include <sys/mount.h>

#include "foundation/sys/fd.h"
#include "links/helper/init_config.h"

static struct rig rig;

static int set_up(void **state)
{
        rig = (struct rig){ .sock = -1, .pid = -1 };
        return rig_set_up(state);
}

static int tear_down(void **state)
{
        rig_abandon(&rig); /* when the test has failed half-way; else it is gone already */
        return rig_tear_down(state);
}

static void test_good_plan(void **state)
{
        struct rig_box box;
        const char *text;
        unsigned long long memory, boot;
        unsigned flags, fds, cpus;
        struct timespec before, after;

        rig_start(&rig, NULL);
        clock_gettime(CLOCK_REALTIME_COARSE, &before);
        rig_must_make(&rig, "good", &box);
        clock_gettime(CLOCK_REALTIME, &after);
        assert_int_equal(box.skipped, 0);
        text = rig_tell(&box, "config");
        assert_string_not_equal(text, RIG_NOBODY);
        assert_int_equal(
                sscanf(text,
                       "magic 63617931 size %*u flags %u fds %x uid 1001 gid 1001 cpus %u memory %llu "
                       "swap 0 boot %llu secret 01080f16",
                       &flags, &fds, &cpus, &memory, &boot),
                5);
        assert_int_equal(flags & ~(unsigned)(CAY_INIT_OOM_SET | CAY_INIT_PLACED), CAY_INIT_ISOLATED);
        assert_int_equal(cpus, 1);
        assert_int_equal(memory, 64 << 20);
        assert_in_range(boot, (unsigned long long)before.tv_sec, (unsigned long long)after.tv_sec);
        assert_int_equal(fds & 1, 1);
        /* Who init is, and what it can do. */
        text = rig_tell(&box, "read /proc/self/status");
        assert_non_null(strstr(text, "Uid:\t65533\t65533\t65533\t65533"));
        assert_non_null(strstr(text, "Groups:\t \n"));
        assert_non_null(strstr(text, "CapEff:\t00000000000001e0")); /* kill, setgid, setuid, setpcap */
        assert_non_null(strstr(text, "CapBnd:\t00000000000001e0"));
        assert_non_null(strstr(text, "NoNewPrivs:\t1"));
        assert_non_null(strstr(text, "NSpid:\t1\n"));
        rig_box_close(&box);
        rig_stop(&rig);
}

/* Nothing of the host is open in init but what the config gave it. */
static void test_no_descriptor_of_the_host(void **state)
{
        struct rig_box box;
        const char *text;
        int fd, given = 0;
        char target[160];

        rig_start(&rig, NULL);
        rig_must_make(&rig, "fds", &box);
        text = rig_tell(&box, "fds");
        assert_string_not_equal(text, RIG_NOBODY);
        for (int n; sscanf(text, "%d %159[^\n]\n%n", &fd, target, &n) == 2; text += n) {
                static const char *const may[] = { "/dev/null", "socket:", "/meminfo", "/stat", "/loadavg" };
                bool known = strstr(target, "/cay-fds") != NULL; /* the box's own cgroups */

                for (unsigned i = 0; i < CAY_COUNT(may); i++)
                        known |= strncmp(target, may[i], strlen(may[i])) == 0;
                if (!known)
                        fail_msg("descriptor %d is %s", fd, target);
                given++;
        }
        assert_in_range(given, 5, 17);
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_host_template(void **state)
{
        static const struct {
                const char *path, *is;
        } rows[] = {
                { "/", "dir 755 0 0" },
                { "/usr/bin", "dir 755 0 0" },
                { "/workspace", "dir 777 1001 1001" },
                { "/tmp", "dir 1777 0 0" },
                { "/dev/null", "device 666" },
                { "/etc/passwd", "file 644 0 0" },
                { "/proc/1/stat", "file 444" },
                { "/sys", "No such file" },
                { "/root", "dir 700 0 0" },
                { "/dev/shm", "dir 1777" },
                { "/media", "No such file" },
                { "/boot", "No such file" },
        };
        struct rig_box box;
        const char *text;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "host", &box);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                text = rig_tell(&box, "stat %s", rows[i].path);
                assert_string_not_equal(text, RIG_NOBODY);
                if (strncmp(text, rows[i].is, strlen(rows[i].is)) != 0)
                        fail_msg("%s is '%s', not '%s'", rows[i].path, text, rows[i].is);
        }
        assert_string_equal(rig_tell(&box, "write /workspace/a text"), "ok");
        assert_string_equal(rig_tell(&box, "read /workspace/a"), "text");
        assert_string_equal(rig_tell(&box, "write /etc/a text"), "Permission denied");
        assert_string_equal(rig_tell(&box, "read /proc/sys/user/max_user_namespaces"), "0\n");
        assert_string_equal(rig_tell(&box, "read /proc/sys/kernel/hostname"), "cay\n");
        assert_string_equal(rig_tell(&box, "read /etc/hostname"), "cay\n");
        /* No host path shows in the box's list of mounts. */
        text = rig_tell(&box, "read /proc/self/mountinfo");
        assert_null(strstr(text, rig_folder()));
        assert_null(strstr(text, "/sys/fs/cgroup"));
        rig_box_close(&box);
        rig_stop(&rig);
}

static void test_read_only(void **state)
{
        struct wire_plan p = rig_plan("ro");
        struct rig_box box;

        p.flags |= WIRE_PLAN_READ_ONLY;
        rig_start(&rig, NULL);
        rig_must(rig_make(&rig, &p, -1, -1, &box));
        assert_string_equal(rig_tell(&box, "write /home/sandbox/a text"), "Read-only file system");
        assert_string_equal(rig_tell(&box, "write /workspace/a text"), "ok");
        assert_string_equal(rig_tell(&box, "write /tmp/a text"), "ok");
        rig_box_close(&box);
        rig_stop(&rig);
}

/* What is written into a read-write folder belongs to the folder's owner; a read-only one takes nothing. */
static void test_workspace(void **state)
{
        struct wire_plan p = rig_plan("work");
        int folder = rig_image("work");
        struct rig_box box;
        struct stat st;
        char text[16];

        assert_int_equal(fchown(folder, 4242, 4343), 0);
        assert_int_equal(sys_make_file(folder, "own", 0600, "mine", 4), 0);
        assert_int_equal(fchownat(folder, "own", 4242, 4343, 0), 0);
        assert_int_equal(sys_make_file(folder, "foreign", 0600, "not yours", 9), 0);
        rig_start(&rig, NULL);
        p.flags |= WIRE_PLAN_WORKSPACE_RW;
        rig_must(rig_make(&rig, &p, -1, folder, &box));
        assert_string_equal(rig_tell(&box, "stat /workspace/own"), "file 600 1001 1001");
        assert_string_equal(rig_tell(&box, "stat /workspace/foreign"), "file 600 65534 65534");
        assert_string_equal(rig_tell(&box, "read /workspace/foreign"), "error: Permission denied");
        assert_string_equal(rig_tell(&box, "write /workspace/new text"), "ok");
        assert_int_equal(fstatat(folder, "new", &st, 0), 0);
        assert_int_equal(st.st_uid, 4242);
        assert_int_equal(st.st_gid, 4343);
        assert_int_equal(sys_read_file(folder, "new", text, sizeof(text)), 4);
        rig_box_close(&box);
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "work"));
        p.flags &= ~(uint32_t)WIRE_PLAN_WORKSPACE_RW;
        rig_must(rig_make(&rig, &p, -1, folder, &box));
        assert_string_equal(rig_tell(&box, "write /workspace/own text"), "Read-only file system");
        rig_box_close(&box);
        rig_stop(&rig);
        close(folder);
}

static void test_bad_ids(void **state)
{
        static const char *const bad[] = { "",   "A",  "a_b", "a/b", "../x",     "a b",
                                           "-a", "a-", ".",   "a.b", "\xc3\xa4", "a\n" };
        struct wire_plan p;

        rig_start(&rig, NULL);
        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                p = rig_plan(bad[i]);
                rig_refused(&rig, &p, -1, -1, CAY_INVALID, "id");
        }
        p = rig_plan("x");
        memset(p.id, 'a', sizeof(p.id)); /* no end */
        rig_refused(&rig, &p, -1, -1, CAY_INVALID, "id");
        rig_stop(&rig);
}

static void test_flags(void **state)
{
        static const uint32_t bad[] = { WIRE_PLAN_ALL + 1, 0x80000000u, UINT32_MAX };
        struct wire_plan p = rig_plan("flags");

        rig_start(&rig, NULL);
        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                p.flags = bad[i];
                rig_refused(&rig, &p, -1, -1, CAY_INVALID, "flags");
        }
        rig_stop(&rig);
}

static void test_exists(void **state)
{
        struct wire_plan p = rig_plan("twice");
        struct rig_box box;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "twice", &box);
        rig_refused(&rig, &p, -1, -1, CAY_EXISTS, "exists");
        assert_string_equal(rig_tell(&box, "ping"), "pong"); /* the first is as it was */
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "twice"));
        rig_box_close(&box);
        rig_must_make(&rig, "twice", &box); /* and the name is free again */
        rig_box_close(&box);
        rig_stop(&rig);
}

/* The same name at another warden's: refused too, and the first box stays whole. */
static void test_exists_elsewhere(void **state)
{
        struct wire_plan p = rig_plan("twice");
        struct rig_box box;
        struct rig other;

        rig_start(&rig, NULL);
        rig_start(&other, NULL);
        rig_must_make(&other, "twice", &box);
        rig_refused(&rig, &p, -1, -1, CAY_EXISTS, "exists");
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_stop(&rig);
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_box_close(&box);
        rig_stop(&other);
}

/* Descriptors of another kind or number than the plan says. */
static void test_wrong_descriptors(void **state)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC), pair[2];
        const struct {
                uint32_t flags;
                int fds[3];
                unsigned count;
        } rows[] = {
                { 0, { null }, 1 },
                { 0, { dir }, 1 },
                { 0, { file }, 1 },
                { 0, { -2, dir }, 2 }, /* -2: a good link */
                { 0, { -2, -2, -2 }, 3 },
                { WIRE_PLAN_ROOTFS, { -2 }, 1 },
                { WIRE_PLAN_WORKSPACE, { -2 }, 1 },
                { WIRE_PLAN_ROOTFS, { -2, file }, 2 },
                { WIRE_PLAN_ROOTFS, { -2, null }, 2 },
                { WIRE_PLAN_ROOTFS, { -2, -2 }, 2 },
                { WIRE_PLAN_ROOTFS, { dir, -2 }, 2 },
                { WIRE_PLAN_WORKSPACE, { -2, file }, 2 },
                { WIRE_PLAN_ROOTFS | WIRE_PLAN_WORKSPACE, { -2, dir }, 2 },
                { WIRE_PLAN_ROOTFS | WIRE_PLAN_WORKSPACE, { -2, dir, file }, 3 },
                { WIRE_PLAN_ROOTFS | WIRE_PLAN_WORKSPACE, { -2, file, dir }, 3 },
                { WIRE_PLAN_WORKSPACE_RW, { -2, dir }, 2 },
        };

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        rig_start(&rig, NULL);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct wire_request req = rig_request(&rig, WIRE_box_make);
                struct wire_answer a;
                int fds[3];

                req.plan = rig_plan("wrong");
                req.plan.flags = rows[i].flags;
                for (unsigned k = 0; k < rows[i].count; k++)
                        fds[k] = rows[i].fds[k] == -2 ? pair[1] : rows[i].fds[k];
                a = rig_ask(&rig, &req, fds, rows[i].count);
                if (a.code != CAY_INVALID || !strstr(a.text, "descriptors"))
                        fail_msg("row %u: %s %s", i, cay_code_word(a.code), a.text);
        }
        rig_stop(&rig);
        close(null);
        close(dir);
        close(file);
        close(pair[0]);
        close(pair[1]);
}

/* A link that is no stream, or not connected, is cay-init's to be unhappy with; the host is not touched. */
static void test_odd_links(void **state)
{
        int link = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
            net = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int links[] = { link, net };

        rig_start(&rig, NULL);
        for (unsigned i = 0; i < CAY_COUNT(links); i++) {
                struct wire_request req = rig_request(&rig, WIRE_box_make);

                req.plan = rig_plan("odd");
                rig_ask(&rig, &req, &links[i], 1);
                rig_must(rig_ask_box(&rig, WIRE_box_drop, "odd"));
        }
        rig_stop(&rig);
        close(link);
        close(net);
}

static void not_root(void)
{
        if (setgid(65534) < 0 || setuid(65534) < 0)
                _exit(126);
}

/* An ordinary user has a warden too; what no cgroup holds for them is watched, and it says which. */
static void test_warden_without_root(void **state)
{
        struct wire_request req;
        struct wire_answer a;

        rig_start_raw(&rig, not_root);
        req = rig_request(&rig, WIRE_hello);
        req.hello.version = WIRE_VERSION;
        a = rig_ask(&rig, &req, NULL, 0);
        assert_int_equal(a.code, CAY_OK);
        assert_int_equal(a.hello.can_hold & HELPER_LIMIT_WATCHABLE, HELPER_LIMIT_WATCHABLE);
        assert_int_equal(a.hello.watched & ~a.hello.can_hold, 0);
        rig_stop(&rig);
        assert_int_not_equal(access("/tmp/.cay-65534", F_OK), 0);
}

static void bad_run_folder(void)
{
        rig_own_mounts();
        if (mount("tmpfs", "/run", "tmpfs", 0, "mode=0755") < 0 || mkdir("/run/cay", 0777) < 0 ||
            chmod("/run/cay", 0777) < 0)
                _exit(126);
}

static void test_bad_run_folder(void **state)
{
        struct wire_request req;
        struct wire_answer a;

        rig_start_raw(&rig, bad_run_folder);
        req = rig_request(&rig, WIRE_hello);
        req.hello.version = WIRE_VERSION;
        a = rig_ask(&rig, &req, NULL, 0);
        assert_int_equal(a.code, CAY_DENIED);
        assert_non_null(strstr(a.text, "/run/cay"));
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

#define rigged(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                rigged(test_good_plan),
                rigged(test_no_descriptor_of_the_host),
                rigged(test_host_template),
                rigged(test_read_only),
                rigged(test_workspace),
                rigged(test_bad_ids),
                rigged(test_flags),
                rigged(test_exists),
                rigged(test_exists_elsewhere),
                rigged(test_wrong_descriptors),
                rigged(test_odd_links),
                rigged(test_warden_without_root),
                rigged(test_bad_run_folder),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
