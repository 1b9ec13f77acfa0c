/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One front after the other, and the keeper: who is heard, who is hung up on, and whose descriptors are
 * closed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "links/helper_server/helper_server.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"

#define MAGIC 0x0ea50ea5u

enum { HELLO = 1, WORK, FORBIDDEN, BROKEN };

struct message {
        uint32_t magic, size;
        uint32_t type, seq;
        char word[16];
};

static struct {
        struct cay_loop *loop;
        struct helper_server server;
        struct message request;
        int front, keeper; /* the other ends */
        unsigned heard, ends;
        char word[16];
        int fd; /* that came with the last request */
} t;

static const struct helper_request_row rows[] = {
        [HELLO] = { "hello", HELPER_FRESH, 0, 1 },
        [WORK] = { "work", HELPER_READY, 0, 1 },
        [BROKEN] = { "broken", HELPER_READY, 0, 1 },
};

static const struct helper_protocol protocol = {
        .who = "the helper",
        .magic = MAGIC,
        .request_size = sizeof(struct message),
        .answer_size = sizeof(struct message),
        .rows = rows,
        .row_count = CAY_COUNT(rows),
};

static int serve_take(struct helper_server *e, const void *request, int fd)
{
        const struct message *m = request;

        t.heard++;
        t.fd = fd;
        memcpy(t.word, m->word, sizeof(t.word));
        e->state = HELPER_READY;
        return m->type == BROKEN ? -EPROTO : 0;
}

static void on_front_end(struct helper_server *e)
{
        t.ends++;
}

static const struct helper_server_kind kind = {
        .protocol = &protocol,
        .serve_take = serve_take,
        .on_front_end = on_front_end,
};

static int pair(int *ret_theirs)
{
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        *ret_theirs = socks[1];
        return socks[0];
}

static int set_up(void **state)
{
        memset(&t, 0, sizeof(t));
        t.fd = -1;
        t.loop = cay_loop_new();
        t.server = (struct helper_server){ .kind = &kind, .loop = t.loop, .request = &t.request };
        assert_int_equal(helper_server_open_front(&t.server, pair(&t.front)), 0);
        assert_int_equal(helper_server_open_keeper(&t.server, pair(&t.keeper)), 0);
        return 0;
}

static int tear_down(void **state)
{
        int keeper = t.server.keeper.fd;

        helper_server_close(&t.server);
        close(keeper);
        close(t.front);
        if (t.keeper >= 0)
                close(t.keeper);
        cay_loop_free(t.loop);
        return 0;
}

static void say(uint32_t type, const int *fds, unsigned count)
{
        struct message m = { .magic = MAGIC, .size = sizeof(m), .type = type, .seq = 1, .word = "secret" };

        assert_int_equal(sys_send_fds(t.front, &m, sizeof(m), fds, count, MSG_NOSIGNAL), sizeof(m));
        assert_int_equal(cay_loop_round(t.loop, 0), 0);
}

