/* SPDX-License-Identifier: Apache-2.0 */
/* Several readers of one build: late ones, slow ones, those who leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-docker/build_readers.h"

#define ROUNDS 100000

static struct {
        struct cay_loop *loop;
        struct docker_readers all;
        uint32_t done[DOCKER_READERS_MAX + 1]; /* seq of each, as they were done */
        unsigned done_count, alone;
} t;

static void on_done(struct docker_readers *all, const struct docker_reader *who)
{
        assert_ptr_equal(all, &t.all);
        assert_int_equal(who->front_serial, 7);
        t.done[t.done_count++] = who->seq;
}

static void on_alone(struct docker_readers *all)
{
        assert_ptr_equal(all, &t.all);
        t.alone++;
}

static int set_up(void **state)
{
        (void)state;
        memset(&t, 0, sizeof(t));
        t.loop = cay_loop_new();
        assert_non_null(t.loop);
        docker_readers_init(&t.all, t.loop, on_done, on_alone);
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        docker_readers_done(&t.all);
        cay_loop_free(t.loop);
        return 0;
}

static void put(const char *line)
{
        docker_readers_put(&t.all, line, strlen(line));
}

/* Its other end. */
static int add(uint32_t seq)
{
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        assert_int_equal(docker_readers_add_take(&t.all, socks[1], seq, 7), 0);
        return socks[0];
}

static bool take(int fd, char *ret, size_t size)
{
        ssize_t n = recv(fd, ret, size - 1, MSG_DONTWAIT);

        ret[n > 0 ? n : 0] = '\0';
        return n > 0;
}

static void expect(int fd, const char *line)
{
        char got[DOCKER_LINE_MAX + 1];

        assert_true(take(fd, got, sizeof(got)));
        assert_string_equal(got, line);
}

static void expect_nothing(int fd)
{
        char got[8];

        assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
        assert_int_equal(errno, EAGAIN);
}

static void expect_end(int fd)
{
        char got[8];

        assert_int_equal(recv(fd, got, sizeof(got), MSG_DONTWAIT), 0);
        close(fd);
}

static void test_one_after_the_other(void **state)
{
        int first = add(1), early = add(2), late;

        (void)state;
        put("one");
        put("two");
        late = add(3);
        put("three");
        expect(first, "one\n");
        expect(first, "two\n");
        expect(first, "three\n");
        expect_nothing(first);
        expect(early, "one\n"); /* nothing had been said: nothing is to be told about that */
        expect(late, "… this build runs already; from its beginning:\n");
        expect(late, "one\n");
        expect(late, "two\n");
        expect(late, "three\n");
        put("");
        expect(first, "\n");
        expect(late, "\n");
        assert_int_equal(t.done_count, 0);
        docker_readers_end(&t.all);
        assert_int_equal(t.done_count, 3);
        assert_int_equal(t.alone, 1);
        expect_end(first);
        expect_end(late);
        close(early);
}

static void test_who_leaves(void **state)
{
        int first = add(1), second = add(2);

        (void)state;
        put("one");
        close(first);
        assert_int_equal(cay_loop_round(t.loop, 1000), 0);
        assert_int_equal(t.done_count, 1);
        assert_int_equal(t.done[0], 1);
        assert_int_equal(t.alone, 0); /* another is there */
        put("two");
        expect(second, "one\n");
        expect(second, "two\n");
        first = add(3); /* into the place that was left */
        close(first);
        close(second);
        for (unsigned i = 0; i < 4 && t.alone == 0; i++)
                assert_int_equal(cay_loop_round(t.loop, 1000), 0);
        assert_int_equal(t.done_count, 3);
        assert_int_equal(t.alone, 1);
        put("nobody hears it");
        docker_readers_end(&t.all);
        assert_int_equal(t.alone, 2);
}

/* More than is kept: the newest lines, all of them and in their order, and how many went before. */
static void test_the_beginning_is_left_out(void **state)
{
        unsigned count = 20000, missed = 0, next;
        char line[64], want[80], got[DOCKER_LINE_MAX + 1];
        int late;

        (void)state;
        for (unsigned i = 0; i < count; i++) {
                snprintf(line, sizeof(line), "line %u of a build that says much", i);
                put(line);
        }
        late = add(1);
        assert_true(take(late, got, sizeof(got)));
        assert_int_equal(sscanf(got, "… %u lines left out: this build runs already", &missed), 1);
        assert_true(missed > 0 && missed < count);
        assert_true((count - missed) * strlen("line 10000 of a build that says much\n") >
                    DOCKER_KEPT_MAX / 2);
        next = missed;
        for (unsigned i = 0; i < ROUNDS && next < count; i++) {
                if (!take(late, got, sizeof(got))) {
                        assert_int_equal(cay_loop_round(t.loop, 1000), 0); /* it has room again */
                        continue;
                }
                snprintf(want, sizeof(want), "line %u of a build that says much\n", next++);
                assert_string_equal(got, want);
        }
        assert_int_equal(next, count);
        expect_nothing(late);
        close(late);
}

/* It is told what it missed, holds up nobody, and gets the end of it before it is done. */
static void test_a_slow_one(void **state)
{
        unsigned count = 20000, seen = 0, left_out = 0, n;
        int slow = add(1), quick = add(2);
        char line[64], got[DOCKER_LINE_MAX + 1];

        (void)state;
        for (unsigned i = 0; i < count; i++) {
                snprintf(line, sizeof(line), "line %u of a build that says much", i);
                put(line);
                assert_true(take(quick, got, sizeof(got)));
        }
        docker_readers_end(&t.all);
        assert_int_equal(t.done_count, 1);
        assert_int_equal(t.done[0], 2);
        assert_int_equal(t.alone, 0);
        for (unsigned i = 0; i < ROUNDS && t.done_count == 1; i++) {
                if (!take(slow, got, sizeof(got)))
                        assert_int_equal(cay_loop_round(t.loop, 1000), 0);
                else if (sscanf(got, "… %u lines left out: they were not read in time", &n) == 1)
                        left_out += n;
                else
                        seen++;
        }
        assert_int_equal(t.done_count, 2);
        assert_int_equal(t.alone, 1);
        while (take(slow, got, sizeof(got)))
                seen++;
        assert_string_equal(got, "");
        assert_true(left_out > 0);
        assert_int_equal(seen + left_out, count);
        close(slow);
        close(quick);
}

static void test_how_many(void **state)
{
        int ends[DOCKER_READERS_MAX], socks[2], file = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)state;
        assert_int_equal(docker_readers_add_take(&t.all, file, 1, 7), -EPERM); /* what cannot be waited for */
        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                ends[i] = add(i);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        assert_int_equal(docker_readers_add_take(&t.all, socks[1], 99, 7), -EMFILE);
        assert_int_equal(fcntl(socks[1], F_GETFD), -1); /* it was taken all the same */
        close(socks[0]);
        for (unsigned i = 0; i < DOCKER_READERS_MAX; i++)
                close(ends[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_one_after_the_other, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_who_leaves, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_beginning_is_left_out, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_slow_one, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_how_many, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
