/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy-on-write workspaces through the real programs: `cay run --workspace DIR:cow`, then diff, apply,
 * discard and runs. As root; after every test the machine is compared with how it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"
#include "integration/run/harness.h"
#include "patience.h"

static char top[64], store[96], cow[96]; /* "TOP/w:cow" */

static void shell(const char *line)
{
        int status = system(line);

        if (status != 0)
                print_message("failed: %s\n", line);
        assert_int_equal(status, 0);
}

/* The working directory: w is the workspace, owned by an ordinary user, runs the store. */
static int setup(void **state)
{
        if (run_setup_test(state) < 0)
                return -1;
        snprintf(top, sizeof(top), "/tmp/cay-cow.XXXXXX");
        if (!mkdtemp(top) || chmod(top, 0755) < 0 || chdir(top) < 0)
                return -1;
        snprintf(store, sizeof(store), "%s/runs", top);
        snprintf(cow, sizeof(cow), "%s/w:cow", top);
        setenv("CAY_RUNS", store, 1);
        umask(022);
        return system("mkdir -p w/d/e && echo one >w/one && echo two >w/d/two && echo three >w/d/e/three && "
                      "ln -s one w/link && "
                      "chown -hR 4321:4321 w") == 0
                       ? 0
                       : -1;
}

static int teardown(void **state)
{
        char line[256];
        int r;

        snprintf(line, sizeof(line), "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", top, top);
        r = chdir("/") == 0 && system(line) == 0 ? 0 : -1;
        unsetenv("CAY_RUNS");
        return run_teardown_test(state) < 0 ? -1 : r;
}

static void assert_status(const struct run *r, int status)
{
        if (r->status != status)
                fail_msg("status %d, expected %d; stdout '%.300s', stderr '%.300s'", r->status, status,
                         r->out, r->err);
}

static void assert_part(const char *text, const char *part)
{
        if (!run_has(text, part))
                fail_msg("'%s' is not in '%.600s'", part, text);
}

static const char *get(const char *path)
{
        static char text[8192];
        cay_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

        if (n < 0)
                return "(missing)";
        text[n] = '\0';
        return text;
}

static unsigned kept_runs(void)
{
        DIR *dir = opendir(store);
        unsigned count = 0;

        for (struct dirent *e; dir && (e = readdir(dir));)
                count += e->d_name[0] != '.';
        if (dir)
                closedir(dir);
        return count;
}

#define COW(...) run_cay(NULL, WORDS("run", "--workspace", cow, "--", "/bin/sh", "-c", __VA_ARGS__))
#define VERB(...) run_cay(NULL, WORDS(__VA_ARGS__))

/* --- The story --- */

