/* SPDX-License-Identifier: Apache-2.0 */
/* API keys: form, checksum, revocation, the table's limit. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/auth/api_key.h"
#include "domain/auth/digest.h"

static void made_keys_work_until_revoked(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        const struct cay_store_key *record;
        char text[CAY_API_KEY_MAX + 1];
        struct cay_caller c;
        struct cay_error err;
        uint8_t hash[CAY_DIGEST_SIZE];

        assert_int_equal(cay_api_keys_make(keys, CAY_API_KEY_CAY, "alice", CAY_SCOPE_READ | CAY_SCOPE_EXEC,
                                           "laptop", 77, text, &record, &err),
                         0);
        assert_int_equal(strlen(text), CAY_API_KEY_LEN);
        assert_memory_equal(text, "cayk_", 5);
        assert_true(cay_api_key_is_one(text, strlen(text)));
        cay_digest_sha256(text, strlen(text), hash);
        assert_memory_equal(hash, record->hash, sizeof(hash));
        assert_int_equal(record->created_wall_ms, 77);
        assert_string_equal(record->label, "laptop");
        assert_true(cay_api_keys_check(keys, text, strlen(text), 88, &c));
        assert_string_equal(c.owner, "alice");
        assert_string_equal(c.id, record->id);
        assert_int_equal(c.scopes, CAY_SCOPE_READ | CAY_SCOPE_EXEC);
        assert_int_equal(record->used_wall_ms, 88);
        assert_null(cay_api_keys_revoke(keys, "k0000000000000000", 99));
        assert_true(cay_api_keys_is_good(keys, record->id));
        assert_false(cay_api_keys_is_good(keys, "k0000000000000000"));
        assert_int_equal(cay_api_keys_revoked(keys), 0);
        assert_ptr_equal(cay_api_keys_revoke(keys, record->id, 99), record);
        assert_false(cay_api_keys_is_good(keys, record->id));
        assert_int_equal(record->revoked_wall_ms, 99);
        assert_false(cay_api_keys_check(keys, text, strlen(text), 100, &c));
        assert_ptr_equal(cay_api_keys_revoke(keys, record->id, 111), record);
        assert_int_equal(record->revoked_wall_ms, 99); /* the first time counts */
        assert_int_equal(cay_api_keys_revoked(keys), 1);
}

static void a_typing_mistake_is_seen(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        const struct cay_store_key *record;
        char text[CAY_API_KEY_MAX + 1];
        struct cay_caller c;
        struct cay_error err;

        assert_int_equal(
                cay_api_keys_make(keys, CAY_API_KEY_CAY, "a", CAY_SCOPE_READ, "", 1, text, &record, &err), 0);
        for (size_t i = 0; i < CAY_API_KEY_LEN; i++) {
                char was = text[i];

                text[i] = was == 'q' ? 'r' : 'q';
                assert_false(cay_api_key_is_one(text, CAY_API_KEY_LEN));
                assert_false(cay_api_keys_check(keys, text, CAY_API_KEY_LEN, 1, &c));
                text[i] = was;
        }
        assert_false(cay_api_key_is_one(text, CAY_API_KEY_LEN - 1));
        assert_true(cay_api_keys_check(keys, text, CAY_API_KEY_LEN, 1, &c));
}

static void records_of_the_store_are_copied(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *one = cay_api_keys_new(), *two = cay_api_keys_new();
        const struct cay_store_key *record;
        char text[CAY_API_KEY_MAX + 1];
        struct cay_caller c;
        struct cay_error err;

        assert_int_equal(cay_api_keys_make(one, CAY_API_KEY_CAY, "a", CAY_SCOPE_READ, NULL, 1, text, &record,
                                           &err),
                         0);
        assert_int_equal(cay_api_keys_add(two, record, &err), 0);
        assert_int_equal(cay_api_keys_add(two, record, &err), -1);
        assert_int_equal(err.code, CAY_EXISTS);
        cay_api_keys_drop(one, record->id);
        assert_false(cay_api_keys_check(one, text, CAY_API_KEY_LEN, 1, &c));
        assert_true(cay_api_keys_check(two, text, CAY_API_KEY_LEN, 1, &c));
        cay_api_keys_drop(one, "absent");
}

static void bad_owners_and_scopes_make_nothing(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        const struct cay_store_key *record;
        char text[CAY_API_KEY_MAX + 1], label[80];
        struct cay_error err;

        memset(label, 'x', 79);
        label[79] = '\0';
        assert_int_equal(cay_api_keys_make(keys, CAY_API_KEY_CAY, "a b", CAY_SCOPE_READ, "", 1, text, &record,
                                           &err),
                         -1);
        assert_int_equal(cay_api_keys_make(keys, CAY_API_KEY_CAY, "a", 0, "", 1, text, &record, &err), -1);
        assert_int_equal(cay_api_keys_make(keys, CAY_API_KEY_CAY, "a", CAY_SCOPE_READ, label, 1, text,
                                           &record, &err),
                         -1);
        assert_int_equal(err.code, CAY_INVALID);
}

