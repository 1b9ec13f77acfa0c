/* SPDX-License-Identifier: Apache-2.0 */
/* A box's life: made once, listed, told of when it goes, and gone with everything in it. */
#include "contract/contract.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#include "fake/fake_engine.h"

void destroying_twice_and_what_never_was(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        make_box(s, &b, "twice");
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(destroy(&b), CAY_OK);
        cay_str_copy(b.box.id, sizeof(b.box.id), "never-was");
        assert_int_equal(destroy(&b), CAY_OK);
}

void an_id_is_taken_once(void **state)
{
        struct subject *s = subject(state);
        static struct box b, other;

        make_box(s, &b, "same");
        prepare_box(s, &other, "same");
        assert_int_equal(create(&other), CAY_EXISTS);
        assert_int_equal(other.box.link_fd, -1);
        assert_int_equal(exit_of(&b, EXIT_7), 7); /* the first one does not mind */
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(create(&other), CAY_OK); /* free again */
        assert_int_equal(destroy(&other), CAY_OK);
}

void lists_what_there_is(void **state)
{
        struct subject *s = subject(state);
        static struct box a, b;

        assert_int_equal(listed(s), 0);
        make_box(s, &a, "box-a");
        make_box(s, &b, "box-b");
        assert_int_equal(listed(s), 2);
        assert_int_equal(destroy(&a), CAY_OK);
        assert_int_equal(listed(s), 1);
        assert_string_equal(s->last_listed, "box-b");
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(listed(s), 0);
}

void boxes_do_not_meet(void **state)
{
        struct subject *s = subject(state);
        static struct exec e;
        static struct box a, b;

        make_box(s, &a, "left");
        make_box(s, &b, "right");
        begin_exec(&a, &e, WAIT, 0);
        wait_for(s, &e.opened);
        assert_int_equal(exit_of(&b, EXIT_7), 7);
        assert_int_equal(destroy(&b), CAY_OK);
        assert_false(e.ended);
        end_exec(&e);
        assert_int_equal(destroy(&a), CAY_OK);
}

void a_bad_spec_makes_nothing(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        prepare_box(s, &b, "UPPER/case");
        assert_int_equal(create(&b), CAY_INVALID);
        prepare_box(s, &b, "bad");
        b.spec.limits.memory_bytes = 1;
        assert_int_equal(create(&b), CAY_INVALID);
        prepare_box(s, &b, "bad");
        b.spec.template_kind = CAY_TEMPLATE_ROOTFS; /* without a folder */
        assert_int_equal(create(&b), CAY_INVALID);
        assert_int_equal(listed(s), 0);
}

void says_when_a_box_goes_by_itself(void **state)
{
        struct subject *s = subject(state);
        uint64_t end = cay_clock_ms() + WAIT_MS;
        static struct exec e;
        static struct box b;
        int refused;

        make_box(s, &b, "going");
        begin_exec(&b, &e, EXIT_0, CAY_BOX_ONE_SHOT);
        wait_for(s, &e.ended);
        while (s->gone[0] == '\0' && cay_clock_ms() < end)
                cay_loop_round(s->loop, 20);
        assert_string_equal(s->gone, "going");
        end_exec(&e);
        refused = relink(&b);
        assert_true(refused == CAY_NOT_FOUND ||
                    refused == CAY_UNAVAILABLE); /* its remains may be gone, too */
        assert_int_equal(b.box.link_fd, -1);
        assert_int_equal(destroy(&b), CAY_OK);
        assert_int_equal(listed(s), 0);
}

/* Is a process with this argument there (anywhere on the machine)? */
static bool is_running(const char *argument)
{
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        bool found = false;

        assert_non_null(dir);
        while (!found && (entry = readdir(dir)) != NULL) {
                char path[300], text[256];
                ssize_t n;
                int fd;

                snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
                fd = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC)
                                                                        : -1;
                if (fd < 0)
                        continue;
                n = read(fd, text, sizeof(text) - 1);
                close(fd);
                found = n > 0 && memmem(text, (size_t)n, argument, strlen(argument)) != NULL &&
                        memcmp(text, "sleep", 5) == 0;
        }
        closedir(dir);
        return found;
}

void destroying_ends_everything_in_it(void **state)
{
        static const char line[] = "setsid sleep 31415.9 & (sleep 31415.9 & exec sleep 31415.9) & trap '' "
                                   "TERM HUP; echo up; wait";
        static const char *const argv[] = { "/bin/sh", "-c", line, NULL };
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        if (s->kind->is_fake)
                return; /* has no processes */
        make_box(s, &b, "ends");
        begin_command(&b, &e, argv, 0);
        for (unsigned i = 0; i < 2000 && (e.out.len == 0 || !is_running("31415.9")); i++)
                cay_loop_round(s->loop, 20);
        assert_true(is_running("31415.9"));
        assert_int_equal(destroy(&b), CAY_OK);
        end_exec(&e);
        assert_false(is_running("31415.9")); /* at once: destroyed means gone */
}

void closing_destroys_what_is_left_and_finishes_every_job(void **state)
{
        struct subject *s = subject(state);
        struct cay_job job;
        static struct box a, b;

        make_box(s, &a, "left-over");
        fake_plan.create_hangs = true;
        prepare_box(s, &b, "half-made");
        prepare_job(&job);
        s->kind->ops->create(s->engine, &b.spec, &b.box, &job);
        s->kind->ops->close(s->engine);
        s->engine = NULL;
        if (!job.done)
                cay_loop_round(s->loop, 0);
        assert_true(job.done);
        assert_true(job.err.code == CAY_UNAVAILABLE || job.err.code == CAY_OK);
        detach(&a);
        if (b.box.link_fd >= 0)
                close(b.box.link_fd);
        cay_loop_round(s->loop, 0);
        s->kind->ops->close(NULL);
}

/* One after the other. A container of Docker's takes a second to come and go, so there it is twenty. */
void many_leave_nothing(void **state)
{
        struct subject *s = subject(state);
        unsigned many = s->kind->needs_docker ? 20 : 100;
        struct leftovers before, after;
        static struct box b;

        make_box(s, &b, "warm-up");
        assert_int_equal(destroy(&b), CAY_OK);
        before = look();
        for (unsigned i = 0; i < many; i++) {
                char id[16];

                snprintf(id, sizeof(id), "box-%u", i);
                make_box(s, &b, id);
                if (i % 10 == 0)
                        assert_int_equal(exit_of(&b, EXIT_7), 7);
                assert_int_equal(destroy(&b), CAY_OK);
        }
        after = look();
        assert_memory_equal(&before, &after, sizeof(before));
        assert_int_equal(listed(s), 0);
}
