/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of net/dev as the kernel writes them, and as nobody should; and this process's own. */
#include "sys_test.h"

#include "foundation/sys/netdev.h"

#define HEAD                                                                                                 \
        "Inter-|   Receive                                                |  Transmit\n"                     \
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo " \
        "colls carrier compressed\n"

static void test_sum(void **state)
{
        struct sys_netdev n;

        sys_netdev_parse(HEAD "    lo:    1234       9    0    0    0     0          0         0     1234"
                              "       9    0    0    0     0       0          0\n"
                              "  eth0: 1000 1 0 0 0 0 0 0 77 1 0 0 0 0 0 0\n"
                              "  lo0:5 1 0 0 0 0 0 0 18446744073709551000 1 0 0 0 0 0 0\n",
                         &n);
        assert_int_equal(n.loopback_bytes, 1234);
        assert_int_equal(n.rx_bytes, 1005);
        assert_int_equal(n.tx_bytes, 18446744073709551000ull + 77);
}

/* A line that ends before its figures do must not take those of the next one. */
static void test_odd(void **state)
{
        static const char *const texts[] = { "",
                                             HEAD,
                                             "\n\n",
                                             "lo",
                                             "lo:",
                                             ":",
                                             "lo: 1 2 3",
                                             "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n16",
                                             "eth0: x 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16" };
        struct sys_netdev n;

        for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                sys_netdev_parse(texts[i], &n);
                assert_int_equal(n.loopback_bytes, 0);
                assert_int_equal(n.rx_bytes, 0);
                assert_int_equal(n.tx_bytes, 0);
        }
}

static void test_read(void **state)
{
        struct sys_netdev n = { .rx_bytes = 1 };

        assert_int_equal(sys_netdev_read(getpid(), &n), 0);
        assert_true(sys_netdev_read(1 << 29, &n) < 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sum),
                cmocka_unit_test(test_odd),
                cmocka_unit_test(test_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
