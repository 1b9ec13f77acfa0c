/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and the link that carries them: apart, whole, and for who has the secret. */
#include "contract/contract.h"

#include "fake/fake_engine.h"

void keeps_streams_apart(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        make_box(s, &b, "streams");
        begin_exec(&b, &e, ECHO, 0);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.out), "spoken\n");
        assert_int_equal(e.err.len, 0);
        end_exec(&e);
        begin_exec(&b, &e, WARN, 0);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.err), "spoken\n");
        assert_int_equal(e.out.len, 0);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

void gives_input(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        make_box(s, &b, "input");
        begin_exec(&b, &e, CAT, CAY_BOX_STDIN);
        assert_int_equal(cay_box_channel_write(&e.ch, "to and fro", 10), 10);
        cay_box_channel_write_eof(&e.ch);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.out), "to and fro");
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

void loses_no_byte_over_lost_links(void **state)
{
        struct subject *s = subject(state);
        uint64_t end = cay_clock_ms() + WAIT_MS;
        static struct exec e;
        static struct box b;

        make_box(s, &b, "links");
        begin_exec(&b, &e, COUNT, 0);
        e.cut_every = e.cut_at = 250000;
        while (!e.ended && cay_clock_ms() < end) {
                if (!cay_box_client_is_attached(b.client)) {
                        assert_int_equal(relink(&b), CAY_OK);
                        attach(&b, NULL);
                }
                assert_int_equal(cay_loop_round(s->loop, 20), 0);
        }
        assert_true(e.ended);
        assert_true(e.cuts >= 5);
        assert_int_equal(e.end.exec.exit_code, 0);
        assert_int_equal(e.out.len, 3000000);
        for (size_t i = 0; i < e.out.len; i++)
                if ((uint8_t)cay_buf_data(&e.out)[i] != (s->kind->is_fake ? fake_pattern(i) : 0))
                        fail_msg("byte %zu differs", i);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

void a_wrong_secret_opens_nothing(void **state)
{
        static const uint8_t wrong[CAY_BOX_SECRET];
        struct subject *s = subject(state);
        static struct box b;

        prepare_box(s, &b, "secret");
        assert_int_equal(create(&b), CAY_OK);
        attach(&b, wrong);
        wait_for(s, &b.lost);
        detach(&b);
        assert_int_equal(relink(&b), CAY_OK); /* the box itself lives on */
        attach(&b, b.box.secret);
        assert_int_equal(exit_of(&b, EXIT_7), 7);
        assert_int_equal(destroy(&b), CAY_OK);
}
