/* SPDX-License-Identifier: Apache-2.0 */
/* Counts per peer: against a plain array, with many collisions, and what counts as one peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "foundation/http/peers.h"

/* Half of them begin at one place of the table, the others anywhere: long runs of mixed origin. */
static uint64_t key_number(unsigned k)
{
        return k % 2 ? ((uint64_t)k << 57) + 1 : (k + 1) * 0x2545f4914f6cdd1du;
}

static void counts(void **state)
{
        enum { KEYS = 64 };
        unsigned counts[KEYS] = { 0 }, total = 0;
        struct cay_peers p;
        uint32_t seed = 1;

        assert_int_equal(cay_peers_init(&p, KEYS), 0);
        for (unsigned i = 0; i < 100000; i++) {
                unsigned k = (seed = seed * 1103515245 + 12345) >> 16 & (KEYS - 1);
                uint64_t key = key_number(k);

                if ((seed >> 8 & 1) && total < KEYS) {
                        cay_peers_add(&p, key);
                        counts[k]++;
                        total++;
                } else if (counts[k] > 0) {
                        cay_peers_drop(&p, key);
                        counts[k]--;
                        total--;
                }
                for (unsigned x = 0; x < KEYS; x++)
                        assert_int_equal(cay_peers_count(&p, key_number(x)), counts[x]);
        }
        cay_peers_done(&p);
}

static uint64_t key_of(const char *address)
{
        struct sockaddr_in v4 = { .sin_family = AF_INET };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

        if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
                return cay_peers_key((struct sockaddr *)&v4, 0);
        assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
        return cay_peers_key((struct sockaddr *)&v6, 0);
}

static void what_counts_as_one(void **state)
{
        struct sockaddr local = { .sa_family = AF_UNIX };

        assert_true(key_of("10.0.0.1") != key_of("10.0.0.2"));
        assert_true(key_of("2001:db8::1") == key_of("2001:db8::ffff:1"));
        assert_true(key_of("2001:db8::1") != key_of("2001:db8:0:1::1"));
        assert_true(key_of("::1") != 0);
        assert_true(cay_peers_key(&local, 0) != cay_peers_key(&local, 1));
        assert_true(cay_peers_key(&local, 0) != 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(counts), cmocka_unit_test(what_counts_as_one) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
