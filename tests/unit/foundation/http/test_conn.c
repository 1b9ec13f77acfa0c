/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte connections: bounded buffers both ways, half-closing, finishing with and without lingering, deadlines,
 * losses.
 */
#include "unit/foundation/http/http_test.h"

#include "foundation/http/conn.h"

static struct cay_conn c;
static char heard[256];
static int fd; /* the other end */
static size_t take, seen;
static bool eats; /* on_input takes what there is */

static void note(const char *what, int n)
{
        size_t len = strlen(heard);

        snprintf(heard + len, sizeof(heard) - len, "%s%s%d", len ? " " : "", what, n);
}

static void on_input(struct cay_conn *conn)
{
        size_t n = conn->in.len < take ? conn->in.len : take;

        if (conn->eof)
                note("eof", (int)conn->in.len);
        if (!eats)
                return;
        seen += n;
        cay_conn_took(conn, n);
}

static void on_fin(struct cay_conn *conn)
{
        note("fin", 0);
}

static void on_drain(struct cay_conn *conn)
{
        note("drain", 0);
}

static void on_lost(struct cay_conn *conn, int why)
{
        assert_int_equal(conn->state, CAY_CONN_CLOSED);
        note("lost", -why);
}

static void on_deadline(struct cay_conn *conn)
{
        note("deadline", 0);
}

static const struct cay_conn_events events = { .on_input = on_input,
                                               .on_fin = on_fin,
                                               .on_drain = on_drain,
                                               .on_lost = on_lost,
                                               .on_deadline = on_deadline };

static int setup(void **state)
{
        int pair[2];

        memset(&c, 0, sizeof(c));
        heard[0] = '\0';
        take = SIZE_MAX;
        seen = 0;
        eats = true;
        test_setup(state);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -1;
        fd = pair[0];
        rig.fd = fd;
        return cay_conn_open_take(rig.loop, &c, pair[1], NULL, 10000, &events);
}

static int teardown(void **state)
{
        cay_conn_close(&c);
        test_rounds(2);
        return test_teardown(state);
}

static void reads_what_it_has_room_for(void **state)
{
        static char block[50000];

        eats = false;
        assert_int_equal(send(fd, block, sizeof(block), MSG_DONTWAIT), sizeof(block));
        test_rounds(10);
        assert_int_equal(c.in.len, 10000);
        assert_false(c.watch.events & EPOLLIN); /* or the loop would spin */
        cay_conn_took(&c, 4000);
        test_rounds(10);
        assert_int_equal(c.in.len, 10000);
        eats = true;
        cay_conn_kick(&c);
        test_rounds(10);
        assert_int_equal(seen, 46000);
}

static void pauses(void **state)
{
        cay_conn_pause(&c);
        send(fd, "abc", 3, 0);
        test_rounds(3);
        assert_int_equal(seen, 0);
        cay_conn_kick(&c); /* is not told while paused */
        test_rounds(3);
        assert_int_equal(seen, 0);
        cay_conn_resume(&c);
        test_rounds(3);
        assert_int_equal(seen, 3);
        eats = false;
        send(fd, "def", 3, 0);
        test_rounds(3);
        cay_conn_pause(&c);
        eats = true;
        cay_conn_resume(&c); /* what is there already is told again */
        test_rounds(3);
        assert_int_equal(seen, 6);
}

static void collects_while_corked(void **state)
{
        cay_conn_cork(&c);
        assert_int_equal(cay_conn_write(&c, "a", 1), 0);
        memcpy(cay_conn_room(&c, 1), "b", 1);
        cay_conn_put(&c, 1);
        assert_int_equal(cay_conn_write(&c, "c", 1), 0);
        test_read();
        assert_int_equal(rig.got_len, 0);
        cay_conn_uncork(&c);
        test_read();
        assert_string_equal(rig.got, "abc");
}

