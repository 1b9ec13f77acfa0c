/* SPDX-License-Identifier: Apache-2.0 */
/* What the keeper says of engines, and what the front makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "cay-front/front_engines.h"
#include "cay/keeper/hand_over.h"
#include "foundation/sys/unix_socket.h"

static struct cay_front_engines engines;

static int read_words(const char *setting, char *const *words)
{
        struct cay_error err = { 0 };

        engines = (struct cay_front_engines){ 0 };
        return cay_front_engines_read(&engines, setting, words, &err);
}

#define WORDS(...) ((char *const[]){ __VA_ARGS__, NULL })
#define W(text) ((char *)(uintptr_t)(text))

static void as_the_keeper_says(void **state)
{
        struct cay_service_env env = { 0 };

        /* In any order: everything goes by name. */
        assert_int_equal(read_words("auto", WORDS(W("engine"), W("docker"), W("runs"), W("it is named"),
                                                  W("link"), W("docker"), W("9"), W("engine"), W("native"),
                                                  W("no"), W("no namespaces"), W("engine"), W("process"),
                                                  W("no"), W("it is off"), W("crashers"), W("10"))),
                         0);
        assert_true(engines.is_auto && !engines.rows[CAY_ENGINE_native].runs &&
                    engines.rows[CAY_ENGINE_docker].runs);
        assert_int_equal(engines.links[CAY_HELPER_docker], 9);
        assert_int_equal(engines.links[CAY_HELPER_warden], -1);
        assert_string_equal(cay_front_engines_why_not(&engines, "native"), "no namespaces");
        assert_string_equal(cay_front_engines_why_not(&engines, "process"), "it is off");
        assert_null(cay_front_engines_why_not(&engines, "podman"));
        cay_front_engines_fill(&engines, &env);
        assert_int_equal(env.engine_count, CAY_ENGINE_COUNT);
        assert_string_equal(env.engines[1].name, "docker");
        assert_string_equal(env.engines[1].note, "it is named");
        assert_string_equal(cay_front_engines_default(&engines), ""); /* nothing is open yet */
}

static void one_that_runs_has_a_link(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(read_words("native", WORDS(W("engine"), W("native"), W("runs"), W("x"))), 0);
        assert_int_equal(cay_front_engines_open(&engines, NULL, &err), -1);
        assert_non_null(strstr(err.msg, "reach the warden"));
}

/* A link by the helper's name, and nothing else over the keeper's socket. */
static void only_links_that_can_be_used_are_taken(void **state)
{
        static const char *const helpers[] = { "docker", "podman", "0123456789abcdef" };
        char *const none[] = { NULL };
        int socks[2];

        assert_int_equal(read_words("native", none), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        assert_int_equal(cay_front_engines_hear(&engines, socks[1]), 0);
        for (unsigned i = 0; i < CAY_COUNT(helpers); i++) {
                struct cay_hand_link say = { .magic = CAY_HAND_MAGIC, .size = sizeof(say) };

                memcpy(say.helper, helpers[i], strnlen(helpers[i], sizeof(say.helper)));
                assert_int_equal(sys_send_fds(socks[0], &say, sizeof(say), &socks[0], 1, 0), sizeof(say));
                assert_int_equal(cay_front_engines_hear(&engines, socks[1]), -1); /* no such engine is open */
        }
        close(socks[0]);
        close(socks[1]);
}

static void nonsense_is_refused(void **state)
{
        assert_int_equal(read_words("auto", WORDS(W("native"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("engine"), W("native"), W("runs"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("engine"), W("imaginary"), W("runs"), W("x"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("link"), W("remote"), W("9"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("link"), W("docker"), W("2"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("link"), W("docker"), W("x"))), -1);
        assert_int_equal(read_words("auto", WORDS(W("crashers"))), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(as_the_keeper_says),
                cmocka_unit_test(one_that_runs_has_a_link),
                cmocka_unit_test(only_links_that_can_be_used_are_taken),
                cmocka_unit_test(nonsense_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
