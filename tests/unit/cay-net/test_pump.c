/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction, with pipes and without: all bytes arrive in order, none is held while it is idle, the end is
 * passed on.
 */
#include "cay-net/pump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

static struct {
        struct net_pump pump;
        struct net_pipes pipes;
        int in, out; /* the other ends */
} t;

static void begin(unsigned pipes)
{
        int a[2], b[2];

        memset(&t, 0, sizeof(t));
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, a), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b), 0);
        t.in = a[0];
        t.out = b[0];
        t.pump = (struct net_pump){ .from = a[1], .to = b[1], .pipe = { -1, -1 } };
        t.pipes.most = pipes;
}

static void finish(void)
{
        net_pump_done(&t.pump, &t.pipes);
        assert_int_equal(t.pipes.out, 0);
        net_pipes_done(&t.pipes);
        close(t.in);
        close(t.out);
        close(t.pump.from);
        close(t.pump.to);
}

static void idle_has_no_pipe(unsigned pipes)
{
        char got[8];
        size_t read;

        begin(pipes);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 1000, &read), NET_PUMP_IN);
        assert_int_equal(t.pipes.out, 0);
        assert_int_equal(write(t.in, "hello", 5), 5);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 1000, &read), NET_PUMP_IN);
        assert_int_equal(read, 5);
        assert_int_equal(t.pump.bytes, 5);
        assert_int_equal(recv(t.out, got, sizeof(got), 0), 5);
        assert_memory_equal(got, "hello", 5);
        assert_int_equal(t.pipes.out, 0); /* given back */
        finish();
}

static void no_more_than_allowed_is_read(unsigned pipes)
{
        char got[8];
        size_t read;

        begin(pipes);
        assert_int_equal(write(t.in, "hello", 5), 5);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 2, &read), NET_PUMP_MORE);
        assert_int_equal(read, 2);
        assert_int_equal(recv(t.out, got, sizeof(got), 0), 2);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 0, &read), NET_PUMP_MORE);
        assert_int_equal(read, 0);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 3, &read), NET_PUMP_MORE);
        assert_int_equal(recv(t.out, got, sizeof(got), 0), 3);
        assert_memory_equal(got, "llo", 3);
        finish();
}

static void a_slow_reader_holds_it_back(unsigned pipes)
{
        static char block[16384], got[65536];
        uint64_t written = 0, received = 0;
        size_t read;
        ssize_t n;
        int r;

        begin(pipes);
        do { /* until neither side takes more */
                n = write(t.in, block, sizeof(block));
                written += n > 0 ? (uint64_t)n : 0;
                r = net_pump_step(&t.pump, &t.pipes, 1u << 20, &read);
        } while (n > 0 || read > 0);
        assert_int_equal(r, NET_PUMP_OUT);
        shutdown(t.in, SHUT_WR);
        do {
                n = recv(t.out, got, sizeof(got), MSG_DONTWAIT);
                received += n > 0 ? (uint64_t)n : 0;
                r = net_pump_step(&t.pump, &t.pipes, 1u << 20, &read);
                assert_true(r >= 0);
        } while (n != 0);
        assert_true(received == written && t.pump.bytes == written);
        assert_int_equal(r, NET_PUMP_OVER); /* and the end came after all of it */
        assert_true(t.pump.is_over);
        finish();
}

/*
 * Of any size, with the end right behind: all of it arrives, in order, by copies and splices that take turns.
 */
static void all_sizes_arrive(unsigned pipes)
{
        static const size_t sizes[] = { 1, 4095, 4096, 4097, 9000, 3, 60000, 4096, 4096, 10, 0 };
        static uint8_t block[65536], got[65536];
        uint8_t next = 0, want = 0;
        size_t read, total = 0, received = 0;
        ssize_t n;

        begin(pipes);
        for (unsigned i = 0; i < CAY_COUNT(sizes); i++) {
                for (size_t k = 0; k < sizes[i]; k++)
                        block[k] = next++;
                assert_int_equal(write(t.in, block, sizes[i]), sizes[i]);
                total += sizes[i];
                if (sizes[i] == 0)
                        shutdown(t.in, SHUT_WR);
                assert_int_equal(net_pump_step(&t.pump, &t.pipes, 1u << 20, &read),
                                 sizes[i] == 0 ? NET_PUMP_OVER : NET_PUMP_IN);
                assert_int_equal(read, sizes[i]);
                assert_int_equal(t.pipes.out, 0);
                while ((n = recv(t.out, got, sizeof(got), MSG_DONTWAIT)) > 0) {
                        for (ssize_t k = 0; k < n; k++)
                                assert_int_equal(got[k], want++);
                        received += (size_t)n;
                }
        }
        assert_int_equal(n, 0);
        assert_int_equal(received, total);
        assert_int_equal(t.pump.bytes, total);
        finish();
}

/* Bytes and the end of input in one step: nothing is lost where the other side has room for a part alone. */
static void the_end_waits_for_what_is_held(unsigned pipes)
{
        static char block[4000], got[65536];
        size_t read, before = 0, after = 0;
        ssize_t n;

        begin(pipes);
        while ((n = send(t.pump.to, block, 1000, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
                before += (size_t)n; /* it is full */
        assert_int_equal(write(t.in, block, sizeof(block)), sizeof(block));
        shutdown(t.in, SHUT_WR);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 1u << 20, &read), NET_PUMP_OUT);
        assert_int_equal(t.pump.bytes, 0);
        for (int r = NET_PUMP_OUT; r != NET_PUMP_OVER;) {
                n = recv(t.out, got, sizeof(got), MSG_DONTWAIT);
                after += n > 0 ? (size_t)n : 0;
                r = net_pump_step(&t.pump, &t.pipes, 1u << 20, &read);
                assert_true(r >= 0);
        }
        while ((n = recv(t.out, got, sizeof(got), 0)) > 0)
                after += (size_t)n;
        assert_int_equal(after, before + sizeof(block));
        finish();
}

static void a_reader_that_is_gone_ends_it(unsigned pipes)
{
        size_t read;

        begin(pipes);
        close(t.out);
        t.out = dup(t.in);
        assert_int_equal(write(t.in, "x", 1), 1);
        assert_int_equal(net_pump_step(&t.pump, &t.pipes, 10, &read), -EPIPE);
        finish();
}

static void with_pipes(void **state)
{
        idle_has_no_pipe(4);
        no_more_than_allowed_is_read(4);
        a_slow_reader_holds_it_back(4);
        all_sizes_arrive(4);
        the_end_waits_for_what_is_held(4);
        a_reader_that_is_gone_ends_it(4);
}

static void without(void **state)
{
        idle_has_no_pipe(0);
        no_more_than_allowed_is_read(0);
        a_slow_reader_holds_it_back(0);
        all_sizes_arrive(0);
        the_end_waits_for_what_is_held(0);
        a_reader_that_is_gone_ends_it(0);
}

static int ignore_sigpipe(void **state)
{
        signal(SIGPIPE, SIG_IGN); /* as the program does */
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(with_pipes),
                cmocka_unit_test(without),
        };

        return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