static void keeps_the_order_of_what_it_queues(void **state)
{
        enum { LEN = 3000000 };
        char *bytes = malloc(LEN);
        size_t at = 0;

        for (unsigned i = 0; i < LEN; i++)
                bytes[i] = (char)(i * 7 ^ i >> 9);
        for (unsigned i = 1; at < LEN; i++) {
                size_t n = i * 977 % 40000 < LEN - at ? i * 977 % 40000 : LEN - at;
                struct iovec parts[3] = { { bytes + at, n / 3 },
                                          { bytes + at + n / 3, n / 3 },
                                          { bytes + at + n / 3 * 2, n - n / 3 * 2 } };

                if (i % 3 == 0)
                        cay_conn_cork(&c);
                assert_int_equal(cay_conn_writev(&c, parts, 3), 0);
                if (i % 3 == 0)
                        cay_conn_uncork(&c);
                at += n;
                if (i % 5 == 0)
                        test_read();
                if (i % 7 == 0)
                        test_rounds(1);
        }
        for (unsigned i = 0; i < 1000 && rig.got_len < LEN; i++)
                test_settle();
        assert_int_equal(rig.got_len, LEN);
        assert_memory_equal(rig.got, bytes, LEN);
        free(bytes);
}

static void the_queue_has_an_end(void **state)
{
        static char block[1 << 20];
        int r = 0;

        for (unsigned i = 0; i < 80 && r == 0; i++)
                r = cay_conn_write(&c, block, sizeof(block));
        assert_int_equal(r, -ENOSPC);
        assert_true(cay_conn_queued(&c) <= CAY_CONN_OUT_MAX);
        assert_true(cay_conn_is_open(&c));
}

static void drains_are_told_once(void **state)
{
        static char block[300000];

        assert_int_equal(cay_conn_write(&c, block, sizeof(block)), 0);
        assert_int_equal(cay_conn_write(&c, block, sizeof(block)), 0);
        assert_true(cay_conn_queued(&c) >= CAY_CONN_HIGH);
        test_rounds(3);
        assert_string_equal(heard, "");
        test_settle();
        test_settle();
        assert_string_equal(heard, "drain0");
        cay_conn_ask_drain(&c); /* nothing waits: from the loop, at once */
        assert_string_equal(heard, "drain0");
        test_rounds(1);
        assert_string_equal(heard, "drain0 drain0");
}

/* A queue that was high and is gone before the loop looks: nobody would tell but the kick. */
static void a_drain_inside_one_call_is_told(void **state)
{
        static char block[CAY_CONN_HIGH];
        int size = 4 << 20;

        assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)), 0);
        cay_conn_cork(&c);
        memcpy(cay_conn_room(&c, sizeof(block)), block, sizeof(block));
        cay_conn_put(&c, sizeof(block));
        cay_conn_uncork(&c);
        assert_int_equal(cay_conn_queued(&c), 0);
        test_rounds(1);
        assert_string_equal(heard, "drain0");
}

static void ends_of_the_other_side(void **state)
{
        send(fd, "x", 1, 0);
        shutdown(fd, SHUT_WR);
        test_rounds(3);
        assert_string_equal(heard, "fin0 eof0");
        assert_int_equal(seen, 1);
        test_rounds(3);
        assert_string_equal(heard, "fin0 eof0"); /* once, and without spinning */
        assert_int_equal(c.watch.events, 0);
        assert_int_equal(cay_conn_write(&c, "answer", 6), 0);
        test_read();
        assert_string_equal(rig.got, "answer");
        close(fd);
        rig.fd = -1;
        test_rounds(3);
        assert_string_equal(heard, "fin0 eof0 lost104");
}

static void an_end_while_paused(void **state)
{
        cay_conn_pause(&c);
        send(fd, "x", 1, 0);
        shutdown(fd, SHUT_WR);
        test_rounds(3);
        assert_string_equal(heard, "fin0"); /* the byte is unread, the end is known */
        test_rounds(3);
        cay_conn_resume(&c);
        test_rounds(3);
        assert_string_equal(heard, "fin0 eof0");
        assert_int_equal(seen, 1);
}

static void a_hang_up_while_paused_is_a_loss(void **state)
{
        cay_conn_pause(&c);
        send(fd, "x", 1, 0);
        close(fd);
        rig.fd = -1;
        test_rounds(3);
        assert_string_equal(heard, "fin0 lost104");
}

