/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An id for each box: taken by making its folder, ended as a whole, given to nobody while one that has it
 * lives. All of it needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "engines/process/scratch.h"
#include "foundation/sys/caps.h"

#define HELD 4u

static struct {
        char folder[32], at[64];
        struct cay_scratch_ids ids;
        struct cay_scratch_ids machine;
        struct cay_scratch held[HELD];
} t;

/*
 * What is ended here is ended on the whole machine: the ids are asked for where everybody does, and held as
 * long as this runs.
 */
static int setup_all(void **state)
{
        struct cay_error err = { 0 };

        cay_scratch_ids_open(&t.machine, CAY_SCRATCH_IDS_AT);
        for (unsigned i = 0; i < HELD; i++)
                if (cay_scratch_make_with_id(&t.machine, &t.held[i], &err) < 0)
                        fail_msg("%s", err.msg);
        return 0;
}

static int teardown_all(void **state)
{
        int r = 0;

        for (unsigned i = 0; i < HELD; i++)
                r |= cay_scratch_remove(&t.held[i], 10) != 1;
        cay_scratch_ids_close(&t.machine);
        return r;
}

static void give_all_but_held(void)
{
        memset(&t.ids.given, 0xff, sizeof(t.ids.given));
        for (unsigned i = 0; i < HELD; i++) {
                uint32_t at = t.held[i].id - CAY_OWN_ID_FIRST;

                t.ids.given.bits[at / 64] &= ~(1ull << at % 64);
        }
}

static int setup(void **state)
{
        snprintf(t.folder, sizeof(t.folder), "/tmp/ids-test-XXXXXX");
        if (mkdtemp(t.folder) == NULL)
                return -1;
        snprintf(t.at, sizeof(t.at), "%s/ids", t.folder);
        cay_scratch_ids_open(&t.ids, t.at);
        give_all_but_held();
        return 0;
}

static int teardown(void **state)
{
        cay_scratch_ids_close(&t.ids);
        return rmdir(t.folder); /* must be empty */
}

static void make(struct cay_scratch *s)
{
        struct cay_error err = { 0 };

        if (cay_scratch_make_with_id(&t.ids, s, &err) < 0)
                fail_msg("%s", err.msg);
}

static bool is_there(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0;
}

static void in_it(const struct cay_scratch *s, const char *line)
{
        char command[700];

        snprintf(command, sizeof(command), "cd %s && %s", s->path, line);
        assert_int_equal(system(command), 0);
}

/* Until everything is done or stuck; bounded, for a process that is killed needs a moment to be gone. */
static void sweep(void)
{
        for (unsigned i = 0; i < 10000 && cay_scratch_sweep_ids(&t.ids, 1000) != CAY_SWEPT; i++)
                usleep(1000);
}

/*
 * A process with that id which does `signo` to all that it can, again and again; 0: nothing. It has begun
 * when this returns.
 */
static pid_t start(uint32_t id, int signo)
{
        int fds[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0) {
                /* What its maker holds, locks above all, is not its own. */
                for (int fd = 3; fd < 64; fd++)
                        if (fd != fds[1])
                                close(fd);
                if (cay_own_id_become(id) < 0)
                        _exit(1);
                if (signo != 0)
                        kill(-1, signo);
                if (write(fds[1], "x", 1) != 1)
                        _exit(1);
                while (signo != 0)
                        kill(-1, signo);
                for (;;)
                        pause();
        }
        close(fds[1]);
        assert_int_equal(read(fds[0], &byte, 1), 1);
        close(fds[0]);
        return pid;
}

/* As often as nobody can tell: the one that ends them has stood still. */
static int end_all(uint32_t id)
{
        int r = -ETIME;

        for (unsigned i = 0; i < 20 && r == -ETIME; i++)
                r = cay_own_id_kill(id);
        return r;
}

