/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about refused packets: what is a connection, and what is not. That the kernel sends them is tested
 * in integration/net.
 */
#include "foundation/sys/net_refused.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>

#include "sys_test.h"

#define SYN 0x02

static uint8_t bytes[512];

static const uint8_t v4[34] = { 0x45, [9] = 6, [16] = 203, 0, 113, 7, [22] = 0x1f, 0x90, [33] = SYN };
static const uint8_t v6[54] = { 0x60, [6] = 6,  [24] = 0x20, 0x01, 0x0d,
                                0xb8, [39] = 9, [42] = 0x01, 0xbb, [53] = SYN };

/* A message with an attribute before the packet, as the kernel has it. */
static size_t make(const uint8_t *packet, size_t len)
{
        struct nlmsghdr head = { .nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET };
        const struct nlattr prefix = { .nla_len = sizeof(prefix) + 1, .nla_type = NFULA_PREFIX };
        const struct nlattr payload = { .nla_len = (uint16_t)(sizeof(payload) + len),
                                        .nla_type = NFULA_PAYLOAD };
        size_t at = NLMSG_HDRLEN + sizeof(struct nfgenmsg);

        memset(bytes, 0, sizeof(bytes));
        memcpy(bytes + at, &prefix, sizeof(prefix));
        at += NLA_ALIGN(prefix.nla_len);
        memcpy(bytes + at, &payload, sizeof(payload));
        memcpy(bytes + at + sizeof(payload), packet, len);
        at += NLA_ALIGN(payload.nla_len);
        head.nlmsg_len = (uint32_t)at;
        memcpy(bytes, &head, sizeof(head));
        return at;
}

static void test_connections(void **state)
{
        struct sys_refused r;

        assert_true(sys_refused_parse(bytes, make(v4, sizeof(v4)), &r));
        assert_int_equal(r.port, 8080);
        assert_memory_equal(r.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xcb\0\x71\x07", 16);
        assert_true(sys_refused_parse(bytes, make(v6, sizeof(v6)), &r));
        assert_int_equal(r.port, 443);
        assert_memory_equal(r.address, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09", 16);
}

static void refuse(const uint8_t *from, size_t len, size_t at, uint8_t value)
{
        uint8_t packet[64];
        struct sys_refused r;

        memcpy(packet, from, len);
        packet[at] = value;
        assert_false(sys_refused_parse(bytes, make(packet, len), &r));
}

static void test_others(void **state)
{
        struct sys_refused r;
        size_t len;

        refuse(v4, sizeof(v4), 9, 17);    /* UDP */
        refuse(v4, sizeof(v4), 33, 0x12); /* an answer */
        refuse(v4, sizeof(v4), 33, 0x10); /* in the midst of a connection */
        refuse(v4, sizeof(v4), 0, 0x44);  /* a header that is too short */
        refuse(v4, sizeof(v4), 0, 0x4f);  /* and one that is not there */
        refuse(v4, sizeof(v4), 0, 0x55);  /* no IP */
        refuse(v6, sizeof(v6), 6, 0);     /* an extension header */
        for (size_t cut = 0; cut < sizeof(v6); cut++)
                assert_false(sys_refused_parse(bytes, make(v6, cut), &r));
        len = make(v4, sizeof(v4));
        for (size_t cut = 0; cut < len; cut++)
                assert_false(sys_refused_parse(bytes, cut, &r));
        bytes[4] ^= 1; /* of another type */
        assert_false(sys_refused_parse(bytes, len, &r));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_connections),
                                            cmocka_unit_test(test_others) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