/* Unless the owner wants every byte: then the end waits, without a spinning loop, until it has read on. */
static void a_draining_one_is_read_to_its_end(void **state)
{
        static char block[60000];

        for (unsigned i = 0; i < 3; i++) {
                if (i > 0) {
                        teardown(state);
                        assert_int_equal(setup(state), 0);
                }
                c.drains = true;
                cay_conn_pause(&c);
                assert_int_equal(send(fd, block, sizeof(block), 0), sizeof(block));
                if (i == 0)
                        cay_conn_shut(&c); /* both have ended their half */
                else if (i == 1)
                        assert_int_equal(cay_conn_write(&c, "unread", 6), 0); /* a reset, when it closes */
                shutdown(fd, SHUT_WR);
                if (i > 0) {
                        close(fd);
                        rig.fd = -1;
                }
                test_rounds(3);
                if (i == 2) {
                        assert_int_equal(cay_conn_write(&c, "late", 4), -EPIPE);
                        test_rounds(3);
                }
                assert_string_equal(heard, "fin0");
                assert_null(c.watch.loop);
                cay_conn_resume(&c);
                test_rounds(30);
                assert_int_equal(seen, sizeof(block));
                assert_int_equal(c.state, CAY_CONN_CLOSED);
                assert_non_null(strstr(heard, i == 1 ? "lost104" : i == 0 ? "eof0 lost0" : "eof0 lost"));
        }
}

/* The buffer is full in place of a pause; and its owner closes it, which ends it there and then. */
static void a_draining_one_that_is_full(void **state)
{
        static char block[60000];

        c.drains = true;
        eats = false;
        assert_int_equal(send(fd, block, sizeof(block), 0), sizeof(block));
        close(fd);
        rig.fd = -1;
        test_rounds(10);
        assert_null(strstr(heard, "lost"));
        assert_null(c.watch.loop);
        cay_conn_took(&c, 5000);
        test_rounds(3);
        assert_int_equal(c.in.len, 10000);
        assert_null(strstr(heard, "lost"));
        cay_conn_finish(&c, false);
        test_rounds(3);
        assert_non_null(strstr(heard, "lost"));
}

static void what_was_sent_before_a_hang_up_is_read(void **state)
{
        static char block[60000];

        assert_int_equal(send(fd, block, sizeof(block), 0), sizeof(block));
        close(fd);
        rig.fd = -1;
        test_rounds(20);
        assert_int_equal(seen, sizeof(block));
        assert_non_null(strstr(heard, "eof0"));
        assert_non_null(strstr(heard, "lost104"));
}

static void a_failed_write_is_told_from_the_loop(void **state)
{
        shutdown(fd, SHUT_RD);
        assert_int_equal(cay_conn_write(&c, "x", 1), -EPIPE);
        assert_string_equal(heard, "");
        assert_int_equal(cay_conn_write(&c, "y", 1), -EPIPE);
        test_rounds(1);
        assert_string_equal(heard, "lost32");
}

static void half_closes_behind_the_queue(void **state)
{
        static char block[500000];

        assert_int_equal(cay_conn_write(&c, block, sizeof(block)), 0);
        cay_conn_shut(&c);
        assert_int_equal(cay_conn_write(&c, "x", 1), -EPIPE);
        test_rounds(3);
        for (unsigned i = 0; i < 20 && !rig.closed; i++)
                test_settle();
        assert_int_equal(rig.got_len, sizeof(block));
        assert_true(rig.closed); /* their reading end */
        send(fd, "still", 5, 0);
        test_rounds(3);
        assert_int_equal(seen, 5);
        shutdown(fd, SHUT_WR);
        test_rounds(3);
        assert_non_null(strstr(heard, "lost0")); /* both have ended: nothing went wrong */
}

static void finishes(void **state)
{
        static char block[500000];

        assert_int_equal(cay_conn_write(&c, block, sizeof(block)), 0);
        cay_conn_finish(&c, false);
        assert_false(cay_conn_is_open(&c));
        assert_int_equal(cay_conn_write(&c, "x", 1), -EPIPE);
        test_rounds(3);
        assert_string_equal(heard, "");
        for (unsigned i = 0; i < 20 && !rig.closed; i++)
                test_settle();
        assert_int_equal(rig.got_len, sizeof(block));
        assert_string_equal(heard, "lost0");
}

static void lingers(void **state)
{
        static char block[100000];

        cay_conn_write(&c, "last words", 10);
        cay_conn_finish(&c, true);
        test_settle();
        assert_string_equal(rig.got, "last words");
        assert_string_equal(heard, "");
        for (unsigned i = 0; i < 10; i++) {
                assert_int_equal(send(fd, block, sizeof(block), MSG_DONTWAIT),
                                 sizeof(block)); /* thrown away */
                test_rounds(3);
        }
        assert_int_equal(seen, 0);
        shutdown(fd, SHUT_WR);
        test_rounds(2);
        assert_string_equal(heard, "lost0");
}

