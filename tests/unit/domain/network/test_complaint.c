/* SPDX-License-Identifier: Apache-2.0 */
/* What real programs print when there is no network, and what looks like it and is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/network/complaint.h"

static bool complains(const char *text)
{
        return cay_network_complains(text, strlen(text));
}

static void programs_that_lack_a_network(void **state)
{
        assert_true(complains("curl: (6) Could not resolve host: example.org\n"));
        assert_true(
                complains("fatal: unable to access 'https://a.example/': Could not resolve host: a.example"));
        assert_true(complains("WARNING: Retrying (Retry(total=4)) after connection broken by "
                              "'NewConnectionError('<pip>: Failed to establish a new connection: [Errno -3] "
                              "Temporary failure in name resolution')': /simple/requests/"));
        assert_true(complains("npm ERR! code ENOTFOUND\nnpm ERR! syscall getaddrinfo"));
        assert_true(complains("W: Failed to fetch http://a/  Temporary failure resolving 'a'"));
        assert_true(complains("wget: unable to resolve host address 'a.example'"));
        assert_true(complains("dial tcp: lookup proxy.golang.org: no such host"));
        assert_true(complains(
                "go: example.org/x: Get \"https://proxy.golang.org/x\": dial tcp: lookup proxy.golang.org on "
                "[::1]:53: read udp [::1]:5->[::1]:53: read: connection refused"));
        assert_true(complains("ERROR: No matching distribution found for requests"));
        assert_true(complains("java.net.UnknownHostException: repo.maven.apache.org"));
        assert_true(complains(
                "Failed to open TCP connection to rubygems.org:443 (getaddrinfo: Temporary failure"));
        assert_true(complains("wget: getaddrinfo: Name does not resolve"));
        assert_true(complains("OSError: [Errno 101] Network is unreachable"));
}

static void programs_that_failed_otherwise(void **state)
{
        assert_false(complains(""));
        assert_false(complains("Traceback: ValueError: no such thing"));
        assert_false(complains("sh: 1: nope: not found"));
        assert_false(cay_network_complains("Could not resolve hos", 21));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(programs_that_lack_a_network),
                cmocka_unit_test(programs_that_failed_otherwise),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
