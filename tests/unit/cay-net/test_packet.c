/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that a kernel takes: lengths, addresses, and checksums that come out even. */
#include "cay-net/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct net_ends ends(const char *from, unsigned from_port, const char *to, unsigned to_port)
{
        struct net_ends e = { .from_port = (uint16_t)from_port, .to_port = (uint16_t)to_port };

        assert_true(cay_address_parse(from, &e.from));
        assert_true(cay_address_parse(to, &e.to));
        return e;
}

/* Over all of it, a right checksum included, it is 0xffff. */
static uint32_t sum(uint32_t so_far, const uint8_t *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++)
                so_far += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
        while (so_far > 0xffff)
                so_far = (so_far & 0xffff) + (so_far >> 16);
        return so_far;
}

static uint32_t sum_transport(const uint8_t *packet, size_t len)
{
        bool is_v4 = packet[0] >> 4 == 4;
        size_t head = is_v4 ? 20 : 40;
        uint8_t pseudo[2] = { 0, is_v4 ? packet[9] : packet[6] };
        uint32_t so_far = sum((uint32_t)(len - head), pseudo, 2);

        so_far = is_v4 ? sum(so_far, packet + 12, 8) : sum(so_far, packet + 8, 32);
        return sum(so_far, packet + head, len - head);
}

static void test_datagrams(void **state)
{
        static const struct {
                const char *from, *to;
                size_t head;
        } rows[] = { { "198.18.0.1", "192.0.2.2", 28 }, { "fdca:c0de::1", "fdca:c0de:0:1::2", 48 } };
        static uint8_t packet[NET_PACKET_HEAD + NET_DATAGRAM_MAX], bytes[NET_DATAGRAM_MAX];

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t)(i * 7 + i / 251);
        for (unsigned row = 0; row < 2; row++) {
                static const size_t sizes[] = { 0, 1, 2, 511, 1472, NET_DATAGRAM_MAX };

                for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                        struct net_ends e = ends(rows[row].from, 123, rows[row].to, 40000);
                        size_t head = net_packet_udp_head(&e, bytes, sizes[i], packet);

                        assert_int_equal(head, rows[row].head);
                        memcpy(packet + head, bytes, sizes[i]);
                        assert_int_equal(sum_transport(packet, head + sizes[i]), 0xffff);
                        if (row == 0)
                                assert_int_equal(sum(0, packet, 20), 0xffff);
                        assert_int_equal(packet[head - 8] << 8 | packet[head - 7], 123);
                        assert_int_equal(packet[head - 6] << 8 | packet[head - 5], 40000);
                        assert_int_equal(packet[head - 4] << 8 | packet[head - 3], 8 + sizes[i]);
                }
        }
}

/* A checksum of 0 would mean that there is none. */
static void test_a_checksum_is_never_zero(void **state)
{
        struct net_ends e = ends("198.18.0.1", 1, "192.0.2.2", 2);
        uint8_t packet[NET_PACKET_HEAD], bytes[2];
        unsigned found = 0;

        for (unsigned value = 0; value <= 0xffff; value++) {
                size_t head;

                bytes[0] = (uint8_t)(value >> 8);
                bytes[1] = (uint8_t)value;
                head = net_packet_udp_head(&e, bytes, 2, packet);
                assert_true(packet[head - 2] != 0 || packet[head - 1] != 0);
                found += packet[head - 2] == 0xff && packet[head - 1] == 0xff;
        }
        assert_int_equal(found, 1);
}

static void test_unreachable(void **state)
{
        struct net_ends four = ends("192.0.2.2", 40000, "8.8.8.8", 443);
        struct net_ends six = ends("fdca:c0de:0:1::2", 40000, "2600::1", 443);
        uint8_t packet[NET_UNREACHABLE_MAX];

        assert_int_equal(net_packet_unreachable(&four, 100, packet), 20 + 8 + 28);
        assert_int_equal(sum(0, packet, 20), 0xffff);
        assert_int_equal(sum(0, packet + 20, 36), 0xffff);
        assert_int_equal(packet[20], 3);
        assert_int_equal(packet[21], 3);
        assert_memory_equal(packet + 12, four.to.bytes + 12, 4); /* from whom it could not reach */
        assert_memory_equal(packet + 28 + 12, four.from.bytes + 12, 4);
        assert_int_equal(packet[28 + 2] << 8 | packet[28 + 3], 128);
        assert_int_equal(packet[28 + 20] << 8 | packet[28 + 21], 40000);
        assert_int_equal(net_packet_unreachable(&six, 0, packet), NET_UNREACHABLE_MAX);
        assert_int_equal(sum_transport(packet, NET_UNREACHABLE_MAX), 0xffff);
        assert_int_equal(packet[40], 1);
        assert_int_equal(packet[41], 4);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_datagrams),
                cmocka_unit_test(test_a_checksum_is_never_zero),
                cmocka_unit_test(test_unreachable),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
