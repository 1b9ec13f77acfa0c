/* SPDX-License-Identifier: Apache-2.0 */
/* The front's own id: who gets which, and what becomes of the files. Needs root. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cay-front/drop.h"
#include "cay-front/front_id.h"

struct place {
        char folder[64], run[80];
        int fd;
};

static int set_up(void **state)
{
        struct place *p = calloc(1, sizeof(*p));

        snprintf(p->folder, sizeof(p->folder), "/tmp/cay-front-id-XXXXXX");
        if (!mkdtemp(p->folder))
                return -1;
        snprintf(p->run, sizeof(p->run), "%s/run", p->folder);
        p->fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *state = p;
        return p->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        struct place *p = *state;
        static const char *const files[] = { "state/spool/a", "state/b", "state/other" };
        char name[40];

        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
                unlinkat(p->fd, files[i], 0);
        unlinkat(p->fd, "state/spool", AT_REMOVEDIR);
        unlinkat(p->fd, "state", AT_REMOVEDIR);
        snprintf(name, sizeof(name), "run/front-%u", (unsigned)CAY_FRONT_ID);
        unlinkat(p->fd, name, 0);
        for (unsigned i = 0; i < CAY_FRONT_IDS; i++) {
                snprintf(name, sizeof(name), "run/front-%u", CAY_FRONT_ID_MORE + i);
                unlinkat(p->fd, name, 0);
        }
        unlinkat(p->fd, "run", AT_REMOVEDIR);
        close(p->fd);
        assert_int_equal(rmdir(p->folder), 0);
        free(p);
        return 0;
}

static uid_t owner(struct place *p, const char *name)
{
        struct stat st;

        assert_int_equal(fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        return st.st_uid;
}

static void make_file(struct place *p, const char *name, uid_t id)
{
        int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(fchown(fd, id, id), 0);
        close(fd);
}

static void no_two_have_the_same(void **state)
{
        struct place *p = *state;
        int locks[CAY_FRONT_IDS], lock;
        uid_t ids[CAY_FRONT_IDS];

        if (geteuid() != 0)
                skip();
        for (unsigned i = 0; i < CAY_FRONT_IDS; i++) {
                ids[i] = cay_front_id_take(p->run, p->fd, "state", &locks[i]);
                assert_true(locks[i] >= 0 && cay_front_id_is_one(ids[i]));
                for (unsigned k = 0; k < i; k++)
                        assert_int_not_equal(ids[i], ids[k]);
        }
        assert_int_equal(ids[0], CAY_FRONT_ID);
        assert_int_equal(cay_front_id_take(p->run, p->fd, "state", &lock), CAY_FRONT_ID); /* all are in use */
        assert_int_equal(lock, -1);
        close(locks[5]);
        assert_int_equal(cay_front_id_take(p->run, p->fd, "state", &locks[5]), ids[5]);
        for (unsigned i = 0; i < CAY_FRONT_IDS; i++)
                close(locks[i]);
}

static void the_folders_own_is_preferred(void **state)
{
        struct place *p = *state;
        int lock, other;

        if (geteuid() != 0)
                skip();
        assert_int_equal(mkdirat(p->fd, "state", 0700), 0);
        assert_int_equal(fchownat(p->fd, "state", CAY_FRONT_ID_MORE + 7, 0, 0), 0);
        assert_int_equal(cay_front_id_take(p->run, p->fd, "state", &lock), CAY_FRONT_ID_MORE + 7);
        assert_int_equal(cay_front_id_take(p->run, p->fd, "state", &other), CAY_FRONT_ID);
        close(lock);
        close(other);
}

static void a_run_folder_of_others_is_not_used(void **state)
{
        struct place *p = *state;
        int lock;

        if (geteuid() != 0)
                skip();
        assert_int_equal(mkdir(p->run, 0700), 0);
        assert_int_equal(chmod(p->run, 0777), 0);
        assert_int_equal(cay_front_id_take(p->run, p->fd, "state", &lock), CAY_FRONT_ID);
        assert_int_equal(lock, -1);
}

/* The files of a front that had another id go along; what was nobody's of ours does not. */
static void files_are_given_to_another_id(void **state)
{
        struct place *p = *state;
        struct cay_error err = { 0 };
        int fd = -1;

        if (geteuid() != 0)
                skip();
        assert_int_equal(cay_front_state_open(p->fd, CAY_FRONT_ID, &fd, &err), 0);
        close(fd);
        assert_int_equal(mkdirat(p->fd, "state/spool", 0700), 0);
        assert_int_equal(fchownat(p->fd, "state/spool", CAY_FRONT_ID, CAY_FRONT_ID, 0), 0);
        make_file(p, "state/spool/a", CAY_FRONT_ID);
        make_file(p, "state/b", CAY_FRONT_ID);
        make_file(p, "state/other", 4242);
        assert_int_equal(cay_front_state_open(p->fd, CAY_FRONT_ID_MORE, &fd, &err), 0);
        close(fd);
        assert_int_equal(owner(p, "state"), CAY_FRONT_ID_MORE);
        assert_int_equal(owner(p, "state/spool"), CAY_FRONT_ID_MORE);
        assert_int_equal(owner(p, "state/spool/a"), CAY_FRONT_ID_MORE);
        assert_int_equal(owner(p, "state/b"), CAY_FRONT_ID_MORE);
        assert_int_equal(owner(p, "state/other"), 4242);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(no_two_have_the_same, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_folders_own_is_preferred, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_run_folder_of_others_is_not_used, set_up, tear_down),
                cmocka_unit_test_setup_teardown(files_are_given_to_another_id, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
