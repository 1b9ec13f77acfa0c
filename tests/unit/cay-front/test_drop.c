/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up privileges, in a child: what the front is afterwards. Needs root; as somebody else only the
 * folder is looked at.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-front/drop.h"

struct place {
        char folder[64];
        int fd;
};

static int set_up(void **state)
{
        struct place *p = calloc(1, sizeof(*p));

        snprintf(p->folder, sizeof(p->folder), "/tmp/cay-drop-XXXXXX");
        if (!mkdtemp(p->folder))
                return -1;
        p->fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *state = p;
        return p->fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
        struct place *p = *state;

        unlinkat(p->fd, "state/made", 0);
        unlinkat(p->fd, "state", AT_REMOVEDIR);
        unlinkat(p->fd, "state", 0);
        close(p->fd);
        rmdir(p->folder);
        free(p);
        return 0;
}

static void the_folder_is_the_fronts(void **state)
{
        struct place *p = *state;
        struct cay_error err = { 0 };
        struct stat st;
        int fd = -1;

        for (int times = 0; times < 2; times++) { /* made, then found */
                assert_int_equal(cay_front_state_open(p->fd, CAY_FRONT_ID, &fd, &err), 0);
                assert_int_equal(fstat(fd, &st), 0);
                assert_int_equal(st.st_mode & 0777, 0700);
                assert_int_equal(st.st_uid, geteuid() == 0 ? CAY_FRONT_ID : geteuid());
                close(fd);
        }
}

static void a_link_is_not_followed(void **state)
{
        struct place *p = *state;
        struct cay_error err = { 0 };
        int fd = -1;

        assert_int_equal(symlinkat("/tmp", p->fd, "state"), 0);
        assert_int_equal(cay_front_state_open(p->fd, CAY_FRONT_ID, &fd, &err), -1);
        assert_int_equal(fd, -1);
}

static void a_folder_of_others_is_refused(void **state)
{
        struct place *p = *state;
        struct cay_error err = { 0 };
        int fd = -1;

        if (geteuid() != 0)
                skip();
        assert_int_equal(mkdirat(p->fd, "state", 0700), 0);
        assert_int_equal(fchownat(p->fd, "state", 4242, 4242, 0), 0);
        assert_int_equal(cay_front_state_open(p->fd, CAY_FRONT_ID, &fd, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_non_null(strstr(err.msg, "4242"));
}

#define CHECK(is)                                                                                            \
        do {                                                                                                 \
                if (!(is)) {                                                                                 \
                        fprintf(stderr, "%s: errno %d\n", #is, errno);                                       \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

static void drop_and_look(int state_fd, bool was_root)
{
        struct cay_error err = { 0 };
        bool is_root = !was_root;

        CHECK(cay_front_drop(state_fd, CAY_FRONT_ID, &is_root, &err) == 0);
        CHECK(is_root == was_root);
        CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
        CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
        if (was_root) {
                uid_t r, e, s;

                CHECK(getresuid(&r, &e, &s) == 0 && r == CAY_FRONT_ID && e == CAY_FRONT_ID &&
                      s == CAY_FRONT_ID);
                CHECK(getgroups(0, NULL) == 0);
                CHECK(access("/etc/passwd", F_OK) < 0 && errno == ENOENT);
                CHECK(open("/made", O_RDWR | O_CREAT | O_CLOEXEC, 0600) >= 0);
                CHECK(setresuid(0, 0, 0) < 0);
                CHECK(chroot(".") < 0);
        }
        _exit(0);
}

static void nothing_is_kept(void **state)
{
        struct place *p = *state;
        struct cay_error err = { 0 };
        int fd = -1, status;
        pid_t pid;

        assert_int_equal(cay_front_state_open(p->fd, CAY_FRONT_ID, &fd, &err), 0);
        pid = fork();
        if (pid == 0)
                drop_and_look(fd, geteuid() == 0);
        close(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_folder_is_the_fronts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_link_is_not_followed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_folder_of_others_is_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nothing_is_kept, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
