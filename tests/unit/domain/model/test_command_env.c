/* SPDX-License-Identifier: Apache-2.0 */
/* What commands find in their environment. */
#include "domain/model/command_env.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *find(const char **env, const char *name)
{
        const char *found = NULL;
        size_t len = strlen(name);

        for (unsigned i = 0; env[i] != NULL; i++) {
                if (strncmp(env[i], name, len) != 0 || env[i][len] != '=')
                        continue;
                assert_null(found); /* never twice */
                found = env[i] + len + 1;
        }
        return found;
}

static void check(const struct cay_command_env *in, const char *name, const char *value)
{
        cay_auto_arena struct cay_arena mem = { 0 };
        const char **env;

        cay_arena_init(&mem, 10000);
        env = cay_command_env_make(in, &mem);
        assert_non_null(env);
        if (value != NULL)
                assert_string_equal(find(env, name), value);
        else
                assert_null(find(env, name));
}

static void defaults(void **state)
{
        struct cay_user user = { .uid = CAY_USER_DEFAULT, .gid = CAY_USER_DEFAULT, .name = "sandbox" };
        struct cay_command_env in = { .user = &user };

        check(&in, "HOME", "/home/sandbox");
        check(&in, "USER", "sandbox");
        check(&in, "LANG", "C.UTF-8");
        check(&in, "TERM", NULL);
        in.box_env = true; /* an image has a PATH and a LANG of its own */
        check(&in, "PATH", NULL);
        check(&in, "LANG", NULL);
        check(&in, "USER", "sandbox");
        in.box_env = false;
        in.tty = true;
        check(&in, "TERM", "xterm-256color");
        in.term = "vt100";
        check(&in, "TERM", "vt100");
        in.read_only = true;
        check(&in, "HOME", "/tmp");
        in.read_only = false;
        in.template_kind = CAY_TEMPLATE_ROOTFS;
        check(&in, "HOME", "/tmp");
        in.template_kind = CAY_TEMPLATE_HOST;
        user = (struct cay_user){ .uid = 0, .name = "root" };
        check(&in, "HOME", "/root");
        user = (struct cay_user){ .uid = 1234 };
        check(&in, "HOME", "/tmp");
        check(&in, "USER", NULL);
        assert_string_equal(cay_command_workspace(&in), "/workspace");
        in.box_workspace = "/tmp/x";
        assert_string_equal(cay_command_workspace(&in), "/tmp/x");
        check(&in, "HOME", "/tmp/x");
        in.has_workspace = true;
        check(&in, "HOME", "/tmp");
}

static void names_a_proxy(void **state)
{
        const struct cay_field_pair pair = { .name = "all_proxy", .value = "mine" };
        const struct cay_field_map own = { .pairs = (void *)(uintptr_t)&pair, .count = 1 };
        struct cay_user user = { .uid = CAY_USER_DEFAULT, .gid = CAY_USER_DEFAULT, .name = "sandbox" };
        struct cay_command_env in = { .user = &user, .proxy = "127.0.0.1:1", .layers = { &own, NULL } };

        check(&in, "http_proxy", "http://127.0.0.1:1");
        check(&in, "HTTPS_PROXY", "http://127.0.0.1:1");
        check(&in, "ALL_PROXY", "socks5h://127.0.0.1:1");
        check(&in, "all_proxy", "mine");
        check(&in, "no_proxy", "localhost,127.0.0.1,::1");
        in.proxy = NULL;
        check(&in, "http_proxy", NULL);
        check(&in, "no_proxy", NULL);
}

static void layers(void **state)
{
        struct cay_user user = { .uid = CAY_USER_DEFAULT, .name = "sandbox" };
        struct cay_field_pair low[] = { { "A", "low" }, { "B", "low" }, { "HOME", "/low" } },
                              high[] = { { "A", "high" }, { "PATH", "" } };
        struct cay_field_map first = { low, 3 }, second = { high, 2 };
        struct cay_command_env in = { .user = &user, .layers = { &first, &second } };
        cay_auto_arena struct cay_arena tiny = { 0 };

        check(&in, "A", "high");
        check(&in, "B", "low");
        check(&in, "HOME", "/low");
        check(&in, "PATH", "");
        in.texts = (const char *const[]){ "A=text", "USER=", "LANGUAGE=x", NULL };
        check(&in, "A", "text");
        check(&in, "B", "low");
        check(&in, "USER", "");
        check(&in, "LANG", "C.UTF-8");
        check(&in, "LANGUAGE", "x");
        in.texts = NULL;
        in.user_name = "me";
        check(&in, "USER", "me");
        in.user_name = "";
        check(&in, "USER", NULL);
        in.layers[1] = NULL;
        check(&in, "A", "low");
        cay_arena_init(&tiny, 40);
        assert_null(cay_command_env_make(&in, &tiny));
}

static void names(void **state)
{
        assert_true(cay_command_env_is_name("A"));
        assert_true(cay_command_env_is_name("a b"));
        assert_false(cay_command_env_is_name(""));
        assert_false(cay_command_env_is_name("A=B"));
        assert_false(cay_command_env_is_name("="));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(defaults), cmocka_unit_test(names_a_proxy),
                                            cmocka_unit_test(layers), cmocka_unit_test(names) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