static bool is_hung_up(int fd)
{
        char byte;

        return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* The other end of a descriptor that was passed: nobody has it any more. */
static void is_closed(int passed, int other)
{
        close(passed);
        assert_true(is_hung_up(other));
        close(other);
}

static void a_request_is_heard_and_answered(void **state)
{
        struct message answer = { .type = HELLO, .seq = 7, .word = "well" }, got = { 0 };
        const struct message blank = { 0 };

        say(HELLO, NULL, 0);
        assert_int_equal(t.heard, 1);
        assert_string_equal(t.word, "secret");
        assert_int_equal(t.fd, -1);
        assert_memory_equal(&t.request, &blank, sizeof(blank)); /* nothing of it stays */
        helper_server_say(&t.server, &answer);
        assert_int_equal(recv(t.front, &got, sizeof(got), MSG_DONTWAIT), sizeof(got));
        assert_int_equal(got.magic, MAGIC);
        assert_int_equal(got.size, sizeof(got));
        assert_int_equal(got.seq, 7);
        assert_string_equal(got.word, "well");
}

static void what_is_not_permitted_ends_the_front(void **state)
{
        int passed[2];

        passed[0] = pair(&passed[1]);
        say(FORBIDDEN, passed, 1);
        assert_int_equal(t.heard, 0);
        assert_int_equal(t.ends, 1);
        assert_true(is_hung_up(t.front));
        is_closed(passed[0], passed[1]);
        helper_server_say(&t.server, &(struct message){ .type = HELLO }); /* to nobody */
}

static void what_is_refused_while_heard_ends_it_too(void **state)
{
        int passed[2];

        passed[0] = pair(&passed[1]);
        say(HELLO, NULL, 0);
        say(BROKEN, passed, 1);
        assert_int_equal(t.heard, 2);
        assert_int_equal(t.ends, 1);
        assert_true(t.fd >= 0); /* it was handed over: not closed behind its new owner's back */
        close(t.fd);
        is_closed(passed[0], passed[1]);
}

static void a_short_message_ends_the_front(void **state)
{
        assert_int_equal(send(t.front, "x", 1, MSG_NOSIGNAL), 1);
        assert_int_equal(cay_loop_round(t.loop, 0), 0);
        assert_int_equal(t.heard, 0);
        assert_true(is_hung_up(t.front));
}

static void tell(uint32_t type, int fd)
{
        const struct wire_keeper m = { .magic = WIRE_KEEPER_MAGIC, .size = sizeof(m), .type = type };

        assert_int_equal(sys_send_fds(t.keeper, &m, sizeof(m), &fd, 1, MSG_NOSIGNAL), sizeof(m));
        assert_int_equal(cay_loop_round(t.loop, 0), 0);
}

static void the_keeper_brings_the_next_front(void **state)
{
        unsigned serial = t.server.serial;
        int theirs, ours = pair(&theirs);

        say(HELLO, NULL, 0);
        tell(WIRE_KEEPER_FRONT, ours);
        close(ours);
        assert_true(is_hung_up(t.front));
        assert_int_equal(t.ends, 1);
        assert_true(t.server.serial != serial);
        assert_int_equal(t.server.state, HELPER_FRESH); /* it has to say hello itself */
        close(t.front);
        t.front = theirs;
        say(HELLO, NULL, 0);
        assert_int_equal(t.heard, 2);
}

static void other_words_of_the_keeper_change_nothing(void **state)
{
        int theirs, ours = pair(&theirs);

        tell(WIRE_KEEPER_ROOT, ours);
        is_closed(ours, theirs);
        assert_int_equal(t.ends, 0);
        say(HELLO, NULL, 0);
        assert_int_equal(t.heard, 1);
}

static void on_not_stopped(struct cay_timer *timer)
{
        fail_msg("the loop goes on");
}

static void the_end_of_the_keeper_stops_the_loop(void **state)
{
        struct cay_timer bound = { 0 };

        close(t.keeper);
        t.keeper = -1;
        cay_timer_set(t.loop, &bound, 20000, on_not_stopped);
        assert_int_equal(cay_loop_run(t.loop), 0);
        cay_timer_clear(&bound);
        assert_int_equal(t.ends, 0); /* the front is the program's to let go */
}

static void the_end_of_a_front_is_told_once(void **state)
{
        shutdown(t.front, SHUT_RDWR);
        assert_int_equal(cay_loop_round(t.loop, 0), 0);
        assert_int_equal(t.ends, 1);
        helper_server_let_front_go(&t.server);
        assert_int_equal(t.ends, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_request_is_heard_and_answered, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_not_permitted_ends_the_front, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_refused_while_heard_ends_it_too, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_short_message_ends_the_front, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_keeper_brings_the_next_front, set_up, tear_down),
                cmocka_unit_test_setup_teardown(other_words_of_the_keeper_change_nothing, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_end_of_the_keeper_stops_the_loop, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_end_of_a_front_is_told_once, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
