/* SPDX-License-Identifier: Apache-2.0 */
/* The image's users, with the sandbox's among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foundation/base/str.h"
#include "cay-docker/accounts.h"
#include "foundation/tar/tar.h"

static struct cay_view view(const char *text)
{
        return (struct cay_view){ text, (uint32_t)strlen(text) };
}

static void who_is_there(void **state)
{
        assert_true(docker_account_has_user(view("root:x:0:0::/:/bin/sh\nme:x:1001:1001::/:/bin/sh")));
        assert_true(docker_account_has_user(view("users:x:1001:\n")));
        assert_false(docker_account_has_user(view("")));
        assert_false(docker_account_has_user(view("\n\n:\n::\n")));
        assert_false(docker_account_has_user(view("me:1001:0:1001::/:/bin/sh\n")));
        assert_false(docker_account_has_user(view("me:x:10011:1\nme:x:100\n")));
}

static void a_line_more(void **state)
{
        static const struct {
                enum docker_account which;
                const char *before, *after;
        } rows[] = {
                { DOCKER_ACCOUNT_PASSWD, "", "sandbox:x:1001:1001:sandbox:/home/sandbox:/bin/sh\n" },
                { DOCKER_ACCOUNT_GROUP, "root:x:0:", "root:x:0:\nsandbox:x:1001:\n" },
                { DOCKER_ACCOUNT_GROUP, "sandbox:x:7:\n", "sandbox:x:7:\ncay-sandbox:x:1001:\n" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_buf struct cay_buf out = { 0 };

                cay_buf_init(&out, 4096);
                assert_int_equal(docker_account_put(rows[i].which, view(rows[i].before), &out), 0);
                assert_string_equal(cay_buf_data(&out), rows[i].after);
                assert_true(docker_account_has_user(view(cay_buf_data(&out))));
        }
}

static size_t put(uint8_t *at, enum cay_tar_type type, const char *text)
{
        const struct cay_tar_member m = { .type = type,
                                          .mode = 0644,
                                          .size = strlen(text),
                                          .name = "passwd",
                                          .link = type == CAY_TAR_SYMLINK ? "x" : "" };
        int n = cay_tar_member_format(&m, at, 4096);

        assert_true(n > 0);
        memcpy(at + n, text, strlen(text));
        return (size_t)n + strlen(text) + cay_tar_padding(strlen(text));
}

static void archives(void **state)
{
        static uint8_t tar[16384];
        struct cay_view text = { 0 };
        size_t len = put(tar, CAY_TAR_FILE, "a:x:1001:\n");

        assert_true(docker_account_read(tar, len, &text));
        assert_int_equal(text.len, 10);
        assert_memory_equal(text.ptr, "a:x:1001:\n", 10);
        for (size_t cut = 0; cut < len; cut += 97) /* cut anywhere: no more is read than there is */
                assert_false(docker_account_read(tar, cut, &text));
        memset(tar, 0, sizeof(tar));
        assert_false(docker_account_read(tar, sizeof(tar), &text));
        assert_false(docker_account_read(tar, put(tar, CAY_TAR_SYMLINK, ""), &text)); /* is not followed */
        assert_false(docker_account_read(tar, put(tar, CAY_TAR_DIRECTORY, ""), &text));
        memset(tar, 0xff, sizeof(tar));
        assert_false(docker_account_read(tar, sizeof(tar), &text));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(who_is_there), cmocka_unit_test(a_line_more),
                                            cmocka_unit_test(archives) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