static bool count(void *ctx, const struct cay_store_key *record)
{
        ++*(unsigned *)ctx;
        return true;
}

static void the_table_is_bounded_and_finds_each(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        struct cay_error err;
        unsigned n = 0;

        for (unsigned i = 0; i <= CAY_STORE_KEYS_MAX; i++) {
                char id[24];
                struct cay_store_key record = { .id = id, .owner = "a", .scopes = 1 };
                int r;

                snprintf(id, sizeof(id), "k%u", i);
                cay_digest_sha256(id, strlen(id), record.hash);
                r = cay_api_keys_add(keys, &record, &err);
                assert_int_equal(r, i < CAY_STORE_KEYS_MAX ? 0 : -1);
        }
        assert_int_equal(err.code, CAY_LIMIT);
        cay_api_keys_each(keys, count, &n);
        assert_int_equal(n, CAY_STORE_KEYS_MAX);
        assert_non_null(cay_api_keys_revoke(keys, "k9999", 1));
}

static void one_owner_has_its_share(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        const struct cay_store_key *record = NULL;
        char text[CAY_API_KEY_MAX + 1];
        struct cay_error err = { 0 };

        for (unsigned i = 0; i < CAY_API_KEYS_OWNER; i++)
                assert_int_equal(cay_api_keys_make(keys, CAY_API_KEY_CAY, "a", CAY_SCOPE_READ, "", 1, text,
                                                   &record, &err),
                                 0);
        assert_int_equal(cay_api_keys_make(keys, CAY_API_KEY_CAY, "a", CAY_SCOPE_READ, "", 1, text, &record,
                                           &err),
                         -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(
                cay_api_keys_make(keys, CAY_API_KEY_CAY, "b", CAY_SCOPE_READ, "", 1, text, &record, &err), 0);
        assert_non_null(cay_api_keys_revoke(keys, record->id, 1));
        assert_int_equal(
                cay_api_keys_make(keys, CAY_API_KEY_CAY, "b", CAY_SCOPE_READ, "", 1, text, &record, &err), 0);
}

static void use_is_written_back_now_and_then(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        const struct cay_store_key *record;
        char text[CAY_API_KEY_MAX + 1];
        struct cay_caller c;
        struct cay_error err;

        assert_int_equal(
                cay_api_keys_make(keys, CAY_API_KEY_CAY, "a", CAY_SCOPE_READ, "", 1, text, &record, &err), 0);
        assert_null(cay_api_keys_next_used(keys, 60000));
        cay_api_keys_check(keys, text, CAY_API_KEY_LEN, 100000, &c);
        assert_ptr_equal(cay_api_keys_next_used(keys, 60000), record);
        assert_null(cay_api_keys_next_used(keys, 60000));
        cay_api_keys_check(keys, text, CAY_API_KEY_LEN, 159999, &c);
        assert_null(cay_api_keys_next_used(keys, 60000));
        cay_api_keys_check(keys, text, CAY_API_KEY_LEN, 160000, &c);
        assert_ptr_equal(cay_api_keys_next_used(keys, 60000), record);
}

/* Clients of E2B take nothing else than e2b_ and hexadecimal digits. */
static void test_e2b_form(void **state)
{
        cay_auto(cay_api_keys_freep) struct cay_api_keys *keys = cay_api_keys_new();
        char text[CAY_API_KEY_MAX + 1];
        const struct cay_store_key *record;
        struct cay_caller c;
        struct cay_error err = { 0 };

        assert_int_equal(
                cay_api_keys_make(keys, CAY_API_KEY_E2B, "a", CAY_SCOPE_READ, "", 1, text, &record, &err), 0);
        assert_int_equal(strlen(text), 44);
        assert_int_equal(strncmp(text, "e2b_", 4), 0);
        assert_int_equal(strspn(text + 4, "0123456789abcdef"), 40);
        assert_true(cay_api_keys_check(keys, text, strlen(text), 1, &c));
        assert_string_equal(c.owner, "a");
        for (size_t i = 0; i < CAY_API_KEY_E2B_LEN; i++) {
                char was = text[i];

                text[i] = was == '7' ? '8' : '7';
                assert_false(cay_api_key_is_one(text, CAY_API_KEY_E2B_LEN));
                text[i] = was;
        }
        assert_false(cay_api_key_is_one(text, CAY_API_KEY_E2B_LEN - 1));
        assert_int_equal(cay_api_key_form_find("e2b"), CAY_API_KEY_E2B);
        assert_int_equal(cay_api_key_form_find("other"), -1);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(made_keys_work_until_revoked),
                cmocka_unit_test(a_typing_mistake_is_seen),
                cmocka_unit_test(records_of_the_store_are_copied),
                cmocka_unit_test(bad_owners_and_scopes_make_nothing),
                cmocka_unit_test(the_table_is_bounded_and_finds_each),
                cmocka_unit_test(one_owner_has_its_share),
                cmocka_unit_test(use_is_written_back_now_and_then),
                cmocka_unit_test(test_e2b_form),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
