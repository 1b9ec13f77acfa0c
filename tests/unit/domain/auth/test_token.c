/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens: what is made passes, whatever is changed does not, time ends them. security.md 2.4, rows 1 and 2.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/base64.h"
#include "domain/auth/digest.h"
#include "domain/auth/token.h"

enum { NOW = 1700000000 };

static struct cay_secret secret;

static int setup(void **state)
{
        struct cay_error err;

        return cay_secret_set(&secret, "a secret of good length, 32 bytes.", &err);
}

static void make(enum cay_token_use use, uint64_t expires_s, char text[CAY_TOKEN_MAX + 1])
{
        struct cay_token t = { .caller = { .owner = "alice", .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC },
                               .expires_s = expires_s };
        struct cay_error err;

        assert_int_equal(cay_token_make(&secret, use, &t, text, &err), 0);
}

static enum cay_token_verdict check(const char *text)
{
        struct cay_token t;

        return cay_token_check(&secret, CAY_TOKEN_BEARER, text, strlen(text), NOW, &t);
}

/* A token of any payload with a right MAC. */
static enum cay_token_verdict check_payload(const char *payload)
{
        char text[CAY_TOKEN_MAX + 1] = "cay1.";
        uint8_t mac[CAY_DIGEST_SIZE];
        size_t len = 5;

        len += (size_t)cay_base64url_encode(payload, strlen(payload), text + len, sizeof(text) - len);
        assert_int_equal(cay_digest_hmac(&secret, text, len, mac), 0);
        text[len++] = '.';
        cay_base64url_encode(mac, sizeof(mac), text + len, sizeof(text) - len);
        return check(text);
}

static void a_made_token_passes(void **state)
{
        char text[CAY_TOKEN_MAX + 1];
        struct cay_token t;

        make(CAY_TOKEN_BEARER, NOW + 1800, text);
        assert_memory_equal(text, "cay1.", 5);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_BEARER, text, strlen(text), NOW, &t),
                         CAY_TOKEN_OK);
        assert_string_equal(t.caller.owner, "alice");
        assert_int_equal(t.caller.scopes, CAY_SCOPE_READ | CAY_SCOPE_EXEC);
        assert_int_equal(t.expires_s, NOW + 1800);
        assert_int_equal(strlen(t.caller.id), 12);
}

static void it_ends_at_its_second(void **state)
{
        char text[CAY_TOKEN_MAX + 1];
        struct cay_token t;

        make(CAY_TOKEN_BEARER, NOW, text);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_BEARER, text, strlen(text), NOW - 1, &t),
                         CAY_TOKEN_OK);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_BEARER, text, strlen(text), NOW, &t),
                         CAY_TOKEN_EXPIRED);
        make(CAY_TOKEN_BEARER, NOW + CAY_TOKEN_AHEAD_S, text);
        assert_int_equal(check(text), CAY_TOKEN_OK);
        make(CAY_TOKEN_BEARER, NOW + CAY_TOKEN_AHEAD_S + 1, text);
        assert_int_equal(check(text), CAY_TOKEN_TOO_FAR);
}

static void every_changed_character_counts(void **state)
{
        char text[CAY_TOKEN_MAX + 1];
        size_t len;

        make(CAY_TOKEN_BEARER, NOW + 60, text);
        len = strlen(text);
        for (size_t i = 0; i < len; i++) {
                char was = text[i];

                for (const char *c = "AB.-_=+ \n\x80"; *c; c++) {
                        text[i] = *c;
                        assert_true(*c == was || check(text) != CAY_TOKEN_OK);
                }
                text[i] = was;
        }
        for (size_t cut = 0; cut < len; cut++) {
                struct cay_token t;

                assert_int_not_equal(cay_token_check(&secret, CAY_TOKEN_BEARER, text, cut, NOW, &t),
                                     CAY_TOKEN_OK);
        }
        assert_int_equal(check(text), CAY_TOKEN_OK);
}

