/* SPDX-License-Identifier: Apache-2.0 */
/* In a namespace of its own: which addresses stay on the host. */
#include "foundation/sys/route.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "foundation/sys/netlink.h"
#include "sys_test.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

static int asked(int fd, const char *text)
{
        uint8_t address[16];
        bool is_v6 = strchr(text, ':') != NULL;

        check(inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address) == 1);
        return sys_route_is_local(fd, address, is_v6 ? 16 : 4);
}

/* Loopback up; a local route for a range that no interface has an address of. */
static void set_up(void)
{
        const struct ifinfomsg up = { .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
        const struct rtmsg route = { .rtm_family = AF_INET,
                                     .rtm_dst_len = 24,
                                     .rtm_table = RT_TABLE_LOCAL,
                                     .rtm_protocol = RTPROT_STATIC,
                                     .rtm_scope = RT_SCOPE_HOST,
                                     .rtm_type = RTN_LOCAL };
        struct sys_netlink n = { 0 };
        uint8_t to[4];

        check(inet_pton(AF_INET, "8.8.4.0", to) == 1);
        check(sys_netlink_open(&n, NETLINK_ROUTE) == 0);
        sys_netlink_begin(&n, RTM_NEWLINK, 0, true, &up, sizeof(up));
        sys_netlink_end(&n);
        sys_netlink_begin(&n, RTM_NEWROUTE, NLM_F_CREATE, true, &route, sizeof(route));
        sys_netlink_put(&n, RTA_DST, to, sizeof(to));
        sys_netlink_put_u32(&n, RTA_OIF, 1);
        sys_netlink_end(&n);
        check(sys_netlink_send(&n) == 0);
        sys_netlink_close(&n);
}

static void in_namespace(void)
{
        int fd;

        if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
                skip_child("no user namespace can be made here");
        set_up();
        fd = sys_route_open();
        check(fd >= 0);
        check(asked(fd, "127.0.0.1") == 1);
        check(asked(fd, "::1") == 1);
        check(asked(fd, "8.8.4.77") == 1); /* by a route alone */
        check(asked(fd, "8.8.8.8") < 0);   /* no route: unreachable, not its own */
        check(sys_route_is_local(fd, (const uint8_t *)"12345", 5) == -EINVAL);
        close(fd);
}

static void the_kernel_tells_which_addresses_are_its_own(void **state)
{
        in_child(in_namespace);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(the_kernel_tells_which_addresses_are_its_own) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