/* By somebody before us. */
static void was_killed(pid_t pid)
{
        int status = 0;
        pid_t r = 0;

        for (unsigned i = 0; i < 500000 && r == 0; i++) {
                r = waitpid(pid, &status, WNOHANG);
                if (r == 0)
                        usleep(100);
        }
        if (r == 0) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
        assert_int_equal(r, pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Tests */

static void ids_are_taken_in_turn(void **state)
{
        struct cay_scratch a, b, c;
        struct stat st;

        make(&a);
        make(&b);
        assert_true(cay_own_id_is(a.id) && cay_own_id_is(b.id) && a.id != b.id);
        assert_int_equal(fstat(a.fd, &st), 0);
        assert_true(st.st_uid == a.id && st.st_gid == a.id && (st.st_mode & 07777) == 0700);
        assert_int_equal(fstat(a.around, &st), 0);
        assert_true(st.st_uid == 0 && (st.st_mode & 07777) == 0711);
        assert_int_equal(stat(t.at, &st), 0);
        assert_true(st.st_uid == 0 && (st.st_mode & 07777) == 0711);
        in_it(&a, "mkdir -p d/e && ln -s /etc d/e/out && touch d/f");
        sweep(); /* they live */
        assert_true(is_there(a.path));
        assert_int_equal(cay_scratch_remove(&a, 1000), 1);
        make(&c); /* what was just given back is not taken again */
        assert_true(c.id != a.id && c.id != b.id);
        assert_int_equal(cay_scratch_remove(&c, 10), 1);
        cay_scratch_close(&b);
        sweep(); /* and now this one does not */
        assert_false(is_there(b.path));
}

/* Whoever could write there could take all ids away, or have others' processes ended. */
static void the_folder_of_folders_is_roots_alone(void **state)
{
        struct cay_error err = { 0 };
        struct cay_scratch s;

        assert_int_equal(mkdir(t.at, 0700), 0);
        assert_int_equal(chown(t.at, 12345, 12345), 0);
        assert_int_equal(cay_scratch_make_with_id(&t.ids, &s, &err), -1);
        assert_true(err.code == CAY_DENIED && strstr(err.msg, t.at) != NULL);
        assert_int_equal(chown(t.at, 0, 0), 0);
        assert_int_equal(chmod(t.at, 01777), 0);
        assert_int_equal(cay_scratch_make_with_id(&t.ids, &s, &err), -1);
        assert_int_equal(rmdir(t.at), 0);
        assert_int_equal(symlink(t.folder, t.at), 0);
        assert_int_equal(cay_scratch_make_with_id(&t.ids, &s, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(unlink(t.at), 0);
}

/* A process of a box whose maker died: the folder's name says whose it is. */
static void a_sweep_ends_what_has_the_id(void **state)
{
        struct cay_scratch s;
        pid_t pid;

        make(&s);
        assert_int_equal(end_all(s.id), 1); /* nobody yet */
        pid = start(s.id, 0);
        cay_scratch_close(&s);
        sweep();
        was_killed(pid);
        assert_false(is_there(s.path));
        assert_true(cay_own_id_kill(0) < 0 && cay_own_id_kill(1000) < 0); /* no id of ours */
}

static void nobody_else_is_ended(void **state)
{
        struct cay_scratch a, b;
        pid_t other;

        make(&a);
        make(&b);
        other = start(b.id, 0);
        assert_int_equal(end_all(a.id), 1);
        assert_int_equal(kill(other, SIGCONT), 0);
        assert_int_equal(waitpid(other, NULL, WNOHANG), 0); /* lives */
        end_all(b.id);
        was_killed(other);
        assert_int_equal(cay_scratch_remove(&a, 10), 1);
        assert_int_equal(cay_scratch_remove(&b, 10), 1);
}

/* Those who stop or kill all that they can do not reach who comes to end them. */
static void who_ends_them_cannot_be_held_up(void **state)
{
        static const int signals[] = { SIGSTOP, SIGKILL };

        for (unsigned i = 0; i < 40; i++) { /* each time it is a race, which nobody may win but one */
                struct cay_scratch s;
                pid_t pid;
                int r;

                make(&s);
                pid = start(s.id, signals[i % 2]);
                r = end_all(s.id);
                assert_true(r == 0 || r == 1);
                was_killed(pid); /* by the first that came */
                assert_int_equal(end_all(s.id), 1);
                assert_int_equal(cay_scratch_remove(&s, 10), 1);
        }
}

/* Without the right to become the id nobody can tell who has it: then it is not given back. */
static void failing_to_end_them_is_no_answer(void **state)
{
        struct cay_scratch s;
        int status;
        pid_t pid, box;

        make(&s);
        box = start(s.id, 0);
        cay_scratch_close(&s);
        pid = fork();
        if (pid == 0) {
                if (sys_caps_set(0, 0, 0) < 0 || cay_own_id_kill(s.id) >= 0)
                        _exit(100);
                _exit((int)cay_scratch_sweep_ids(&t.ids, 1000));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), CAY_SWEPT_STUCK);
        assert_true(is_there(s.path));
        sweep();
        was_killed(box);
        assert_false(is_there(s.path));
}

/* No longer than it may be, and nobody waits for who has most. */
static void a_sweep_goes_on_where_it_ended(void **state)
{
        struct cay_scratch large, small;
        unsigned rounds = 1;

        make(&large);
        make(&small);
        t.ids.sweep_next = large.id - CAY_OWN_ID_FIRST;
        in_it(&large, "i=0; while [ $i -lt 300 ]; do : > f$i; i=$((i+1)); done");
        cay_scratch_close(&large);
        cay_scratch_close(&small);
        assert_int_equal(cay_scratch_sweep_ids(&t.ids, 250), CAY_SWEPT_MORE);
        assert_true(is_there(large.path) && is_there(small.path));
        while (cay_scratch_sweep_ids(&t.ids, 250) != CAY_SWEPT) {
                assert_false(is_there(small.path)); /* it was the first of the second round */
                assert_true(++rounds < 100);
        }
        assert_true(rounds > 3);
        assert_false(is_there(large.path));
}

static void write_to(const char *path, const char *text)
{
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
}

static bool is_given(const char *text, unsigned field, bool has_count, uint32_t number)
{
        struct cay_id_set set = { 0 };
        char path[64];

        snprintf(path, sizeof(path), "%s/text", t.folder);
        write_to(path, text);
        cay_own_id_read_given(&set, path, field, has_count);
        unlink(path);
        return cay_id_set_has(&set, CAY_OWN_ID_FIRST + number);
}

static void the_hosts_files_say_who_has_which(void **state)
{
        static const char users[] = "root:x:0:0::/:/bin/sh\nodd\n:::\nmine:x:2013265927:7:::\n";
        static const char ranges[] = "a:100000:65536\nb:2013265920:3\nc:2013270015:4\nd:x:1\n";

        assert_true(is_given(users, 2, false, 7));
        assert_false(is_given(users, 2, false, 0) || is_given(users, 2, false, 6) ||
                     is_given(users, 2, false, 8));
        assert_true(is_given(ranges, 1, true, 0) && is_given(ranges, 1, true, 2));
        assert_false(is_given(ranges, 1, true, 3));
        assert_true(is_given(ranges, 1, true,
                             4095)); /* and behind the last one: those that kill the first have these */
        assert_true(is_given("c:2013270020:2", 1, true, 5) && !is_given("c:2013270020:2", 1, true, 3));
        assert_true(is_given("all:0:18446744073709551615\n", 1, true, 100));
}

static void what_the_host_gave_away_is_left_alone(void **state)
{
        struct cay_error err = { 0 };
        struct cay_scratch s, none;
        pid_t pid;

        make(&s);
        pid = start(s.id, 0);
        cay_scratch_close(&s);
        for (unsigned i = 0; i < HELD; i++)
                cay_id_set_add(&t.ids.given, t.held[i].id);
        assert_int_equal(cay_scratch_make_with_id(&t.ids, &none, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        sweep();
        assert_true(is_there(s.path));
        assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* lives */
        give_all_but_held();
        sweep();
        was_killed(pid);
        assert_false(is_there(s.path));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(ids_are_taken_in_turn),
                TEST(the_folder_of_folders_is_roots_alone),
                TEST(a_sweep_ends_what_has_the_id),
                TEST(nobody_else_is_ended),
                TEST(who_ends_them_cannot_be_held_up),
                TEST(failing_to_end_them_is_no_answer),
                TEST(a_sweep_goes_on_where_it_ended),
                TEST(the_hosts_files_say_who_has_which),
                TEST(what_the_host_gave_away_is_left_alone),
        };

        if (geteuid() != 0)
                return 77; /* skipped */
        return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
