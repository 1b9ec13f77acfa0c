/* SPDX-License-Identifier: Apache-2.0 */
/* Docker's addresses and answers, and what is neither. */
#include "doctor_test.h"

#include "foundation/base/cleanup.h"
#include "cay/doctor/docker_text.h"

static const struct {
        const char *text;
        int r;
        const char *path, *host, *port;
} addresses[] = {
        { NULL, 0, "/var/run/docker.sock", "", "" },
        { "", 0, "/var/run/docker.sock", "", "" },
        { "unix:///run/user/1000/docker.sock", 0, "/run/user/1000/docker.sock", "", "" },
        { "unix://", -EINVAL, NULL, NULL, NULL },
        { "unix:///"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaa",
          -EINVAL, NULL, NULL, NULL },
        { "tcp://127.0.0.1:2375", 0, "", "127.0.0.1", "2375" },
        { "tcp://docker:2376/path", 0, "", "docker", "2376" },
        { "tcp://docker", 0, "", "docker", "2375" },
        { "docker:1", 0, "", "docker", "1" },
        { "tcp://[::1]:2375", 0, "", "::1", "2375" },
        { "tcp://[::1]", 0, "", "::1", "2375" },
        { "tcp://[::1]2375", -EINVAL, NULL, NULL, NULL },
        { "tcp://[::1", -EINVAL, NULL, NULL, NULL },
        { "tcp://[]:1", -EINVAL, NULL, NULL, NULL },
        { "tcp://", -EINVAL, NULL, NULL, NULL },
        { "tcp://:2375", -EINVAL, NULL, NULL, NULL },
        { "tcp://host:", -EINVAL, NULL, NULL, NULL },
        { "tcp://host:0", -EINVAL, NULL, NULL, NULL },
        { "tcp://host:65536", -EINVAL, NULL, NULL, NULL },
        { "tcp://host:12x", -EINVAL, NULL, NULL, NULL },
        { "tcp://host:123456789", -EINVAL, NULL, NULL, NULL },
        { "ssh://me@host", -EINVAL, NULL, NULL, NULL },
        { "npipe:////./pipe/docker_engine", -EINVAL, NULL, NULL, NULL },
};

static void test_addresses(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(addresses); i++) {
                struct cay_docker_address a;
                int r = cay_docker_address_parse(addresses[i].text, &a);

                if (r != addresses[i].r)
                        fail_msg("%s: %d", addresses[i].text, r);
                if (r < 0)
                        continue;
                assert_string_equal(a.path, addresses[i].path);
                assert_string_equal(a.host, addresses[i].host);
                assert_string_equal(a.port, addresses[i].port);
                assert_int_equal(a.is_unix, a.path[0] != '\0');
        }
}

static const struct {
        const char *bytes;
        int status;
        const char *body;
} answers[] = {
        { "HTTP/1.0 200 OK\r\nApi-Version: 1.41\r\n\r\nOK", 200, "OK" },
        { "HTTP/1.1 500 \r\n\r\n", 500, "" },
        { "HTTP/1.1 404\r\n\r\nno", 404, "no" },
        { "HTTP/1.1 200 OK\r\nA: b\r\n", 0, NULL },
        { "HTTP/2 200 OK\r\n\r\n", 0, NULL },
        { "HTTP/1.1 2x0 OK\r\n\r\n", 0, NULL },
        { "HTTP/1.1 099 OK\r\n\r\n", 0, NULL },
        { "HTTP/1.1 999 OK\r\n\r\n", 0, NULL },
        { "HTTP/1.1 2000 K\r\n\r\n", 0, NULL },
        { "HTTP/1.1200 K\r\n\r\n", 0, NULL },
        { "SSH-2.0-OpenSSH_9.2\r\n\r\n", 0, NULL },
        { "\r\n\r\n", 0, NULL },
        { "", 0, NULL },
};

static void test_answers(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(answers); i++) {
                const char *body = NULL;
                size_t len = 0;
                int status = cay_docker_answer_parse(answers[i].bytes, strlen(answers[i].bytes), &body, &len);

                if (status != answers[i].status)
                        fail_msg("'%s': %d", answers[i].bytes, status);
                if (status != 0) {
                        assert_int_equal(len, strlen(answers[i].body));
                        assert_memory_equal(body, answers[i].body, len);
                }
        }
}

static const struct {
        const char *json, *value; /* value NULL: none */
} members[] = {
        { "{\"Platform\":{\"Name\":\"\",\"Version\":\"no\"},\"Components\":[{\"Version\":\"no\"}],"
          "\"Version\":\"20.10.24+dfsg1\",\"ApiVersion\":\"1.41\"}",
          "20.10.24+dfsg1" },
        { " { \"Version\" : \"1\" } ", "1" },
        { "{\"a\":\"Version\",\"Version\":\"2\"}", "2" },
        { "{\"a\":\"}{\\\"\",\"Version\":\"3\"}", "3" },
        { "{\"Version\":3}", NULL },
        { "{\"Version\":\"\"}", NULL },
        { "{\"Version\":\"a\\u001b[31m\"}", NULL },
        { "{\"Version\":\"a\033[31m\"}", NULL },
        { "{\"Version\":\"0123456789012345678901234567890123456789\"}", NULL },
        { "{\"Version\":\"un", NULL },
        { "{\"Version\":\"un\\", NULL },
        { "{\"Version\":", NULL },
        { "{\"Version\"", NULL },
        { "{\"Versio", NULL },
        { "[\"Version\",\"1\"]", NULL },
        { "\"Version\":\"1\"", NULL },
        { "{\"x\":{\"Version\":\"1\"}}", NULL },
        { "", NULL },
};

static void test_members(void **state)
{
        for (unsigned i = 0; i < CAY_COUNT(members); i++) {
                /* Exactly as many bytes as there are: what reads one more is found out by the sanitizers. */
                size_t len = strlen(members[i].json);
                char *json = malloc(len > 0 ? len : 1), value[40] = "";
                bool found;

                memcpy(json, members[i].json, len);
                found = cay_docker_member(json, len, "Version", value, sizeof(value));
                free(json);
                if (found != (members[i].value != NULL) || (found && strcmp(value, members[i].value) != 0))
                        fail_msg("%s: %d '%s'", members[i].json, found, value);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_addresses), cmocka_unit_test(test_answers),
                                            cmocka_unit_test(test_members) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
