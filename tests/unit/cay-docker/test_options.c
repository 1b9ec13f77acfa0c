/* SPDX-License-Identifier: Apache-2.0 */
/* Where Docker is, and what cay-docker was started with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cay-docker/options.h"

static void hosts(void **state)
{
        static const struct {
                const char *text;
                bool tls;
                enum docker_host_kind kind;
                const char *first, *port;
        } rows[] = {
                { "", false, DOCKER_HOST_UNIX, "/var/run/docker.sock", "" },
                { "unix:///run/x.sock", true, DOCKER_HOST_UNIX, "/run/x.sock", "" },
                { "tcp://docker.example", false, DOCKER_HOST_TCP, "docker.example", "2375" },
                { "tcp://docker.example/", true, DOCKER_HOST_TLS, "docker.example", "2376" },
                { "tcp://10.0.0.1:99", false, DOCKER_HOST_TCP, "10.0.0.1", "99" },
                { "tcp://[::1]:2376", true, DOCKER_HOST_TLS, "::1", "2376" },
                { "tcp://[::1]", false, DOCKER_HOST_TCP, "::1", "2375" },
        };

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct cay_error err = { 0 };
                struct docker_host h;

                assert_int_equal(docker_host_parse(rows[i].text, rows[i].tls, &h, &err), 0);
                assert_int_equal(h.kind, rows[i].kind);
                assert_string_equal(h.kind == DOCKER_HOST_UNIX ? h.path : h.host, rows[i].first);
                if (h.kind != DOCKER_HOST_UNIX)
                        assert_string_equal(h.port, rows[i].port);
        }
}

static void no_hosts(void **state)
{
        static const char *const texts[] = { "http://x",   "unix://relative", "unix://",
                                             "tcp://",     "tcp://:2375",     "tcp://x:0",
                                             "tcp://x:y",  "tcp://x:65536",   "tcp://x/v1.41/",
                                             "tcp://[::1", "tcp://[::1]x",    "ssh://x" };

        for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                struct cay_error err = { 0 };
                struct docker_host h;

                assert_int_equal(docker_host_parse(texts[i], false, &h, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
        }
}

static int read_words(char **words, struct docker_options *ret)
{
        struct cay_error err = { 0 };
        int argc = 0;

        while (words[argc])
                argc++;
        return docker_options_read(argc, words, ret, &err);
}

static void arguments(void **state)
{
        char *words[] = { "cay-docker", "--keep",     "--host", "tcp://h:1", "--image", "a/b:1", "--image",
                          "c",          "--instance", "mine",   "--root",    "/srv/w",  NULL };
        struct docker_options o;

        assert_int_equal(read_words(words, &o), 0);
        assert_true(o.keep);
        assert_string_equal(o.host.host, "h");
        assert_int_equal(o.image_count, 2);
        assert_string_equal(o.instance, "mine");
        assert_int_equal(o.root_count, 1);
        assert_string_equal(o.images[0], "a/b:1");
        assert_string_equal(o.images[1], "c");
}

static void variables(void **state)
{
        char *words[] = { "cay-docker", NULL };
        struct docker_options o, other;

        unsetenv("DOCKER_TLS_VERIFY"); /* of whoever runs this */
        setenv("DOCKER_HOST", "tcp://h:5", 1);
        setenv("DOCKER_CERT_PATH", "/certs", 1);
        setenv("CAY_DOCKER_IMAGE", "img", 1);
        assert_int_equal(read_words(words, &o), 0);
        assert_int_equal(o.host.kind, DOCKER_HOST_TCP); /* certificates alone do not ask for TLS */
        setenv("DOCKER_TLS_VERIFY", "1", 1);
        assert_int_equal(read_words(words, &other), 0);
        assert_int_equal(other.host.kind, DOCKER_HOST_TLS);
        assert_string_equal(other.cert_dir, "/certs");
        assert_string_equal(other.images[0], "img");
        unsetenv("DOCKER_HOST");
        unsetenv("DOCKER_CERT_PATH");
        unsetenv("DOCKER_TLS_VERIFY");
        unsetenv("CAY_DOCKER_IMAGE");
}

static void odd_arguments(void **state)
{
        char *rows[][4] = {
                { "cay-docker", "--host", NULL },          { "cay-docker", "--what", "x", NULL },
                { "cay-docker", "--image", "a b", NULL },  { "cay-docker", "--image", "../x", NULL },
                { "cay-docker", "--image", "/abs", NULL }, { "cay-docker", "--root", "rel", NULL },
                { "cay-docker", "--image", "a?b", NULL }
        };
        struct docker_options o;

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                assert_int_equal(read_words(rows[i], &o), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(hosts),     cmocka_unit_test(no_hosts),      cmocka_unit_test(arguments),
                cmocka_unit_test(variables), cmocka_unit_test(odd_arguments),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
