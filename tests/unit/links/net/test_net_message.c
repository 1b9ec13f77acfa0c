/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of messages to cay-net: what passes, and that each row's count of descriptors and state is held.
 */
#include "links/net/net_message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct net_request request(uint32_t type)
{
        struct net_request r = { .magic = NET_WIRE_MAGIC, .size = sizeof(r), .type = type, .seq = 1 };

        if (type == NET_log_read)
                snprintf(r.log.id, sizeof(r.log.id), "box-1");
        else if (type == NET_dial)
                r.dial = (struct net_dial_request){ .host = "h.example", .port = 443 };
        else if (type != NET_hello && type != NET_box_list)
                snprintf(r.box.id, sizeof(r.box.id), "box-1");
        return r;
}

/* Both checks, as cay-net makes them. */
static int checked_as(const struct net_request *r, int64_t len, unsigned fds, unsigned state)
{
        int result = helper_request_check(&net_protocol, r, len, fds, state);

        return result < 0 ? result : net_request_check_id(r);
}

static int checked(const struct net_request *r, unsigned fds, unsigned state)
{
        return checked_as(r, sizeof(*r), fds, state);
}

static void each_row_passes_as_it_is_and_in_its_state_alone(void **state)
{
        static const struct {
                uint32_t type;
                unsigned fds, state;
        } rows[] = {
                { NET_hello, 0, HELPER_FRESH },      { NET_box_add, 1, HELPER_READY },
                { NET_box_policy, 1, HELPER_READY }, { NET_box_secrets, 1, HELPER_READY },
                { NET_box_drop, 0, HELPER_READY },   { NET_box_list, 0, HELPER_READY },
                { NET_box_stats, 0, HELPER_READY },  { NET_log_read, 0, HELPER_READY },
                { NET_box_proxy, 1, HELPER_READY },  { NET_dial, 1, HELPER_READY },
        };

        assert_int_equal(sizeof(rows) / sizeof(rows[0]), NET_TYPE_COUNT - 1);
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct net_request r = request(rows[i].type);

                assert_int_equal(checked(&r, rows[i].fds, rows[i].state), 0);
                assert_int_equal(checked(&r, rows[i].fds, rows[i].state ^ 3), -EPROTO);
                assert_int_equal(checked(&r,
                                         rows[i].fds + 1 +
                                                 (rows[i].type == NET_box_add ? NET_FD_DIALS + NET_DIALS_MAX
                                                                              : 0),
                                         rows[i].state),
                                 -EPROTO);
                if (rows[i].fds > 0)
                        assert_int_equal(checked(&r, rows[i].fds - 1, rows[i].state), -EPROTO);
                assert_string_not_equal(helper_request_name(&net_protocol, rows[i].type), "?");
        }
}

static void other_sizes_magics_and_types_do_not(void **state)
{
        struct net_request r = request(NET_box_list);

        assert_int_equal(checked_as(&r, sizeof(r) - 1, 0, HELPER_READY), -EPROTO);
        r.size--;
        assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
        r = request(NET_box_list);
        r.magic++;
        assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
        r = request(NET_box_list);
        r.seq = 0;
        assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
        for (uint32_t type = NET_TYPE_COUNT; type < 200; type++) {
                r = request(NET_box_list);
                r.type = type;
                assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
                assert_string_equal(helper_request_name(&net_protocol, type), "?");
        }
}

static void an_id_is_one(void **state)
{
        struct net_request r = request(NET_box_drop);

        memset(r.box.id, 'a', sizeof(r.box.id)); /* without its end */
        assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
        r = request(NET_box_drop);
        snprintf(r.box.id, sizeof(r.box.id), "../etc");
        assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
        r = request(NET_log_read);
        r.log.id[0] = '\0';
        assert_int_equal(checked(&r, 0, HELPER_READY), -EPROTO);
}

static void a_dialled_host_is_one(void **state)
{
        struct net_request r = request(NET_dial);

        memset(r.dial.host, 'a', sizeof(r.dial.host)); /* without its end */
        assert_int_equal(checked(&r, 1, HELPER_READY), -EPROTO);
        r = request(NET_dial);
        r.dial.host[0] = '\0';
        assert_int_equal(checked(&r, 1, HELPER_READY), -EPROTO);
        r = request(NET_dial);
        r.dial.port = 0;
        assert_int_equal(checked(&r, 1, HELPER_READY), -EPROTO);
        r.dial.port = 65536;
        assert_int_equal(checked(&r, 1, HELPER_READY), -EPROTO);
        r = request(NET_dial);
        r.dial.may_private = 2;
        assert_int_equal(checked(&r, 1, HELPER_READY), -EPROTO);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_row_passes_as_it_is_and_in_its_state_alone),
                cmocka_unit_test(other_sizes_magics_and_types_do_not),
                cmocka_unit_test(an_id_is_one),
                cmocka_unit_test(a_dialled_host_is_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
