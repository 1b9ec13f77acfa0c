/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/machines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct cay_machines *all;
static struct cay_error err;

static int set_up(void **state)
{
        err = (struct cay_error){ 0 };
        all = cay_machines_new();
        return 0;
}

static int tear_down(void **state)
{
        cay_machines_free(all);
        return 0;
}

static struct cay_machine add(const char *owner, const char *name)
{
        struct cay_machine m;

        assert_int_equal(cay_machine_make(all, owner, name, 1000, &m, &err), 0);
        assert_int_equal(cay_machines_put(all, &m, &err), 0);
        return m;
}

static void records_come_back(void **state)
{
        struct cay_machine m = add("anna", "laptop"), got;
        char name[CAY_MACHINE_RECORD_NAME];
        struct cay_buf text;

        cay_buf_init(&text, CAY_MACHINE_RECORD_MAX);
        cay_machine_record_name(&m, name);
        assert_string_equal(name, "machine.laptop.anna");
        assert_int_equal(cay_machine_record(&m, &text), 0);
        assert_int_equal(cay_machine_read(name, cay_buf_data(&text), &got, &err), 0);
        assert_string_equal(got.code, m.code);
        assert_int_equal(got.paired_wall_ms, 0);

        m.paired_wall_ms = 2000;
        m.code[0] = '\0';
        memset(m.key, 0x77, sizeof(m.key));
        snprintf(m.about, sizeof(m.about), "Linux 6.1, cay 0.1");
        cay_buf_clear(&text);
        assert_int_equal(cay_machine_record(&m, &text), 0);
        assert_int_equal(cay_machine_read(name, cay_buf_data(&text), &got, &err), 0);
        assert_memory_equal(got.key, m.key, sizeof(m.key));
        assert_string_equal(got.about, m.about);
        assert_string_equal(got.code, "");
        assert_string_equal(got.owner, "anna");
        snprintf(m.url, sizeof(m.url), "wss://a.example:8443/x");
        for (unsigned i = 0; i < 2; i++) {
                m.may_private = i;
                cay_buf_clear(&text);
                assert_int_equal(cay_machine_record(&m, &text), 0);
                assert_int_equal(cay_machine_read(name, cay_buf_data(&text), &got, &err), 0);
                assert_string_equal(got.url, m.url);
                assert_int_equal(got.may_private, i);
                assert_string_equal(got.about, m.about);
        }
        m.is_off = true; /* before a URL, or alone */
        for (unsigned i = 0; i < 2; i++) {
                cay_buf_clear(&text);
                assert_int_equal(cay_machine_record(&m, &text), 0);
                assert_int_equal(cay_machine_read(name, cay_buf_data(&text), &got, &err), 0);
                assert_true(got.is_off);
                assert_string_equal(got.url, m.url);
                assert_memory_equal(got.key, m.key, sizeof(m.key));
                m.url[0] = '\0';
        }
        snprintf(m.url, sizeof(m.url), "wss://a.example:8443/x");
        memset(m.url + 22, 'x', sizeof(m.url) - 23); /* the longest record there can be */
        memset(m.about, 'x', sizeof(m.about) - 1);
        cay_buf_clear(&text);
        assert_int_equal(cay_machine_record(&m, &text), 0);
        assert_int_equal(cay_machine_read(name, cay_buf_data(&text), &got, &err), 0);
        assert_int_equal(strlen(got.url), CAY_MACHINE_URL_MAX);
        cay_buf_done(&text);
        assert_int_equal(cay_machine_read(name, "wss://h some 1 0 - - 3 ", &got, &err), -1);
        assert_int_equal(cay_machine_read(name, "w any 1 0 - - 3 ", &got, &err), -1);
        assert_int_equal(cay_machine_read(name, "wss://h any", &got, &err), -1);

        assert_int_equal(cay_machine_read(name, "off ", &got, &err), -1);
        assert_int_equal(cay_machine_read("machine.laptop", "1 2 - - 3 ", &got, &err), -1);
        assert_int_equal(cay_machine_read(name, "1 2 - - 3 ", &got, &err), -1); /* paired, and no key */
        assert_int_equal(cay_machine_read(name, "words", &got, &err), -1);
}

static void names_are_an_owners_own(void **state)
{
        struct cay_machine m;

        add("anna", "laptop");
        assert_non_null(cay_machines_only(all, "anna"));
        assert_null(cay_machines_only(all, "bert"));
        add("anna", "desk");
        add("bert", "laptop");
        assert_null(cay_machines_only(all, "anna"));
        assert_int_equal(cay_machine_make(all, "anna", "laptop", 1, &m, &err), -1);
        assert_int_equal(err.code, CAY_EXISTS);
        assert_int_equal(cay_machine_make(all, "anna", "no way", 1, &m, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        cay_machines_drop(all, "anna", "laptop");
        assert_null(cay_machines_find(all, "anna", "laptop"));
        assert_non_null(cay_machines_find(all, "bert", "laptop"));
        for (unsigned i = 0; i < CAY_MACHINES_OWNER_MAX - 1; i++) {
                char name[16];

                snprintf(name, sizeof(name), "m%u", i);
                add("anna", name);
        }
        assert_int_equal(cay_machine_make(all, "anna", "more", 1, &m, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
}

static void a_code_is_good_for_a_while_and_a_few_tries(void **state)
{
        struct cay_machine m = add("anna", "laptop"), *found;
        char id[CAY_PROOF_CODE_ID + 1] = "";

        memcpy(id, m.code, CAY_PROOF_CODE_ID);
        found = cay_machines_find_code(all, id, 1000);
        assert_non_null(found);
        assert_null(cay_machines_find_code(all, id, 1000 + CAY_MACHINE_CODE_MS));
        assert_null(cay_machines_find_code(all, "", 1000));
        assert_null(cay_machines_find_key(all, found->key)); /* not before it is paired */
        found->tries = CAY_MACHINE_TRIES;
        assert_null(cay_machines_find_code(all, id, 1000));
        found->paired_wall_ms = 1;
        assert_ptr_equal(cay_machines_find_key(all, found->key), found);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        const struct CMUnitTest tests[] = {
                T(records_come_back),
                T(names_are_an_owners_own),
                T(a_code_is_good_for_a_while_and_a_few_tries),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
