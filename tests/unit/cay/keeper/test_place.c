/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon's folder is its own: made closed to others, locked, and its sockets go with it. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cay/keeper/place.h"
#include "foundation/sys/fd.h"

static char folder[] = "/tmp/cay-test-place-XXXXXX";
static char data[64];

static void load(struct cay_config *c, const char *more)
{
        struct cay_error err = { 0 };
        char text[256];

        snprintf(text, sizeof(text), "data = %s\nport = 0\n%s", data, more);
        assert_int_equal(cay_config_init(c, &err), 0);
        assert_int_equal(cay_config_read_text(c, "test", text, strlen(text), &err), 0);
}

static int set_up(void **state)
{
        (void)state;
        snprintf(folder, sizeof(folder), "/tmp/cay-test-place-XXXXXX");
        if (mkdtemp(folder) == NULL)
                return -1;
        snprintf(data, sizeof(data), "%s/data", folder);
        return 0;
}

static int tear_down(void **state)
{
        char lock[80], layers[80];

        (void)state;
        snprintf(layers, sizeof(layers), "%s/layers", data);
        snprintf(lock, sizeof(lock), "%s/lock", data);
        unlink(lock);
        rmdir(layers);
        rmdir(data);
        return rmdir(folder);
}

static void test_made_and_closed(void **state)
{
        cay_auto_config struct cay_config c = { 0 };
        struct cay_place p = { 0 };
        struct cay_error err = { 0 };
        char path[80], url[64] = "", want[64];
        struct stat st;

        load(&c, "");
        assert_int_equal(cay_place_open(&p, &c, &err), 0);
        snprintf(path, sizeof(path), "%s/url", data);
        snprintf(want, sizeof(want), "http://127.0.0.1:%u\n", p.port);
        assert_true(sys_read_file(AT_FDCWD, path, url, sizeof(url)) > 0);
        assert_string_equal(url, want);
        assert_int_equal(stat(data, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        assert_true(p.port > 0 && p.tcp_count >= 1);
        assert_int_equal(stat(p.unix_path, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        cay_place_close(&p);
        assert_int_equal(access(p.unix_path, F_OK), -1);
        assert_int_equal(access(path, F_OK), -1);
        (void)state;
}

static void test_locked(void **state)
{
        cay_auto_config struct cay_config c = { 0 };
        struct cay_place first = { 0 }, second = { 0 };
        struct cay_error err = { 0 };
        char pid[24];

        load(&c, "");
        assert_int_equal(cay_place_open(&first, &c, &err), 0);
        assert_int_equal(cay_place_open(&second, &c, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
        assert_non_null(strstr(err.msg, pid));
        cay_place_close(&second);
        assert_int_equal(access(first.unix_path, F_OK), 0); /* the loser took nothing away */
        cay_place_close(&first);
        err = (struct cay_error){ 0 };
        assert_int_equal(cay_place_open(&second, &c, &err), 0);
        cay_place_close(&second);
        (void)state;
}

static void test_opened_folder_is_closed(void **state)
{
        cay_auto_config struct cay_config c = { 0 };
        struct cay_place p = { 0 };
        struct cay_error err = { 0 };
        struct stat st;

        load(&c, "");
        assert_int_equal(mkdir(data, 0700), 0);
        assert_int_equal(chmod(data, 0777), 0);
        assert_int_equal(cay_place_open(&p, &c, &err), 0);
        assert_int_equal(stat(data, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        cay_place_close(&p);
        (void)state;
}

static void test_refused(void **state)
{
        cay_auto_config struct cay_config c = { 0 }, deep = { 0 };
        struct cay_place p = { 0 };
        struct cay_error err = { 0 };
        char more[200] = "socket = /";

        memset(more + 10, 'a', 150);
        load(&c, more);
        assert_int_equal(cay_place_open(&p, &c, &err), -1);
        assert_non_null(strstr(err.msg, "--socket"));
        cay_place_close(&p);
        snprintf(data + strlen(data), sizeof(data) - strlen(data), "/a/b");
        load(&deep, "");
        data[strlen(data) - 4] = '\0';
        p = (struct cay_place){ 0 };
        assert_int_equal(cay_place_open(&p, &deep, &err), -1);
        assert_non_null(strstr(err.msg, "--data"));
        cay_place_close(&p);
        (void)state;
}

static int listen_in_data(void)
{
        char path[80];
        struct cay_error err = { 0 };
        int fd;

        snprintf(path, sizeof(path), "%s/cay.sock", data);
        fd = cay_listen_unix(path, 0600, &err);
        assert_true(fd >= 0);
        return fd;
}

/* A front that is still ending: it listens until somebody has looked whether it does. */
static pid_t end_after_a_look(int listener)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                struct pollfd look = { .fd = listener, .events = POLLIN };

                _exit(poll(&look, 1, 30000) == 1 ? 0 : 1);
        }
        close(listener);
        return pid;
}

static void test_after_a_kill_its_sockets_are_waited_for(void **state)
{
        cay_auto_config struct cay_config c = { 0 };
        struct cay_place killed = { 0 }, p = { 0 };
        struct cay_error err = { 0 };
        int status;
        pid_t pid;

        load(&c, "");
        assert_int_equal(cay_place_open(&killed, &c, &err), 0);
        close(killed.unix_fd);
        close(killed.lock_fd); /* as a kill does: the file keeps its pid */
        pid = end_after_a_look(listen_in_data());
        killed.lock_fd = killed.unix_fd = -1;
        assert_int_equal(cay_place_open(&p, &c, &err), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        killed.unix_path[0] = '\0';
        cay_place_close(&killed);
        cay_place_close(&p);
        (void)state;
}

static void test_after_a_stop_strangers_are_not_waited_for(void **state)
{
        cay_auto_config struct cay_config c = { 0 };
        struct cay_place p = { 0 };
        struct cay_error err = { 0 };
        char path[80];
        int fd, looks = 0;

        load(&c, "");
        assert_int_equal(cay_place_open(&p, &c, &err), 0);
        cay_place_close(&p);
        fd = listen_in_data();
        p = (struct cay_place){ 0 };
        assert_int_equal(cay_place_open(&p, &c, &err), -1);
        assert_int_equal(err.code, CAY_EXISTS);
        for (int look; (look = accept(fd, NULL, NULL)) >= 0; looks++)
                close(look);
        assert_int_equal(looks, 1);
        cay_place_close(&p);
        snprintf(path, sizeof(path), "%s/cay.sock", data);
        assert_int_equal(unlink(path), 0); /* the stranger's was left alone */
        close(fd);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_made_and_closed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_locked, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_opened_folder_is_closed, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_after_a_kill_its_sockets_are_waited_for, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(test_after_a_stop_strangers_are_not_waited_for, set_up,
                                                tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