static void other_forms_are_refused(void **state)
{
        char text[2 * CAY_TOKEN_MAX + 3], *huge;
        struct cay_token t;
        size_t len;

        make(CAY_TOKEN_BEARER, NOW + 60, text);
        len = strlen(text);
        memcpy(text + len, "=", 2);
        assert_int_not_equal(check(text), CAY_TOKEN_OK); /* padded */
        text[len] = ' ';
        memcpy(text + len + 1, text, len); /* twice */
        text[2 * len + 1] = '\0';
        assert_int_not_equal(check(text), CAY_TOKEN_OK);
        assert_int_equal(check(""), CAY_TOKEN_MALFORMED);
        assert_int_equal(check("cay1.."), CAY_TOKEN_MALFORMED);
        assert_int_equal(check("cay2.e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), CAY_TOKEN_MALFORMED);
        assert_int_equal(check("cay1.e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), CAY_TOKEN_FORGED);
        /* A JSON web token without an algorithm. */
        assert_int_equal(check("eyJhbGciOiJub25lIn0.eyJvIjoiYWxpY2UifQ."), CAY_TOKEN_MALFORMED);
        huge = malloc(60000);
        memset(huge, 'A', 60000);
        memcpy(huge, "cay1.", 5);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_BEARER, huge, 60000, NOW, &t),
                         CAY_TOKEN_MALFORMED);
        free(huge);
}

static void another_secret_or_use_does_not_pass(void **state)
{
        struct cay_secret other = { 0 };
        char text[CAY_TOKEN_MAX + 1];
        struct cay_error err;
        struct cay_token t;

        assert_int_equal(cay_secret_set(&other, "another secret, as long as that", &err), 0);
        make(CAY_TOKEN_BEARER, NOW + 60, text);
        assert_int_equal(cay_token_check(&other, CAY_TOKEN_BEARER, text, strlen(text), NOW, &t),
                         CAY_TOKEN_FORGED);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_SESSION, text, strlen(text), NOW, &t),
                         CAY_TOKEN_MALFORMED);
        make(CAY_TOKEN_SESSION, NOW + 60, text);
        assert_memory_equal(text, "cays1.", 6);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_SESSION, text, strlen(text), NOW, &t),
                         CAY_TOKEN_OK);
        assert_int_equal(check(text), CAY_TOKEN_MALFORMED);
}

static void a_signed_payload_is_still_read_strictly(void **state)
{
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":1700000060}"), CAY_TOKEN_OK);
        assert_int_equal(check_payload(
                                 " {\"e\": 1700000060, \"s\": \"read exec\", \"o\": \"a\", \"i\": \"x\"} "),
                         CAY_TOKEN_OK);
        assert_int_equal(check_payload("{}"), CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("[]"), CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":1700000060,\"o\":\"b\"}"),
                         CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":1700000060,\"x\":1}"),
                         CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"root\",\"e\":1700000060}"), CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a b\",\"s\":\"read\",\"e\":1700000060}"),
                         CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"\",\"s\":\"read\",\"e\":1700000060}"), CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":1700000060.5}"),
                         CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":\"1700000060\"}"),
                         CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":-1}"), CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":9223372036854775807}"),
                         CAY_TOKEN_TOO_FAR);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":1700000060,\"i\":\"a\\nb\"}"),
                         CAY_TOKEN_MALFORMED);
        assert_int_equal(check_payload("{\"o\":\"a\",\"s\":\"read\",\"e\":1}"), CAY_TOKEN_EXPIRED);
}

static void bad_owners_and_scopes_make_nothing(void **state)
{
        struct cay_token t = { .caller = { .owner = "a b", .scopes = CAY_SCOPE_READ } };
        char text[CAY_TOKEN_MAX + 1];
        struct cay_error err;

        assert_int_equal(cay_token_make(&secret, CAY_TOKEN_BEARER, &t, text, &err), -1);
        t = (struct cay_token){ .caller = { .owner = "a", .scopes = CAY_SCOPE_EXEC } };
        assert_int_equal(cay_token_make(&secret, CAY_TOKEN_BEARER, &t, text, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
}

static void the_longest_fits(void **state)
{
        struct cay_token t = { .caller = { .scopes = CAY_SCOPE_ALL }, .expires_s = NOW + 1 };
        char text[CAY_TOKEN_MAX + 1];
        struct cay_error err;

        memset(t.caller.owner, 'o', CAY_OWNER_MAX);
        memset(t.caller.id, 'i', CAY_OWNER_MAX);
        assert_int_equal(cay_token_make(&secret, CAY_TOKEN_SESSION, &t, text, &err), 0);
        assert_int_equal(cay_token_check(&secret, CAY_TOKEN_SESSION, text, strlen(text), NOW, &t),
                         CAY_TOKEN_OK);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_made_token_passes),
                cmocka_unit_test(it_ends_at_its_second),
                cmocka_unit_test(every_changed_character_counts),
                cmocka_unit_test(other_forms_are_refused),
                cmocka_unit_test(another_secret_or_use_does_not_pass),
                cmocka_unit_test(a_signed_payload_is_still_read_strictly),
                cmocka_unit_test(bad_owners_and_scopes_make_nothing),
                cmocka_unit_test(the_longest_fits),
        };

        return cmocka_run_group_tests(tests, setup, NULL);
}
