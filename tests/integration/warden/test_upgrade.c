/* SPDX-License-Identifier: Apache-2.0 */
/* A warden that becomes its successor: same process, same boxes; or stays what it is, with a reason. */
#include "integration/warden/rig.h"

static struct rig rig;

static unsigned count_fds(pid_t pid)
{
        char path[32];
        unsigned count = 0;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        dir = opendir(path);
        assert_non_null(dir);
        while (readdir(dir))
                count++;
        closedir(dir);
        return count;
}

static ino_t program_of(pid_t pid)
{
        char path[32];
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        assert_int_equal(stat(path, &st), 0);
        return st.st_ino;
}

/* Another file with the same bytes takes the program's place, as a package would do it. */
static ino_t replace(const char *name)
{
        static char bytes[1 << 16];
        char path[160], next[180];
        struct stat st;
        ssize_t n;
        int in, out;

        snprintf(path, sizeof(path), "%s/%s", rig_folder(), name);
        snprintf(next, sizeof(next), "%s.next", path);
        in = open(path, O_RDONLY | O_CLOEXEC);
        out = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        assert_true(in >= 0 && out >= 0);
        while ((n = read(in, bytes, sizeof(bytes))) > 0)
                assert_int_equal(write(out, bytes, (size_t)n), n);
        close(in);
        close(out);
        assert_int_equal(rename(next, path), 0);
        assert_int_equal(stat(path, &st), 0);
        return st.st_ino;
}

static void relink(struct rig_box *box)
{
        struct wire_request req = rig_request(&rig, WIRE_box_link);
        struct wire_answer a;
        int links[2];

        snprintf(req.box.id, sizeof(req.box.id), "%s", box->id);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        a = rig_ask(&rig, &req, &links[1], 1);
        rig_must(a);
        assert_int_equal(a.box.skipped, box->skipped);
        close(links[1]);
        rig_box_close(box);
        box->link = links[0];
}

static void must_upgrade(int keeper)
{
        struct wire_kept a;

        rig_say(keeper, WIRE_KEEPER_CHECK, 0, -1);
        a = rig_hear(keeper);
        if (a.code != CAY_OK)
                fail_msg("check: %s", a.text);
        close(rig.sock);
        rig.sock = -1;
        rig_say(keeper, WIRE_KEEPER_UPGRADE, 0, -1);
        a = rig_hear(keeper);
        if (a.code != CAY_OK)
                fail_msg("upgrade: %s", a.text);
        assert_int_equal(a.type, WIRE_KEEPER_UPGRADE);
        rig_next_front(&rig, keeper);
}

static void test_boxes_live_on(void **state)
{
        int keeper = rig_start_kept(&rig), root = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct rig_box a, b, frozen;
        unsigned fds;

        rig_say(keeper, WIRE_KEEPER_ROOT, 0, root);
        close(root);
        rig_must_make(&rig, "up-a", &a);
        rig_must_make(&rig, "up-b", &b);
        rig_must_make(&rig, "up-frozen", &frozen);
        rig_must(rig_ask_box(&rig, WIRE_box_freeze, "up-frozen"));
        fds = count_fds(rig.pid);
        for (int i = 0; i < 3; i++) {
                ino_t program = replace("cay-warden");

                must_upgrade(keeper);
                assert_int_equal(program_of(rig.pid),
                                 program); /* and the pid is the same, or it would not be there */
                assert_int_equal(count_fds(rig.pid), fds);
                relink(&a);
                assert_string_equal(rig_tell(&a, "ping"), "pong");
        }
        rig_must(rig_ask_box(&rig, WIRE_box_thaw, "up-frozen"));
        relink(&frozen);
        assert_string_equal(rig_tell(&frozen, "ping"), "pong");
        /* Its end is told by the warden that did not make it. */
        relink(&b);
        rig_tell(&b, "exit");
        assert_true(rig_news(&rig, "up-b", RIG_WAIT_MS));
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "up-a"));
        rig_must_make(&rig, "up-new", &a); /* and it makes new ones, by the same cgroups */
        assert_string_equal(rig_tell(&a, "ping"), "pong");
        rig_box_close(&a);
        rig_box_close(&b);
        rig_box_close(&frozen);
        close(keeper);
        assert_true(rig_ends(&rig)); /* which unmakes what the first one made: see rig_tear_down */
        rig_stop(&rig);
}

