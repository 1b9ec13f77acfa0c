/* SPDX-License-Identifier: Apache-2.0 */
/* READY by hand, to a path and to an abstract name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/tell.h"

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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_systemd),
                cmocka_unit_test(test_nobody_listens),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
