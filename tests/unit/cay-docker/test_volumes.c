/* SPDX-License-Identifier: Apache-2.0 */
/* Docker's list of volumes: ours alone, of one owner or of all, in order, page by page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cay-docker/volumes.h"

static const struct docker_options options = { .instance = "unit" };

static struct {
        struct cay_json_in *doc;
        struct cay_buf json;
} t;

static int set_up(void **state)
{
        memset(&t, 0, sizeof(t));
        cay_buf_init(&t.json, 1u << 20);
        cay_buf_puts(&t.json, "{\"Volumes\":[null,{},7");
        return 0;
}

static int tear_down(void **state)
{
        cay_json_in_free(t.doc);
        cay_buf_done(&t.json);
        return 0;
}

static void put_as(const char *docker_name, const char *owner, const char *name, const char *instance,
                   const char *more)
{
        cay_buf_printf(
                &t.json,
                ",{\"Name\":\"%s\",\"Driver\":\"local\",\"CreatedAt\":\"2026-11-18T14:03:23Z\",\"Labels\":{"
                "\"cay.volume\":\"%s\",\"cay.owner\":\"%s\",\"cay.instance\":\"%s\"}%s}",
                docker_name, name, owner, instance, more);
}

static void put(const char *owner, const char *name)
{
        char own[DOCKER_VOLUME_NAME];

        docker_volume_name(&options, owner, name, own);
        put_as(own, owner, name, "unit", "");
}

static const struct cay_json_value *parse(void)
{
        struct cay_error err = { 0 };

        cay_buf_puts(&t.json, "]}");
        assert_int_equal(cay_json_in_parse(cay_buf_data(&t.json), t.json.len, NULL, &t.doc, &err), 0);
        return cay_json_in_root(t.doc);
}

static void ours_alone(void **state)
{
        const struct docker_volume_row first = { 0 };
        struct docker_volume_page page;
        const struct cay_json_value *all;
        char own[DOCKER_VOLUME_NAME];

        put("bob", "data");
        put("alice", "data");
        put("alice", "cache");
        docker_volume_name(&options, "alice", "x", own);
        put_as("something", "alice", "x", "unit", "");                           /* another name */
        put_as(own, "alice", "x", "other", "");                                  /* another instance */
        put_as(own, "bob", "x", "unit", "");                                     /* another owner */
        put_as(own, "alice", "x", "unit", ",\"Options\":{\"device\":\"/etc\"}"); /* lies elsewhere */
        put_as(own, "", "x", "unit", "");
        put_as(own, "alice", "..", "unit", "");
        all = parse();
        docker_volumes_read(all, &options, "", &first, &page);
        assert_int_equal(page.count, 3);
        assert_int_equal(page.total, 3);
        assert_string_equal(page.rows[0].name, "cache");
        assert_string_equal(page.rows[1].owner, "alice");
        assert_string_equal(page.rows[2].owner, "bob");
        assert_int_equal(page.rows[0].created_s, 1795010603);
        docker_volumes_read(all, &options, "bob", &first, &page);
        assert_int_equal(page.count, 1);
        docker_volumes_read(all, &options, "bo", &first, &page);
        assert_int_equal(page.count, 0);
}

static void page_by_page(void **state)
{
        struct docker_volume_row after = { 0 };
        struct docker_volume_page page;
        const struct cay_json_value *all;
        char name[16], last[16] = "";
        unsigned seen = 0;

        for (unsigned i = 0; i < 100; i++) {
                snprintf(name, sizeof(name), "v%02u", (i * 37) % 100);
                put("alice", name);
        }
        all = parse();
        do {
                docker_volumes_read(all, &options, "alice", &after, &page);
                assert_int_equal(page.total, 100 - seen);
                for (unsigned i = 0; i < page.count; i++, seen++) {
                        snprintf(name, sizeof(name), "v%02u", seen);
                        assert_string_equal(page.rows[i].name, name);
                        assert_true(strcmp(last, name) < 0);
                        memcpy(last, name, sizeof(last));
                        after = page.rows[i];
                }
        } while (page.total > page.count);
        assert_int_equal(seen, 100);
}

static void times(void **state)
{
        const struct docker_volume_row first = { 0 };
        struct docker_volume_page page;
        char own[DOCKER_VOLUME_NAME];

        docker_volume_name(&options, "a", "a", own);
        cay_buf_printf(&t.json,
                       ",{\"Name\":\"%s\",\"Driver\":\"local\",\"CreatedAt\":\"2026-11-18T15:03:23.5+01:00\","
                       "\"Labels\":{\"cay.volume\":\"a\",\"cay.owner\":\"a\",\"cay.instance\":\"unit\"}}",
                       own);
        docker_volume_name(&options, "a", "b", own);
        cay_buf_printf(&t.json,
                       ",{\"Name\":\"%s\",\"Driver\":\"local\",\"CreatedAt\":\"soon\","
                       "\"Labels\":{\"cay.volume\":\"b\",\"cay.owner\":\"a\",\"cay.instance\":\"unit\"}}",
                       own);
        docker_volumes_read(parse(), &options, "a", &first, &page);
        assert_int_equal(page.count, 2);
        assert_int_equal(page.rows[0].created_s, 1795010603);
        assert_int_equal(page.rows[1].created_s, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
                TEST(ours_alone),
                TEST(page_by_page),
                TEST(times),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
