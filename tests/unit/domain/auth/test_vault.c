/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/vault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cay_vault *v;
static struct cay_error err;
static char name[CAY_VAULT_RECORD_NAME];
static struct cay_buf record;

static struct cay_vault *make_vault(const char *key)
{
        struct cay_secret s = { 0 };

        assert_int_equal(cay_secret_set(&s, key, &err), 0);
        return cay_vault_new(&s);
}

static int set_up(void **state)
{
        err = (struct cay_error){ 0 };
        v = make_vault("0123456789abcdef");
        cay_buf_init(&record, 8192);
        return 0;
}

static int tear_down(void **state)
{
        cay_vault_free(v);
        cay_buf_done(&record);
        return 0;
}

static void seal(const char *owner, const char *secret, const char *value)
{
        cay_buf_clear(&record);
        assert_int_equal(cay_vault_seal(v,
                                        &(struct cay_vault_item){ owner, secret, "api.example",
                                                                  "Authorization", 77 },
                                        value, name, &record, &err),
                         0);
}

static void values_come_back(void **state)
{
        char value[CAY_VAULT_VALUE_MAX + 1];
        struct cay_vault_item item;

        seal("anna", "KEY", "the value");
        assert_string_equal(name, "secret.KEY.anna");
        assert_null(strstr(cay_buf_data(&record), "the value"));
        assert_int_equal(cay_vault_add(v, name, cay_buf_data(&record), &err), 0);
        assert_true(cay_vault_find(v, "anna", "KEY", &item, NULL));
        assert_string_equal(item.host, "api.example");
        assert_string_equal(item.header, "Authorization");
        assert_int_equal(item.created_wall_ms, 77);
        assert_int_equal(cay_vault_open(v, "anna", "KEY", value, &err), 0);
        assert_string_equal(value, "the value");
        /* Others have none of that name. */
        assert_int_equal(cay_vault_open(v, "anna.x", "KEY", value, &err), -1);
        assert_false(cay_vault_find(v, "ann", "KEY", &item, NULL));
        cay_vault_drop(v, "anna", "KEY");
        assert_false(cay_vault_find(v, "anna", "KEY", &item, NULL));
}

static void records_that_were_changed_do_not_open(void **state)
{
        char value[CAY_VAULT_VALUE_MAX + 1], *at;
        struct cay_vault *other = make_vault("another key than that");

        seal("anna", "KEY", "the value");
        /* for another host, under another name, for another owner */
        at = strstr(cay_buf_data(&record), "api.example");
        at[0] = 'e';
        assert_int_equal(cay_vault_add(v, name, cay_buf_data(&record), &err), 0);
        assert_int_equal(cay_vault_open(v, "anna", "KEY", value, &err), -1);
        assert_string_equal(value, "");
        at[0] = 'a';
        assert_int_equal(cay_vault_add(v, "secret.OTHER.anna", cay_buf_data(&record), &err), 0);
        assert_int_equal(cay_vault_open(v, "anna", "OTHER", value, &err), -1);
        assert_int_equal(cay_vault_add(v, "secret.KEY.berta", cay_buf_data(&record), &err), 0);
        assert_int_equal(cay_vault_open(v, "berta", "KEY", value, &err), -1);
        /* with another key */
        assert_int_equal(cay_vault_add(other, name, cay_buf_data(&record), &err), 0);
        assert_int_equal(cay_vault_open(other, "anna", "KEY", value, &err), -1);
        assert_null(strstr(err.msg, "the value"));
        cay_vault_free(other);
}

static void nonsense_is_refused(void **state)
{
        static const char *const records[] = { "", "a", "a b 1", "a b x AAAA", "a b 1 AAAA", "a b 1 !" };

        for (unsigned i = 0; i < sizeof(records) / sizeof(records[0]); i++)
                assert_int_equal(cay_vault_add(v, "secret.KEY.anna", records[i], &err), -1);
        seal("anna", "KEY", "v");
        assert_int_equal(cay_vault_add(v, "secret.key.anna", cay_buf_data(&record), &err), -1);
        assert_int_equal(cay_vault_add(v, "secret.KEY", cay_buf_data(&record), &err), -1);
        assert_int_equal(cay_vault_add(v, "other.KEY.anna", cay_buf_data(&record), &err), -1);
        assert_false(cay_vault_name_is_valid("1A"));
        assert_false(cay_vault_name_is_valid("a"));
        assert_false(cay_vault_name_is_valid(""));
        assert_true(cay_vault_name_is_valid("_A1"));
}

static void owners_have_a_limit(void **state)
{
        char secret[16];

        for (unsigned i = 0; i < CAY_VAULT_OWNER_MAX; i++) {
                snprintf(secret, sizeof(secret), "K%u", i);
                seal("anna", secret, "v");
                assert_int_equal(cay_vault_add(v, name, cay_buf_data(&record), &err), 0);
        }
        seal("anna", "K3", "again"); /* in the place of another */
        seal("berta", "K", "v");
        cay_buf_clear(&record);
        assert_int_equal(cay_vault_seal(v, &(struct cay_vault_item){ "anna", "MORE", "h.example", "A", 1 },
                                        "v", name, &record, &err),
                         -1);
        assert_int_equal(err.code, CAY_LIMIT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(values_come_back, set_up, tear_down),
                cmocka_unit_test_setup_teardown(records_that_were_changed_do_not_open, set_up, tear_down),
                cmocka_unit_test_setup_teardown(nonsense_is_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(owners_have_a_limit, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