static void does_not_linger_for_ever(void **state)
{
        cay_conn_finish(&c, true);
        test_pass(2999);
        assert_string_equal(heard, "");
        test_pass(2);
        assert_string_equal(heard, "lost0");
}

/* Who still sends is heard out, so that the answer is not lost with a reset; but not for ever. */
static void lingers_while_something_comes(void **state)
{
        cay_conn_finish(&c, true);
        for (unsigned i = 0; i < 14; i++) {
                test_pass(2000);
                send(fd, "more", 4, 0);
                test_rounds(1);
                assert_string_equal(heard, "");
        }
        test_pass(1999);
        assert_string_equal(heard, "");
        send(fd, "more", 4, 0);
        test_rounds(1);
        test_pass(2);
        assert_string_equal(heard, "lost0");
}

static void lingers_as_long_as_the_owner_says(void **state)
{
        c.linger_ms = 2000;
        cay_conn_finish(&c, true);
        test_pass(1000);
        send(fd, "more", 4, 0);
        test_rounds(1);
        test_pass(999);
        send(fd, "more", 4, 0);
        test_rounds(1);
        assert_string_equal(heard, "");
        test_pass(2);
        assert_string_equal(heard, "lost0");
}

/*
 * What TLS wanted last is of no interest any more: a socket can be written to all the time, and the loop
 * would spin.
 */
static void lingering_waits_for_input_alone(void **state)
{
        c.read_wants_out = true;
        cay_conn_finish(&c, true);
        test_rounds(1);
        assert_int_equal(c.state, CAY_CONN_LINGERING);
        assert_int_equal(c.watch.events, EPOLLIN);
        shutdown(fd, SHUT_WR);
        test_rounds(2);
        assert_string_equal(heard, "lost0");
}

static void a_stalled_writer_is_lost(void **state)
{
        static char block[500000];

        c.stall_ms = 1000;
        assert_int_equal(cay_conn_write(&c, block, sizeof(block)), 0);
        test_now_ms += 900;
        test_rounds(2);
        test_read(); /* moves */
        test_rounds(1);
        test_now_ms += 900;
        test_rounds(2);
        assert_string_equal(heard, cay_conn_queued(&c) < CAY_CONN_LOW ? "drain0" : "");
        if (cay_conn_queued(&c) == 0)
                assert_int_equal(cay_conn_write(&c, block, sizeof(block)), 0);
        test_now_ms += 1001;
        test_rounds(2);
        assert_non_null(strstr(heard, "lost110"));
}

static void deadlines_can_be_put_off(void **state)
{
        cay_conn_set_deadline(&c, 1000);
        test_pass(900);
        cay_conn_set_deadline(&c, 1000);
        test_pass(900);
        assert_string_equal(heard, "");
        cay_conn_set_deadline(&c, 0);
        test_pass(5000);
        assert_string_equal(heard, "");
        cay_conn_set_deadline(&c, 1000);
        cay_conn_set_deadline(&c, 10); /* and brought nearer */
        test_pass(11);
        assert_string_equal(heard, "deadline0");
        test_pass(5000);
        assert_string_equal(heard, "deadline0");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(reads_what_it_has_room_for),
                T(pauses),
                T(collects_while_corked),
                T(keeps_the_order_of_what_it_queues),
                T(the_queue_has_an_end),
                T(drains_are_told_once),
                T(a_drain_inside_one_call_is_told),
                T(ends_of_the_other_side),
                T(an_end_while_paused),
                T(a_hang_up_while_paused_is_a_loss),
                T(a_draining_one_is_read_to_its_end),
                T(a_draining_one_that_is_full),
                T(what_was_sent_before_a_hang_up_is_read),
                T(a_failed_write_is_told_from_the_loop),
                T(half_closes_behind_the_queue),
                T(finishes),
                T(lingers),
                T(does_not_linger_for_ever),
                T(lingers_while_something_comes),
                T(lingers_as_long_as_the_owner_says),
                T(lingering_waits_for_input_alone),
                T(a_stalled_writer_is_lost),
                T(deadlines_can_be_put_off),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
