/* SPDX-License-Identifier: Apache-2.0 */
/* What people are told, and READY by hand, to a path and to an abstract name. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "cay/keeper/tell.h"

static void hear(const char *name, bool is_abstract)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        size_t len = strlen(name);
        char text[32] = "";
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        memcpy(at.sun_path, name, len);
        if (is_abstract)
                at.sun_path[0] = '\0';
        assert_int_equal(bind(fd, (struct sockaddr *)&at,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                         0);
        assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
        cay_tell_systemd("READY=1");
        assert_int_equal(recv(fd, text, sizeof(text) - 1, 0), 7);
        assert_string_equal(text, "READY=1");
        close(fd);
        unsetenv("NOTIFY_SOCKET");
}

static void test_systemd(void **state)
{
        char name[64];

        snprintf(name, sizeof(name), "/tmp/cay-test-tell-%d", (int)getpid());
        unlink(name); /* of one that was killed and had this number before */
        hear(name, false);
        unlink(name);
        snprintf(name, sizeof(name), "@cay-test-tell-%d", (int)getpid());
        hear(name, true);
        (void)state;
}

static void test_nobody_listens(void **state)
{
        static const char *const names[] = { "", "x", "/", "relative/name", "/nowhere/at/all" };

        unsetenv("NOTIFY_SOCKET");
        cay_tell_systemd("READY=1");
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                setenv("NOTIFY_SOCKET", names[i], 1);
                cay_tell_systemd("READY=1");
        }
        unsetenv("NOTIFY_SOCKET");
        (void)state;
}

/* What cay_tell_people prints, to a terminal or to a file; the caller's to free. */
static char *told(const struct cay_config *c, const char *token, const char *login, bool terminal)
{
        struct cay_place place = { .port = 8123, .unix_path = "/x/cay.sock" };
        struct cay_hand_ready ready = { 0 };
        int master = terminal ? posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) : -1, out, kept;
        char *text = calloc(1, 8192);
        size_t len = 0;
        ssize_t n;

        assert_non_null(text);
        if (terminal) {
                assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
                out = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        } else {
                out = memfd_create("told", MFD_CLOEXEC);
        }
        assert_true(out >= 0);
        snprintf(ready.token, sizeof(ready.token), "%s", token);
        snprintf(ready.login, sizeof(ready.login), "%s", login);
        fflush(stdout);
        kept = dup(STDOUT_FILENO);
        assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
        cay_tell_people(c, &place, &ready);
        assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
        close(kept);
        if (terminal) {
                close(out); /* the end of it, for the reader */
                while ((n = read(master, text + len, 8191 - len)) > 0)
                        len += (size_t)n;
                close(master);
                for (char *at = text; (at = strchr(at, '\r'));) /* what a terminal adds */
                        memmove(at, at + 1, strlen(at));
        } else {
                assert_true(pread(out, text, 8191, 0) > 0);
                close(out);
        }
        return text;
}

static void load(struct cay_config *c, const char *data)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_init(c, &err), 0);
        if (data)
                assert_int_equal(
                        cay_config_set(c, CAY_CONFIG_KEY_data, CAY_CONFIG_FLAG, "--data", data, &err), 0);
}

static void test_people(void **state)
{
        cay_auto_config struct cay_config plain = { 0 }, odd = { 0 };
        char *text;

        load(&plain, NULL);
        text = told(&plain, "cay1.abc.DEF-_", "login-secret", true);
        assert_non_null(strstr(text, "serves http://127.0.0.1:8123/ "));
        assert_non_null(strstr(text, "http://127.0.0.1:8123/#login=login-secret "));
        assert_non_null(strstr(text, "\nTOKEN=cay1.abc.DEF-_\n"));
        assert_null(strstr(text, "--data"));
        free(text);
        /* A folder's name goes to a shell as it is. */
        load(&odd, "/a b/$(x)/it's");
        text = told(&odd, "cay1.abc.DEF", "l", true);
        assert_non_null(strstr(text, " --data '/a b/$(x)/it'\\''s'"));
        free(text);
        (void)state;
}

/* A front that was taken over says what it likes. */
static void test_hostile_front(void **state)
{
        static const char *const bad[] = { "",        "x;rm -rf /", "$(reboot)", "a\nb",
                                           "\033[2J", "a b",        "`x`",       "\xff" };
        cay_auto_config struct cay_config c = { 0 };

        load(&c, NULL);
        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                char *text = told(&c, bad[i], bad[i], true);

                assert_null(strstr(text, "TOKEN="));
                assert_null(strstr(text, "#login="));
                assert_null(strchr(text, '\033'));
                free(text);
        }
        (void)state;
}

/*
 * Whatever is no terminal is kept, and read by others: a file, a pipe to a log, a container's log, the
 * journal.
 */
static void test_files_get_no_secrets(void **state)
{
        cay_auto_config struct cay_config c = { 0 };
        char *text;

        load(&c, "/x");
        text = told(&c, "cay1.abc.DEF", "login-secret", false);
        assert_null(strstr(text, "cay1."));
        assert_null(strstr(text, "login-secret"));
        assert_non_null(strstr(text, " token --login --data /x` prints a link\n"));
        assert_non_null(strstr(text, "\nTOKEN=$("));
        assert_non_null(strstr(text, " token --data /x)\n"));
        free(text);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_systemd),
                cmocka_unit_test(test_nobody_listens),
                cmocka_unit_test(test_people),
                cmocka_unit_test(test_hostile_front),
                cmocka_unit_test(test_files_get_no_secrets),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
