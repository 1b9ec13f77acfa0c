/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between keys, each with its remedy. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/settings/config.h"

static void check(const char *text, const char *part)
{
        struct cay_config c;
        struct cay_error err = { 0 };
        int r;

        assert_int_equal(cay_config_init(&c, &err), 0);
        if (cay_config_read_text(&c, "f", text, strlen(text), &err) < 0)
                fail_msg("%s", err.msg);
        r = cay_config_check(&c, &err);
        if (!part && r < 0)
                fail_msg("'%s': %s", text, err.msg);
        if (part) {
                assert_int_equal(r, -1);
                assert_int_equal(err.code, CAY_INVALID);
                if (!strstr(err.msg, part))
                        fail_msg("'%s' is not in '%s'", part, err.msg);
        }
        cay_config_done(&c);
}

static void off_loopback_needs_trusted_hosts(void **state)
{
        check("host = 0.0.0.0", "f:1: listening on 0.0.0.0 makes the daemon reachable for others: set "
                                "trusted_hosts (SANDBOX_TRUSTED_HOSTS)");
        check("host = ::", "trusted_hosts");
        check("host = example.com", "trusted_hosts");
        check("host = 127.0.0.1.example.com", "trusted_hosts");
        check("host = 0.0.0.0\ntrusted_hosts = sandbox.example.com", NULL);
        check("host = 127.0.0.2", NULL);
        check("host = ::1", NULL);
        check("host = ::ffff:127.0.0.1", NULL);
        check("host = localhost", NULL);
        check("trusted_hosts = *", "name the hosts");
        check("trusted_hosts = http://a", "is not a host name");
        check("trusted_hosts = a/b", "is not a host name");
        check("trusted_hosts = .a.example, [::1], b:80", NULL);
}

static void tls_needs_both(void **state)
{
        check("tls_cert = /c", "f:1: tls_cert is set, so tls_key must be set too");
        check("tls_key = /c", "f:1: tls_key is set, so tls_cert must be set too");
        check("tls_key = /c\ntls_cert = /d", NULL);
}

static void origins_are_narrow(void **state)
{
        check("allow_origins = *", "'*' is never allowed");
        check("allow_origins = https://a/", "is not an origin");
        check("allow_origins = null", "is not an origin");
        check("allow_origins = file://x", "is not an origin");
        check("allow_origins = https://a, http://localhost:3000", NULL);
        check("allow_origin_regex = https://a", "must start with ^");
        check("allow_origin_regex = ^https://a", "must start with ^");
        check("allow_origin_regex = ^https?://([a-z0-9-]+[.])*railway[.]app$", NULL);
}

static void domains_are_plain(void **state)
{
        check("proxy_domains = localhost, box.example.org", NULL);
        check("proxy_domains =", NULL);
        check("proxy_domains = .example.org", "is not a domain");
        check("proxy_domains = *", "is not a domain");
        check("proxy_domains = example.org:8888", "is not a domain");
        check("proxy_domains = Example.org", "is not a domain");
}

static void the_rest(void **state)
{
        check("workspace_roots = /", "can't be '/'");
        check("workspace_roots = /srv, ///", "can't be '/'");
        check("sandbox_mode = 0", "can't be switched off");
        check("data = ", "can't be empty");
        check("max_sandboxes_owner = 11", "more than max_sandboxes");
        check("", NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(off_loopback_needs_trusted_hosts),
                cmocka_unit_test(tls_needs_both),
                cmocka_unit_test(origins_are_narrow),
                cmocka_unit_test(domains_are_plain),
                cmocka_unit_test(the_rest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