/* A box that ends in between is told afterwards; one that is over stays to be asked about. */
static void test_end_in_between(void **state)
{
        int keeper = rig_start_kept(&rig);
        struct rig_box box, over;
        struct wire_kept a;

        rig_must_make(&rig, "over", &over);
        rig_tell(&over, "exit");
        assert_true(rig_news(&rig, "over", RIG_WAIT_MS));
        rig_must_make(&rig, "between", &box);
        close(rig.sock);
        rig.sock = -1;
        rig_say(keeper, WIRE_KEEPER_UPGRADE, 0, -1);
        rig_tell(&box, "exit");
        a = rig_hear(keeper);
        assert_int_equal(a.code, CAY_OK);
        rig_next_front(&rig, keeper);
        rig_must(rig_ask_box(&rig, WIRE_box_stat, "over"));
        rig_must(rig_ask_box(&rig, WIRE_box_stat, "between"));
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "over"));
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "between"));
        rig_box_close(&box);
        rig_box_close(&over);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

static void must_refuse(int keeper, uint32_t type, const char *word)
{
        struct wire_kept a;

        rig_say(keeper, type, 0, -1);
        a = rig_hear(keeper);
        assert_int_equal(a.type, type);
        if (a.code == CAY_OK || !strstr(a.text, word))
                fail_msg("wanted a refusal with '%s', got %u: %s", word, a.code, a.text);
}

/* Whatever is wrong with the new one, the old one goes on. */
static void test_refused(void **state)
{
        int keeper = rig_start_kept(&rig);
        ino_t program = program_of(rig.pid);
        char path[160], away[180];
        struct rig_box box;
        unsigned fds;
        int fd;

        rig_must_make(&rig, "stays", &box);
        fds = count_fds(rig.pid);
        snprintf(path, sizeof(path), "%s/cay-warden", rig_folder());
        snprintf(away, sizeof(away), "%s.away", path);
        assert_int_equal(rename(path, away), 0);
        must_refuse(keeper, WIRE_KEEPER_CHECK, "is missing");
        must_refuse(keeper, WIRE_KEEPER_UPGRADE, "is missing");
        /* a program of another kind */
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        assert_true(write(fd, "#!/bin/sh\nexit 0\n", 17) == 17);
        close(fd);
        must_refuse(keeper, WIRE_KEEPER_CHECK, "cannot take over");
        must_refuse(keeper, WIRE_KEEPER_UPGRADE, "cannot take over");
        /* one that does not run at all */
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(write(fd, "\177ELF nonsense", 13) == 13);
        close(fd);
        must_refuse(keeper, WIRE_KEEPER_UPGRADE, "cannot take over");
        assert_int_equal(rename(away, path), 0);
        /* without its cay-init */
        snprintf(path, sizeof(path), "%s/cay-init", rig_folder());
        assert_int_equal(rename(path, away), 0);
        must_refuse(keeper, WIRE_KEEPER_UPGRADE, "cannot take over");
        assert_int_equal(rename(away, path), 0);

        assert_int_equal(program_of(rig.pid), program);
        assert_int_equal(count_fds(rig.pid), fds);
        assert_string_equal(rig_tell(&box, "ping"), "pong");
        rig_must(rig_ask_box(&rig, WIRE_box_stat, "stays")); /* over the link of the same front */
        must_upgrade(keeper);
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "stays"));
        rig_box_close(&box);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/* State that is not what it should be: "resume" and "check" refuse, and touch nothing. */
static int run_with(const char *verb, const void *bytes, size_t len)
{
        char path[160];
        pid_t pid;
        int status;

        snprintf(path, sizeof(path), "%s/cay-warden", rig_folder());
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                int fd = open(rig_folder(), O_TMPFILE | O_RDWR, 0600);

                if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || dup2(fd, HELPER_FRONT_FD) < 0)
                        _exit(99);
                dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
                execl(path, "cay-warden", verb, "3", NULL);
                _exit(98);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void test_bad_state(void **state)
{
        static const char nonsense[4096] = "nonsense";

        assert_int_equal(run_with("check", nonsense, sizeof(nonsense)), 3);
        assert_int_equal(run_with("check", "", 0), 3);
        assert_int_equal(run_with("resume", nonsense, sizeof(nonsense)), 1);
        assert_int_equal(run_with("resume", "", 0), 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_boxes_live_on, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_end_in_between, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_refused, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_bad_state, rig_set_up, rig_tear_down),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
