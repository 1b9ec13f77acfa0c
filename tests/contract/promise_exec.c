/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: they run, are signalled, and end with what they ended with. */
#include "contract/contract.h"

#include <signal.h>

void runs_commands_one_after_the_other(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        make_box(s, &b, "first");
        assert_int_equal(exit_of(&b, EXIT_0), 0);
        assert_int_equal(exit_of(&b, EXIT_7), 7);
        assert_int_equal(exit_of(&b, EXIT_0), 0);
        assert_int_equal(destroy(&b), CAY_OK);
}

void the_link_may_be_used_before_create_is_finished(void **state)
{
        struct subject *s = subject(state);
        struct cay_job job;
        static struct exec e;
        static struct box b;

        prepare_box(s, &b, "eager");
        prepare_job(&job);
        s->kind->ops->create(s->engine, &b.spec, &b.box, &job);
        if (b.box.link_fd >= 0) {
                attach(&b, b.box.secret);
                begin_exec(&b, &e, ECHO, 0);
                wait_for(s, &e.ended);
                assert_string_equal(cay_buf_data(&e.out), "spoken\n");
                end_exec(&e);
        }
        assert_int_equal(job_result(s, &job), CAY_OK);
        assert_int_equal(destroy(&b), CAY_OK);
}

void delivers_signals_and_kills(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        make_box(s, &b, "signals");
        begin_exec(&b, &e, WAIT, 0);
        wait_for(s, &e.opened);
        cay_box_channel_signal(&e.ch, SIGTERM);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.exec.signal, SIGTERM);
        assert_int_equal(e.end.exec.exit_code, -1);
        assert_int_equal(e.end.exec.killed, CAY_KILLED_NOT);
        end_exec(&e);
        begin_exec(&b, &e, WAIT, 0);
        wait_for(s, &e.opened);
        cay_box_channel_kill(&e.ch, CAY_KILLED_ASKED);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.exec.signal, SIGKILL);
        assert_int_equal(e.end.exec.killed, CAY_KILLED_ASKED);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}