static void a_run_is_looked_at_and_applied(void **state)
{
        struct stat st;
        struct run r;

        (void)state;
        run_need_root();
        r = COW("cat one d/two && echo more >>one && rm -r d && mkdir new && echo x >new/x && ln -s "
                "/etc/passwd out && chmod 600 one "
                "&& cat one && ls");
        assert_status(&r, 0);
        assert_string_equal(r.out, "one\ntwo\none\nmore\nlink\nnew\none\nout\n");
        assert_part(r.err, "cay run: 5 files changed; see: cay diff ");
        shell("cd w && test \"$(cat one d/two d/e/three; readlink link; ls)\" = "
              "'one\ntwo\nthree\none\nd\nlink\none'");
        assert_int_equal(kept_runs(), 1);

        r = VERB("diff", "last", "--name-status");
        assert_status(&r, 0);
        assert_string_equal(r.out, "D\td/e/three\nD\td/two\nA\tnew/x\nM\tone\nA\tout\n");
        r = VERB("diff", "last");
        assert_part(r.out, "--- a/one\n+++ b/one\n@@ -1 +1,2 @@\n one\n+more\n");
        assert_part(r.out, "old mode 100644\nnew mode 100600\n");
        assert_part(r.out, "new file mode 120000\n");
        assert_string_equal(r.err, "");
        r = VERB("diff", "--stat", "last", "one");
        assert_string_equal(r.out, " one | 1 +\n 1 file changed, 1 line added, 0 removed\n");
        r = VERB("runs");
        assert_part(r.out, "+2 ~1 -2");
        assert_part(r.out, "7d");
        assert_part(r.out, "/w  ");

        r = VERB("apply", "last");
        assert_status(&r, 0);
        assert_string_equal(r.err, "");
        shell("cd w && test \"$(cat one new/x; readlink out link; ls)\" = "
              "'one\nmore\nx\n/etc/passwd\none\nlink\nnew\none\nout'");
        assert_int_equal(stat("w/one", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(st.st_uid, 4321); /* as before */
        assert_int_equal(stat("w/new/x", &st), 0);
        assert_int_equal(st.st_uid, 4321); /* the folder's */
        assert_int_equal(kept_runs(), 0);
        r = VERB("diff", "last");
        assert_status(&r, 125);
        assert_part(r.err, "there are no kept runs");
}

static void nothing_changed_is_nothing_kept(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = COW("cat one >/dev/null; touch one; : >>d/two; mv d x && mv x d; chmod 600 one; chmod 644 one");
        assert_status(&r, 0);
        assert_false(run_has(r.err, "cay run"));
        assert_int_equal(kept_runs(), 0);
        r = VERB("runs");
        assert_status(&r, 0);
        assert_string_equal(r.out, "");
        r = VERB("runs", "--json");
        assert_string_equal(r.out, "[]\n");
}

static void json_tells_the_run(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = run_cay(NULL, WORDS("run", "--json", "--id", "my-run", "--workspace", cow, "--", "sh", "-c",
                                "echo 12345 >new; rm one; echo x >>d/two; mkfifo p"));
        assert_status(&r, 0);
        assert_true(run_json_is_valid(&r));
        assert_part(r.out, "\"changes\":{\"run\":\"my-run\",\"added\":1,\"changed\":1,\"removed\":1,"
                           "\"bytes\":12,\"left_out\":1}");
        assert_part(r.err, "not kept: 1 special");
        r = VERB("diff", "--json", "my-run");
        assert_true(run_json_is_valid(&r));
        assert_part(r.out, "{\"status\":\"D\",\"path\":\"one\",\"type\":null,\"type_before\":\"file\","
                           "\"conflict\":null}");
        r = VERB("runs", "--json");
        assert_true(run_json_is_valid(&r));
        assert_part(r.out, "\"run\":\"my-run\",\"state\":\"kept\"");
        /* The id is taken until the run is forgotten. */
        r = run_cay(NULL, WORDS("run", "--id", "my-run", "--workspace", cow, "--", "true"));
        assert_status(&r, 125);
        assert_part(r.err, "cay discard my-run");
        r = VERB("discard", "my-r");
        assert_status(&r, 0);
        assert_int_equal(kept_runs(), 0);
        r = run_cay(NULL, WORDS("run", "--json", "--workspace", cow, "--", "true"));
        assert_part(r.out, "\"changes\":{\"run\":null,\"added\":0,");
        r = run_cay(NULL, WORDS("run", "--quiet", "--workspace", cow, "--", "sh", "-c", "echo >x"));
        assert_string_equal(r.err, "");
        assert_int_equal(kept_runs(), 1);
        r = VERB("discard", "--all");
        assert_int_equal(kept_runs(), 0);
}

/* Overlays keep these in ways of their own; seen from outside they are plain. */
static void directories_that_move_and_return(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = COW("mv d moved && mkdir d && echo two >d/two && echo 4 >d/four && rm link && mkdir link && echo "
                "in >link/in && mkdir deep "
                "&& cp -r moved deep/ && rm one && ln -s deep one");
        assert_status(&r, 0);
        r = VERB("diff", "last", "--name-status");
        assert_string_equal(
                r.out,
                "D\td/e/three\nA\td/four\nA\tdeep/moved/e/three\nA\tdeep/moved/two\nT\tlink/\nA\tlink/in\n"
                "A\tmoved/e/three\nA\tmoved/two\nT\tone\n");
        r = VERB("apply", "last");
        assert_status(&r, 0);
        shell("cd w && test \"$(find . | sort; cat d/two d/four link/in moved/e/three; readlink one)\" = "
              "'.\n./d\n./d/four\n./d/two\n"
              "./deep\n./deep/moved\n./deep/moved/e\n./deep/moved/e/three\n./deep/moved/two\n./link\n./link/"
              "in\n./moved\n./moved/e\n"
              "./moved/e/three\n./moved/two\n./one\ntwo\n4\nin\nthree\ndeep'");
        assert_int_equal(kept_runs(), 0);
}

/* --- Who changed it --- */

static void conflicts_are_named_and_nothing_is_done(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = COW("echo box >one; echo box >d/two; rm -r d/e");
        assert_status(&r, 0);
        shell("echo host >w/one && echo host >w/d/e/new");
        r = VERB("diff", "last");
        assert_status(&r, 0);
        assert_part(r.out, "-host\n+box\n"); /* against what is there now */
        assert_part(r.err, "cay diff: one: it was changed in the folder since the run");
        r = VERB("apply", "last");
        assert_status(&r, 1);
        assert_part(r.err, "cay apply: one: it was changed in the folder since the run\n");
        assert_part(r.err, "cay apply: d/e: it holds 'new', which the run did not know\n");
        assert_part(r.err, "2 conflicts; nothing was applied");
        assert_string_equal(r.out, "");
        assert_string_equal(get("w/one"), "host\n");
        assert_string_equal(get("w/d/two"), "two\n");
        r = VERB("apply", "--dry-run", "last", "d/two");
        assert_status(&r, 0);
        assert_string_equal(r.out, "M\td/two\n");
        assert_string_equal(get("w/d/two"), "two\n");
        r = VERB("apply", "last", "./d/two");
        assert_status(&r, 0);
        assert_string_equal(get("w/d/two"), "box\n");
        assert_int_equal(kept_runs(), 1); /* the rest stays */
        r = VERB("diff", "--name-status", "last");
        assert_string_equal(r.out, "D\td/e/three\nM\tone\n");
        r = VERB("apply", "last", "nothing");
        assert_status(&r, 125);
        assert_part(r.err, "changed nothing at or below 'nothing'");
        r = VERB("apply", "--force", "last");
        assert_status(&r, 0);
        assert_part(r.err, "1 directory stays");
        assert_string_equal(get("w/one"), "box\n");
        assert_string_equal(get("w/d/e/new"), "host\n"); /* never removed: the run did not know it */
        assert_int_equal(kept_runs(), 1);
        shell("rm -r w/d/e");
        r = VERB("apply", "last");
        assert_status(&r, 0);
        assert_int_equal(kept_runs(), 0);
}

/* While the run goes on: the set was made afterwards, from what the folder was then. */
static void changes_beside_the_run_conflict(void **state)
{
        struct started s;
        struct run r;

        (void)state;
        run_need_root();
        s = run_start(&(struct run_setup){ .hold_input = true },
                      WORDS("run", "--workspace", cow, "--", "sh", "-c",
                            "echo ready; read x; echo box >one; rm d/two"));
        assert_true(run_wait_readable(s.out, test_patience(20000)));
        shell("echo host >w/one && echo host >w/d/two");
        assert_int_equal(write(s.in, "\n", 1), 1);
        r = run_finish(&s, 30000);
        assert_status(&r, 0);
        r = VERB("apply", "last");
        assert_status(&r, 1);
        assert_part(r.err, "one: it was changed in the folder while the run went on");
        assert_part(r.err, "d/two: it was changed in the folder while the run went on");
        assert_string_equal(get("w/one"), "host\n");
}

static void two_runs_of_one_folder(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = run_cay(NULL, WORDS("run", "--id", "first", "--workspace", cow, "--", "sh", "-c",
                                "echo 1 >one; echo a >a"));
        assert_status(&r, 0);
        r = run_cay(NULL, WORDS("run", "--id", "second", "--workspace", cow, "--", "sh", "-c",
                                "cat one; echo 2 >one; echo b >b"));
        assert_string_equal(r.out, "one\n");
        r = VERB("runs");
        assert_true(strstr(r.out, "first") < strstr(r.out, "second"));
        r = VERB("apply", "first");
        assert_status(&r, 0);
        r = VERB("apply", "second");
        assert_status(&r, 1);
        r = VERB("apply", "second", "b");
        assert_status(&r, 0);
        shell("test \"$(cd w && cat a b one)\" = 'a\nb\n1'");
        r = VERB("discard", "second");
        assert_status(&r, 0);
}

static void another_folder_is_not_the_runs(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = COW("echo box >one");
        assert_status(&r, 0);
        shell("mv w was && mkdir w && echo mine >w/one");
        r = VERB("apply", "--force", "last");
        assert_status(&r, 125);
        assert_part(r.err, "is not the folder that the run worked on");
        assert_string_equal(get("w/one"), "mine\n");
        shell("rm -r w && mv was w");
        r = VERB("apply", "last");
        assert_status(&r, 0);
}

/* --- However it ends --- */

static void failed_and_late_commands_are_kept(void **state)
{
        static const char *const limits[] = { "500ms", "3s", "20s" };
        struct run r;

        (void)state;
        run_need_root();
        r = COW("echo half >one; exit 3");
        assert_status(&r, 3);
        assert_part(r.err, "1 file changed; see: cay diff");
        for (unsigned i = 0; i < CAY_COUNT(limits); i++) { /* one that is behind its first act */
                r = run_cay(NULL, WORDS("run", "--timeout", limits[i], "--workspace", cow, "--", "sh", "-c",
                                        "echo late >late; (while :; do :; done) & sleep 60"));
                assert_status(&r, 124);
                if (run_has(r.err, "1 file changed"))
                        break;
        }
        assert_part(r.err, "1 file changed; see: cay diff");
        r = VERB("diff", "last");
        assert_part(r.out, "+late\n");
        r = run_cay(NULL, WORDS("run", "--workspace", cow, "--", "/no/such/program"));
        assert_status(&r, 127);
        assert_int_equal(kept_runs(), 2);
        r = VERB("discard", "--all");
        assert_status(&r, 0);
}

static void a_run_that_is_interrupted_is_kept(void **state)
{
        struct started s;
        struct run r;

        (void)state;
        run_need_root();
        s = run_start(NULL, WORDS("run", "--workspace", cow, "--", "sh", "-c",
                                  "echo x >new; echo ready; sleep 60"));
        assert_true(run_wait_readable(s.out, test_patience(20000)));
        kill(s.pid, SIGINT);
        r = run_finish(&s, 30000);
        assert_status(&r, 130);
        assert_part(r.err, "1 file changed");
        r = VERB("diff", "last", "--name-status");
        assert_string_equal(r.out, "A\tnew\n");
}

/* Ended, whether its parent has taken note or not; somebody else's child, so that it is looked at. */
static bool is_over(pid_t pid)
{
        char path[64], line[100];

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        for (unsigned i = 0; i < 4000; i++) {
                cay_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
                ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

                line[n > 0 ? n : 0] = '\0';
                if (n <= 0 || strstr(line, ") Z "))
                        return true;
                usleep(10000);
        }
        return false;
}

static void a_run_that_is_killed_leaves_nothing(void **state)
{
        struct started s;
        struct run r;
        pid_t keeper;

        (void)state;
        run_need_root();
        s = run_start(NULL, WORDS("run", "--workspace", cow, "--", "sh", "-c",
                                  "echo x >new; echo ready; sleep 60"));
        assert_true(run_wait_readable(s.out, test_patience(20000)));
        r = VERB("runs");
        assert_part(r.out, "running");
        r = VERB("diff", "last");
        assert_status(&r, 125);
        keeper = run_child_of(s.pid, "cay-keep");
        assert_true(keeper > 0);
        kill(s.pid, SIGKILL);
        r = run_finish(&s, 30000);
        assert_int_equal(r.status, 1000 + SIGKILL);
        assert_true(is_over(keeper)); /* it has seen that, and removed the run */
        r = VERB("runs");
        assert_string_equal(r.out, "");
        assert_int_equal(kept_runs(), 0);
}

static void a_keeper_that_is_killed_is_told(void **state)
{
        struct started s;
        struct run r;
        pid_t keeper;

        (void)state;
        run_need_root();
        s = run_start(&(struct run_setup){ .hold_input = true },
                      WORDS("run", "--workspace", cow, "--", "sh", "-c", "echo x >new; echo ready; read x"));
        assert_true(run_wait_readable(s.out, test_patience(20000)));
        keeper = run_child_of(s.pid, "cay-keep");
        assert_true(keeper > 0);
        kill(keeper, SIGKILL);
        close(cay_take_fd(s.in));
        r = run_finish(&s, 30000);
        assert_int_not_equal(r.status, 0);
        assert_part(r.err, "the changes are lost");
        r = VERB("runs");
        assert_string_equal(r.out, "");
        assert_int_equal(kept_runs(), 0);
}

static void kept_runs_expire(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = run_cay(NULL, WORDS("run", "--keep", "1ms", "--workspace", cow, "--", "sh", "-c", "echo x >new"));
        assert_status(&r, 0);
        usleep(10000);
        r = VERB("runs");
        assert_string_equal(r.out, "");
        assert_int_equal(kept_runs(), 0);
        r = run_cay(NULL, WORDS("run", "--keep", "30d", "--workspace", cow, "--", "sh", "-c", "echo x >new"));
        assert_status(&r, 0);
        r = VERB("runs");
        assert_part(r.out, "30d");
}

/* The same for somebody who is not root, whose runs are in his own folder. */
static void ordinary_users_have_it_too(void **state)
{
        char line[2048];

        (void)state;
        run_need_root();
        snprintf(line, sizeof(line),
                 "setpriv --reuid 4321 --regid 4321 --clear-groups '%s/cay' run --allow-missing all true "
                 "2>/dev/null",
                 run_build_dir());
        /* no user namespaces for them, or programs that they can't reach: other tests say which */
        if (system(line) != 0)
                skip();
        snprintf(line, sizeof(line),
                 "mkdir home && chown 4321 home && cat >script <<'E'\nset -e\nunset CAY_RUNS "
                 "XDG_STATE_HOME\nexport HOME=$PWD/home\n"
                 "'%s/cay' run --quiet --allow-missing all --workspace $PWD/w:cow -- sh -c 'echo more >>one; "
                 "rm -r d; mkdir new; "
                 "echo x >new/x; chmod 000 new/x'\n"
                 "test -f home/.local/state/cay/runs/*/changes.tar\ntest \"$(cat w/one w/d/two)\" = "
                 "'one\ntwo'\n"
                 "'%s/cay' diff last | grep -q '^+more'\n'%s/cay' apply last >/dev/null\n"
                 "test \"$(cat w/one; ls w)\" = 'one\nmore\nlink\nnew\none'\ntest \"$(stat -c '%%a %%u' "
                 "w/new/x)\" = '0 4321'\ntest -z \"$(ls home/.local/state/cay/runs)\"\nE\n"
                 "setpriv --reuid 4321 --regid 4321 --clear-groups sh ./script",
                 run_build_dir(), run_build_dir(), run_build_dir());
        shell(line);
}

/* --- Sizes --- */

static void much_is_kept_too(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        shell("mkdir w/many && cd w/many && i=0; while [ $i -lt 2000 ]; do echo $i >f$i; i=$((i+1)); done; "
              "chown -R 4321:4321 .");
        r = run_cay(NULL, WORDS("run", "--disk", "48m", "--workspace", cow, "--", "sh", "-c",
                                "rm -r many && mkdir made && cd made && i=0; while [ $i -lt 1500 ]; do echo "
                                "$i >f$i; i=$((i+1)); done; "
                                "head -c 30000000 /dev/urandom >big; md5sum <big"));
        assert_status(&r, 0);
        assert_part(r.err, "3501 files changed");
        r = VERB("apply", "last");
        assert_status(&r, 0);
        shell("test $(ls w/made | wc -l) = 1501 && test $(stat -c %s w/made/big) = 30000000 && test ! -e "
              "w/many && "
              "test \"$(cat w/made/f1499)\" = 1499");
}

static void the_disk_limit_holds(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = run_cay(NULL, WORDS("run", "--disk", "4m", "--workspace", cow, "--", "sh", "-c",
                                "head -c 1000000 /dev/zero >a; head -c 100000000 /dev/zero >b"));
        assert_int_not_equal(r.status, 0);
        assert_part(r.err, "disk");
        assert_part(r.err, "2 files changed");
        shell("test ! -e w/a");
}

/* --- Hostile ones --- */

static void hostile_changes_stay_in_the_folder(void **state)
{
        struct stat st;
        struct run r;

        (void)state;
        run_need_root();
        shell("mkdir out && echo SECRET >out/x && chmod 777 out && ln -s ../out w/away && chown -h 4321:4321 "
              "w/away");
        r = COW("rm -r d; ln -s ../out d; echo evil >away/x; rm away; mkdir away; echo in >away/x; ln -s "
                "../../../../etc/passwd deep; "
                "echo x >s; chmod 4755 s; mkdir closed; echo c >closed/c; chmod 000 closed/c closed; mkfifo "
                "fifo; "
                "printf '\\033]0;title\\007' >'na\nme'; :");
        assert_status(&r, 0);
        r = VERB("diff", "--name-status", "last");
        assert_part(r.out, "T\taway/\nA\taway/x\n");
        assert_part(r.out, "A\tclosed/c\n");
        assert_part(r.out, "A\t\"na\\nme\"\n");
        r = VERB("apply", "last");
        assert_status(&r, 0);
        assert_string_equal(get("out/x"), "SECRET\n");
        assert_string_equal(get("w/away/x"), "in\n");
        assert_int_equal(lstat("w/s", &st), 0);
        assert_int_equal(st.st_mode & 07000, 0);
        assert_int_equal(lstat("w/closed", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0);
        assert_int_not_equal(lstat("w/fifo", &st), 0);
        assert_string_equal(get("w/closed/c"), "c\n"); /* root may */
        assert_int_equal(lstat("w/d", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
}

/* The upper directory and the base are nowhere to be found in the box. */
static void the_layers_are_out_of_reach(void **state)
{
        struct run r;

        (void)state;
        run_need_root();
        r = COW("echo x >new; ls -d /*-up /*-low /workspace-* 2>/dev/null; ls -l /proc/self/fd | grep -c "
                "workspace; "
                "grep -c 'upperdir=/' /proc/mounts; cat /proc/1/root/etc/hostname 2>/dev/null; :");
        assert_status(&r, 0);
        assert_string_equal(r.out, "0\n0\n");
        shell("test \"$(stat -c %u w)\" = 4321");
}

static void what_does_not_go_together_is_refused(void **state)
{
        struct run r;

        (void)state;
        r = run_cay(NULL, WORDS("run", "--keep", "1d", "true"));
        assert_status(&r, 2);
        assert_part(r.err, "--keep: needs --workspace DIR:cow");
        r = run_cay(NULL, WORDS("run", "--keep", "soon", "--workspace", cow, "true"));
        assert_status(&r, 2);
        assert_part(r.err, "--keep: 'soon' is not a time");
        r = run_cay(NULL, WORDS("run", "--engine", "process", "--allow-missing", "all", "--workspace", cow,
                                "true"));
        assert_status(&r, 125);
        assert_part(r.err, "no copy-on-write workspace");
        r = run_cay(NULL, WORDS("run", "--user", "root", "--workspace", cow, "true"));
        assert_status(&r, 2);
        assert_part(r.err, "sandbox's own user");
        r = VERB("diff");
        assert_status(&r, 2);
        assert_part(r.err, "no RUN given");
        r = VERB("diff", "--stat", "--json", "last");
        assert_status(&r, 2);
        r = VERB("discard");
        assert_status(&r, 2);
        r = VERB("discard", "none");
        assert_status(&r, 125);
        assert_part(r.err, "no kept run 'none'");
        assert_int_equal(kept_runs(), 0);
}

#define COW_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                COW_TEST(a_run_is_looked_at_and_applied),
                COW_TEST(nothing_changed_is_nothing_kept),
                COW_TEST(json_tells_the_run),
                COW_TEST(directories_that_move_and_return),
                COW_TEST(conflicts_are_named_and_nothing_is_done),
                COW_TEST(changes_beside_the_run_conflict),
                COW_TEST(two_runs_of_one_folder),
                COW_TEST(another_folder_is_not_the_runs),
                COW_TEST(failed_and_late_commands_are_kept),
                COW_TEST(a_run_that_is_interrupted_is_kept),
                COW_TEST(a_run_that_is_killed_leaves_nothing),
                COW_TEST(a_keeper_that_is_killed_is_told),
                COW_TEST(kept_runs_expire),
                COW_TEST(ordinary_users_have_it_too),
                COW_TEST(much_is_kept_too),
                COW_TEST(the_disk_limit_holds),
                COW_TEST(hostile_changes_stay_in_the_folder),
                COW_TEST(the_layers_are_out_of_reach),
                COW_TEST(what_does_not_go_together_is_refused),
        };

        signal(SIGINT, SIG_DFL); /* ignored in the background of a shell: cay leaves such a signal alone */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
