/* SPDX-License-Identifier: Apache-2.0 */
/* Files: a folder that is mapped, and what a stopped box leaves. */
#include "contract/contract.h"

#include <fcntl.h>
#include <sys/stat.h>

void a_writable_workspace_is_the_folder_itself(void **state)
{
        static const char *const argv[] = { "/bin/sh", "-c", "echo written > made-inside && cat given",
                                            NULL };
        struct subject *s = subject(state);
        char dir[] = "/tmp/contract-XXXXXX", path[64];
        struct stat st;
        static struct exec e;
        static struct box b;
        FILE *f;

        if (s->kind->is_fake)
                return;
        assert_non_null(mkdtemp(dir));
        chmod(dir, 0755);
        snprintf(path, sizeof(path), "%s/given", dir);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs("outside\n", f);
        fclose(f);
        prepare_box(s, &b, "folder");
        b.spec.workspace_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        b.spec.workspace_rw = true;
        assert_int_equal(create(&b), CAY_OK);
        attach(&b, b.box.secret);
        begin_command(&b, &e, argv, 0);
        wait_for(s, &e.ended);
        assert_string_equal(cay_buf_data(&e.err), "");
        assert_string_equal(cay_buf_data(&e.out), "outside\n");
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
        close(b.spec.workspace_fd);
        unlink(path);
        snprintf(path, sizeof(path), "%s/made-inside", dir);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, geteuid()); /* belongs to the folder's owner */
        assert_int_equal(st.st_size, 8);
        unlink(path);
        assert_int_equal(rmdir(dir), 0);
}

static void on_kept(void *ctx, const char *id)
{
        struct subject *s = ctx;

        s->listed++;
        cay_str_copy(s->last_listed, sizeof(s->last_listed), id);
}

static unsigned kept(struct subject *s)
{
        struct cay_error err = { 0 };

        s->listed = 0;
        assert_int_equal(s->kind->ops->list_kept(s->engine, on_kept, s, &err), 0);
        return s->listed;
}

void a_stopped_box_goes_on_with_its_files(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        if (!(s->engine->caps & CAY_ENGINE_CAN_KEEP))
                return;
        for (unsigned plain = 0; plain < 2; plain++) {
                prepare_box(s, &b, "kept");
                b.spec.keep = true;
                b.spec.host_plain = plain;
                assert_int_equal(create(&b), CAY_OK);
                assert_true(b.box.kept);
                attach(&b, b.box.secret);
                run_ok(&b, "echo here > /workspace/f; echo home > /home/sandbox/h; mkdir /tmp/d; ln -s / "
                           "/tmp/d/l");
                for (unsigned i = 0; i < 3; i++) {
                        assert_int_equal(stop(&b), CAY_OK);
                        assert_int_equal(stop(&b), CAY_OK); /* once more changes nothing */
                        assert_int_equal(listed(s), 0);
                        assert_int_equal(kept(s), 1);
                        assert_string_equal(s->last_listed, "kept");
                        b.spec.go_on = true;
                        assert_int_equal(create(&b), CAY_OK);
                        assert_true(b.box.kept);
                        attach(&b, b.box.secret);
                        run_ok(&b, "test $(cat /workspace/f) = here && test $(cat /home/sandbox/h) = home && "
                                   "test -L /tmp/d/l && "
                                   "test $(stat -c %u /home/sandbox/h) = 1001 && touch /workspace/again");
                }
                assert_int_equal(destroy(&b), CAY_OK);
                assert_int_equal(kept(s), 0);
        }
}

void files_that_are_not_there_are_not_made_anew(void **state)
{
        struct subject *s = subject(state);
        static struct box b;

        if (!(s->engine->caps & CAY_ENGINE_CAN_KEEP))
                return;
        prepare_box(s, &b, "never-was");
        b.spec.keep = b.spec.go_on = true;
        assert_int_equal(create(&b), CAY_CONFLICT);
        assert_int_equal(b.box.link_fd, -1);
        assert_int_equal(kept(s), 0);
        b.spec.go_on = false;
        assert_int_equal(create(&b), CAY_OK);
        attach(&b, b.box.secret);
        assert_int_equal(stop(&b), CAY_OK);
        assert_int_equal(create(&b), CAY_EXISTS); /* nor are those that are there lost to a new one */
        assert_int_equal(kept(s), 1);
        assert_int_equal(destroy(&b), CAY_OK); /* of one that has no box */
        assert_int_equal(kept(s), 0);
        b.spec.go_on = true;
        assert_int_equal(create(&b), CAY_CONFLICT);
        prepare_box(s, &b, "odd");
        b.spec.go_on = true;
        assert_int_equal(create(&b), CAY_INVALID);
}
