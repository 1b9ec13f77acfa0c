/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox's network hears: the first byte says which reader gets the rest. 'd' a DNS query, 't' the
 * first bytes of a TLS connection, 'r' a rule of a policy, 'p' a policy's whole text, 'a' an address or a
 * range, 'h' what a proxy is asked (HTTP, SOCKS greeting), 's' a request of SOCKS.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "domain/network/dns.h"
#include "domain/network/policy.h"
#include "domain/network/policy_text.h"
#include "domain/network/proxy_request.h"
#include "domain/network/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void fuzz_dns(const uint8_t *data, size_t size)
{
        uint8_t answer[CAY_DNS_MESSAGE_MAX];
        char folded[CAY_POLICY_NAME_MAX + 1];
        struct cay_address a = { 0 };
        enum cay_dns_code code;
        struct cay_dns_query q, again;
        size_t len;

        if (cay_dns_read(data, size, &q, &code) != 0)
                return;
        if (q.name[0] != '\0')
                HOLDS(cay_policy_name_fold(q.name, strlen(q.name), folded) && strcmp(q.name, folded) == 0);
        len = cay_dns_answer(&q, CAY_DNS_OK, q.type == CAY_DNS_A || q.type == CAY_DNS_AAAA ? &a : NULL,
                             answer);
        HOLDS(len <= sizeof(answer) && len >= 12 + q.question_len);
        answer[2] &= 0x7f; /* as a question it is the same one */
        answer[7] = 0;
        HOLDS(cay_dns_read(answer, len, &again, &code) == 0 && strcmp(again.name, q.name) == 0 &&
              again.type == q.type);
}

/* More bytes never change an answer that was given. */
static void fuzz_tls(const uint8_t *data, size_t size)
{
        char name[CAY_POLICY_NAME_MAX + 1] = "", other[CAY_POLICY_NAME_MAX + 1] = "";
        enum cay_tls_hello half = cay_tls_hello_read(data, size / 2, name),
                           whole = cay_tls_hello_read(data, size, other);

        if (half == CAY_TLS_HELLO_NAMED)
                HOLDS(whole == CAY_TLS_HELLO_NAMED && strcmp(name, other) == 0);
        else if (half != CAY_TLS_HELLO_MORE)
                HOLDS(whole == half);
}

/*
 * More bytes never change an answer that was given; what is passed on is asked of the same host, once, and
 * can be read again.
 */
static void fuzz_proxy(const uint8_t *data, size_t size, bool is_greeted)
{
        static char out[CAY_PROXY_HEAD_MAX + 512];
        char folded[CAY_POLICY_NAME_MAX + 1];
        struct cay_proxy_request half, whole;
        enum cay_proxy first = cay_proxy_read(data, size / 2, is_greeted, &half),
                       got = cay_proxy_read(data, size, is_greeted, &whole);
        size_t len;

        HOLDS(whole.len <= size && half.len <= size / 2);
        if (first > CAY_PROXY_BAD)
                HOLDS(got == first && half.len == whole.len && half.port == whole.port &&
                      strcmp(half.name, whole.name) == 0);
        if (got == CAY_PROXY_BAD)
                HOLDS(whole.why != NULL);
        if (got <= CAY_PROXY_GREETED)
                return;
        HOLDS(whole.port > 0 && whole.len > 0);
        HOLDS(whole.name[0] == '\0' || cay_policy_name_fold(whole.name, strlen(whole.name), folded));
        if (got != CAY_PROXY_HTTP)
                return;
        len = cay_proxy_rewrite(data, whole.len, out,
                                sizeof(out) < whole.len + 256 ? sizeof(out) : whole.len + 256);
        HOLDS(len == 0 || (len > 4 && memcmp(out + len - 4, "\r\n\r\n", 4) == 0 &&
                           memmem(out, len - 1, "\r\n\r\n", 4) == NULL));
        HOLDS(len > 0 || whole.len > CAY_PROXY_HEAD_MAX);
}

static void fuzz_rule(const char *text)
{
        struct cay_error err = { 0 };
        struct cay_policy p, again;
        char folded[CAY_POLICY_NAME_MAX + 1];

        cay_policy_init(&p, CAY_POLICY_LIST);
        cay_policy_init(&again, CAY_POLICY_LIST);
        if (cay_policy_add(&p, text, false, &err) < 0) {
                HOLDS(p.count == 0 && err.msg[0] != '\0');
        } else {
                for (unsigned i = 0; i < p.count; i++) {
                        const struct cay_policy_rule *r = &p.rules[i];

                        HOLDS(r->port_count > 0 && r->ports[0].first >= 1 &&
                              r->ports[0].first <= r->ports[0].last);
                        HOLDS(r->is_range || cay_policy_name_fold(r->name, strlen(r->name), folded));
                }
                HOLDS(cay_policy_add(&again, text, false, &err) == 0);
                HOLDS(cay_policy_wider(&again, &p) == NULL); /* it is as wide as itself */
        }
        cay_policy_done(&p);
        cay_policy_done(&again);
}

static void fuzz_policy(const uint8_t *data, size_t size)
{
        struct cay_policy_pair pair;
        struct cay_error err = { 0 };

        if (cay_policy_text_read((const char *)data, size, &pair, &err) < 0) {
                HOLDS(err.msg[0] != '\0' && pair.own.rules == NULL && pair.from_template.rules == NULL);
                return;
        }
        HOLDS(size > 0 && data[size - 1] == '\n');
        HOLDS(pair.own.count <= CAY_POLICY_RULES_MAX && pair.from_template.count <= CAY_POLICY_RULES_MAX);
        cay_policy_pair_done(&pair);
}

static void fuzz_address(const char *text)
{
        char written[CAY_ADDRESS_TEXT];
        struct cay_address_range r, again;

        if (!cay_address_range_parse(text, &r))
                return;
        HOLDS(cay_address_in(&r.first, &r) && cay_address_range_in(&r, &r));
        cay_address_why_not_public(&r.first);
        HOLDS(cay_address_range_parse(cay_address_text(&r.first, written), &again));
        HOLDS(memcmp(&r.first, &again.first, sizeof(r.first)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text;

        if (size < 1)
                return 0;
        if (data[0] == 'd') {
                fuzz_dns(data + 1, size - 1);
        } else if (data[0] == 't') {
                fuzz_tls(data + 1, size - 1);
        } else if (data[0] == 'h' || data[0] == 's') {
                fuzz_proxy(data + 1, size - 1, data[0] == 's');
        } else if (data[0] == 'p') {
                fuzz_policy(data + 1, size - 1);
        } else {
                text = strndup((const char *)data + 1, size - 1);
                HOLDS(text != NULL);
                if (data[0] == 'r')
                        fuzz_rule(text);
                else
                        fuzz_address(text);
                free(text);
        }
        return 0;
}
