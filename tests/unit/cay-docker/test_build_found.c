/* SPDX-License-Identifier: Apache-2.0 */
/* Which images are ours, and what Docker is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cay-docker/build.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ROW(id, tags, name, instance, context, created)                                                      \
        "{\"Id\":\"" id "\",\"RepoTags\":" tags ",\"Created\":" created                                      \
        ",\"Size\":5,\"Labels\":{\"cay.template\":\"" name "\",\"cay.instance\":\"" instance                 \
        "\",\"cay.context\":\"" context "\"}}"

static unsigned read_list(const char *json, const char *name, struct docker_found *ret)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        assert_int_equal(cay_json_in_parse(json, strlen(json), NULL, &doc, &err), 0);
        return docker_found_read(cay_json_in_root(doc), "me", name, ret, 8);
}

static void test_ours(void **state)
{
        static const char list[] =
                "[" ROW("sha256:" A, "[\"cay/box:" A "\"]", "box", "me", A, "10") "," /* ours */
                ROW("sha256:" B, "null", "box", "me", B, "20") ","           /* ours, its tag has moved on */
                ROW("sha256:" B, "[\"theirs:1\"]", "box", "me", A, "90") "," /* somebody built upon it */
                ROW("sha256:" B, "[\"cay/box:" B "\"]", "box", "you", B, "99") "," /* another daemon's */
                ROW("sha256:" B, "[\"cay/tool:" B "\"]", "tool", "me", B, "5") "," /* another template's */
                ROW("../" B, "null", "box", "me", B, "99") ","                     /* no id */
                ROW("sha256:" B, "null", "../box", "me", B, "99") ","              /* no name */
                                                                  "{\"Id\":\"sha256:" B
                                                                  "\",\"Labels\":null}, 7]";
        struct docker_found found[8];

        (void)state;
        assert_int_equal(read_list(list, "box", found), 2);
        assert_string_equal(docker_found_newest(found, 2, "box")->context, B);
        assert_int_equal(docker_found_newest(found, 2, "box")->size_bytes, 5);
        assert_null(docker_found_newest(found, 2, "tool"));
        assert_int_equal(read_list(list, NULL, found), 3);
        assert_int_equal(read_list("[]", NULL, found), 0);
        assert_int_equal(read_list("{}", NULL, found), 0);
}

static void test_request(void **state)
{
        struct docker_context c = { .name = "box",
                                    .hash = A,
                                    .dockerfile = "Docker file&x=1",
                                    .memory_bytes = 1 << 30,
                                    .args = "{\"a\":\"b&privileged=1\"}" };
        cay_auto_buf struct cay_buf out = { 0 };
        const char *path;

        (void)state;
        cay_buf_init(&out, 4096);
        assert_int_equal(docker_build_put_path(&c, "/data/\"&x", false, &out), 0);
        path = cay_buf_data(&out);
        assert_non_null(strstr(path, "/build?t=cay/box:" A "&"));
        assert_non_null(strstr(path, "&networkmode=none&memory=1073741824&memswap=1073741824&"));
        assert_non_null(strstr(path, "&dockerfile=Docker%20file%26x%3D1&"));
        assert_non_null(strstr(path, "&buildargs=%7B%22a%22:%22b%26privileged%3D1%22%7D&"));
        assert_non_null(strstr(path, "cay.instance%22:%22/data/%5C%22%26x%22"));
        assert_non_null(strstr(path, "nocache=0"));
        c.bridge = 1;
        cay_buf_clear(&out);
        assert_int_equal(docker_build_put_path(&c, "me", true, &out), 0);
        assert_non_null(strstr(cay_buf_data(&out), "nocache=1&networkmode=bridge"));
        cay_buf_clear(&out);
        assert_int_equal(docker_found_put_path("box", &out), 0);
        assert_string_equal(cay_buf_data(&out),
                            "/images/json?filters=%7B%22label%22:%5B%22cay.template%3Dbox%22%5D%7D");
        cay_buf_clear(&out);
        assert_int_equal(docker_image_put_path("team/box:1?x=y", &out), 0);
        assert_string_equal(cay_buf_data(&out), "/images/team/box:1%3Fx%3Dy/json");
        assert_true(docker_template_is_name("a-b", 64));
        assert_false(docker_template_is_name("a/b", 64));
        assert_false(docker_template_is_name("abc", 3)); /* does not end */
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_ours), cmocka_unit_test(test_request) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
