/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a unix socket, and through which listening socket it came. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "foundation/sys/peer.h"

static void test_pair(void **state)
{
        static struct sys_peer peer;
        struct stat st;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(sys_peer_get(pair[0], &peer), 0);
        assert_int_equal(peer.pid, getpid());
        assert_int_equal(peer.uid, geteuid());
        assert_true(sys_peer_has_group(&peer, getegid()));
        assert_false(sys_peer_has_group(&peer, 2147480000u));
        assert_true(sys_socket_file(pair[0], &st) < 0); /* bound to nothing */
        close(pair[1]);
        assert_int_equal(sys_peer_get(pair[0], &peer), -ENOTCONN);
        close(pair[0]);
}

static void test_others(void **state)
{
        static struct sys_peer peer;
        int pair[2], tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(sys_peer_get(pair[0], &peer), -EPROTOTYPE);
        assert_int_equal(sys_peer_get(tcp, &peer), -EPROTOTYPE);
        close(pair[0]);
        close(pair[1]);
        close(tcp);
        assert_int_equal(pipe(pair), 0);
        assert_int_equal(sys_peer_get(pair[0], &peer), -ENOTSOCK);
        close(pair[0]);
        close(pair[1]);
        assert_int_equal(sys_peer_get(-1, &peer), -EBADF);
}

/* An accepted connection has the listening socket's file, its other end has none. */
static void test_door(void **state)
{
        char folder[] = "/tmp/cay-test-peer-XXXXXX";
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        static struct sys_peer peer;
        struct stat listening, here;
        int listener, out, in, r;

        assert_non_null(mkdtemp(folder));
        snprintf(at.sun_path, sizeof(at.sun_path), "%s/sock", folder);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(connect(out, (struct sockaddr *)&at, sizeof(at)), 0);
        in = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(in >= 0);
        assert_int_equal(sys_peer_get(in, &peer), 0);
        assert_int_equal(peer.pid, getpid());
        assert_int_equal(sys_peer_get(listener, &peer),
                         -ENOTCONN); /* though the kernel would name its maker */
        r = sys_socket_file(listener, &listening);
        if (r == 0) {
                assert_int_equal(stat(at.sun_path, &here), 0);
                assert_int_equal(here.st_ino, listening.st_ino);
                assert_int_equal(sys_socket_file(in, &here), 0);
                assert_true(here.st_ino == listening.st_ino && here.st_dev == listening.st_dev);
                assert_int_equal(sys_socket_file(out, &here), -ENOENT);
        } else {
                assert_true(r == -EPERM || r == -EOPNOTSUPP); /* no root, or an old kernel */
        }
        close(in);
        close(out);
        close(listener);
        unlink(at.sun_path);
        assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pair),
                cmocka_unit_test(test_others),
                cmocka_unit_test(test_door),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
