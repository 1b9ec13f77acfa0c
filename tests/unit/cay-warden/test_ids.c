/* SPDX-License-Identifier: Apache-2.0 */
/* Which host ids a box is given. */
#include "cay-warden/ids.h"

#include "cay-warden/record.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_range_of_a_user(void **state)
{
        const char *text = "alice:100000:65536\n1000:300000:4096\nbob:165536:65536\nbob:400000:65536\n";
        uint32_t first = 0, count = 0;

        assert_true(cay_ids_find_range(text, "bob", 7, 2048, &first, &count));
        assert_int_equal(first, 165536);
        assert_int_equal(count, 65536);
        assert_true(cay_ids_find_range(text, "nobody-known", 1000, 2048, &first, &count));
        assert_int_equal(first, 300000);
        assert_false(cay_ids_find_range(text, "nobody-known", 1000, 65536, &first, &count));
        assert_false(cay_ids_find_range(text, "ali", 7, 1, &first, &count));
        assert_false(cay_ids_find_range(text, "", 7, 1, &first, &count));
}

/* Lines that would give ids that are nobody's to give: root's, beyond the end, none. */
static void test_odd_ranges(void **state)
{
        static const char *const odd[] = {
                "",
                "bob",
                "bob:",
                "bob:x:65536",
                "bob::65536",
                "bob:0:65536",
                "bob:5:0",
                "bob:4294967295:65536",
                "bob:99999999999999:65536",
                "bob:5:99999999999999",
                ":::\n\nbob",
                "bob:-1:65536",
                "bobby:5:65536",
                "\n\n\n",
        };
        uint32_t first, count;

        for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
                assert_false(cay_ids_find_range(odd[i], "bob", 77, 2048, &first, &count));
}

static void test_map_covers(void **state)
{
        assert_true(cay_ids_map_covers("         0          0 4294967295\n", 0, UINT32_MAX));
        assert_true(cay_ids_map_covers("0 0 4294967295\n", CAY_RECORD_FIRST_ID, 1u << 27));
        assert_false(cay_ids_map_covers("0 1000 1\n", CAY_RECORD_FIRST_ID, 1));
        assert_false(cay_ids_map_covers("0 100000 65536\n", 0, UINT32_MAX));
        assert_true(cay_ids_map_covers("0 1000 1\n1 100000 65536\n", 1, 65536));
        assert_false(cay_ids_map_covers("0 1000 1\n1 100000 65536\n", 1, 65537));
        assert_false(cay_ids_map_covers("", 0, 1));
}

/* Every inside id at most once, every outside id at most once, none of them root's. */
static void check_sound(const struct cay_ids *ids)
{
        assert_in_range(ids->extents, 1, CAY_IDS_EXTENTS_MAX);
        for (unsigned i = 0; i < ids->extents; i++) {
                const struct sys_idmap *a = &ids->uids[i];

                assert_true(a->count > 0 && a->outside > 0 && ids->gids[i].outside > 0);
                assert_int_equal(a->inside, ids->gids[i].inside);
                assert_int_equal(a->count, ids->gids[i].count);
                for (unsigned k = 0; k < i; k++) {
                        const struct sys_idmap *b = &ids->uids[k];

                        assert_true(a->inside >= b->inside + b->count || b->inside >= a->inside + a->count);
                        assert_true(a->outside >= b->outside + b->count ||
                                    b->outside >= a->outside + a->count);
                }
        }
}

static const struct cay_ids_pool host = { CAY_IDS_HOST, CAY_RECORD_FIRST_ID, CAY_RECORD_FIRST_ID,
                                          CAY_RECORD_SLOTS };
static const struct cay_ids_pool range = { CAY_IDS_RANGE, 100000, 300000, 32 };
static const struct cay_ids_pool one = { CAY_IDS_ONE, 1000, 100, CAY_RECORD_SLOTS };

static void test_host_slots(void **state)
{
        struct cay_ids a, b;
        uint32_t uid = 0;

        cay_ids_choose(&a, &host, 3, NULL);
        cay_ids_choose(&b, &host, 4, NULL);
        check_sound(&a);
        assert_int_equal(a.extents, 1);
        assert_int_equal(a.first_uid, CAY_RECORD_FIRST_ID + 3 * CAY_RECORD_IDS);
        assert_int_equal(b.first_uid, a.first_uid + CAY_RECORD_IDS);
        assert_true(a.has_root && cay_ids_outside(&a, CAY_BOX_INIT_USER, &uid));
        assert_int_equal(uid, a.first_uid + CAY_BOX_INIT_USER);
        assert_false(cay_ids_outside(&a, CAY_RECORD_IDS, &uid));
}

static void test_slices_do_not_meet(void **state)
{
        struct cay_ids a, b;
        uint32_t uid = 0;

        cay_ids_choose(&a, &range, 0, NULL);
        cay_ids_choose(&b, &range, 1, NULL);
        check_sound(&a);
        check_sound(&b);
        for (unsigned i = 0; i < a.extents; i++)
                for (unsigned k = 0; k < b.extents; k++)
                        assert_true(a.uids[i].outside + a.uids[i].count <= b.uids[k].outside);
        assert_true(cay_ids_outside(&a, 65534, &uid) && cay_ids_outside(&a, 0, &uid));
        assert_int_equal(uid, 100000);
        assert_false(cay_ids_outside(&a, CAY_IDS_SLICE, &uid));
        cay_ids_choose(&b, &range, 31, NULL); /* the last slice ends where the range does */
        assert_true(cay_ids_outside(&b, 65534, &uid));
        assert_int_equal(uid, 100000 + 65536 - 1);
}

static void test_pins(void **state)
{
        const struct cay_id_pin user = { CAY_BOX_USER, 1000, 100 }, root = { 0, 1000, 100 };
        const struct cay_ids_pool *pools[] = { &host, &range };
        struct cay_ids ids;
        uint32_t uid = 0;

        for (unsigned i = 0; i < 2; i++) {
                cay_ids_choose(&ids, pools[i], 5, &user);
                check_sound(&ids);
                assert_true(cay_ids_outside(&ids, CAY_BOX_USER, &uid));
                assert_int_equal(uid, 1000);
                assert_true(cay_ids_outside(&ids, CAY_BOX_USER + 1, &uid) && uid != 1001);
                cay_ids_choose(&ids, pools[i], 5, &root);
                check_sound(&ids);
                assert_true(cay_ids_outside(&ids, 0, &uid));
                assert_int_equal(uid, 1000);
                assert_true(cay_ids_outside(&ids, CAY_BOX_USER, &uid) && uid != 1000);
        }
}

static void test_one(void **state)
{
        struct cay_ids ids;
        uint32_t uid = 0;

        cay_ids_choose(&ids, &one, 9, NULL);
        check_sound(&ids);
        assert_false(ids.has_root);
        assert_int_equal(ids.init_user, CAY_BOX_USER);
        assert_true(cay_ids_outside(&ids, CAY_BOX_USER, &uid));
        assert_int_equal(uid, 1000);
        assert_false(cay_ids_outside(&ids, 0, &uid));
        assert_int_equal(ids.gids[0].outside, 100);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_range_of_a_user),
                cmocka_unit_test(test_odd_ranges),
                cmocka_unit_test(test_map_covers),
                cmocka_unit_test(test_host_slots),
                cmocka_unit_test(test_slices_do_not_meet),
                cmocka_unit_test(test_pins),
                cmocka_unit_test(test_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
