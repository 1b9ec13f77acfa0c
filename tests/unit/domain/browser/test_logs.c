/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/logs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cay_browser_logs logs;

static void hear(const char *method, const char *params)
{
        char *text = NULL;
        struct cay_cdp_message m;

        assert_true(asprintf(&text, "{\"method\":\"%s\",\"params\":%s}", method, params) > 0);
        assert_int_equal(cay_cdp_message_read(text, strlen(text), &m), 0);
        cay_browser_logs_hear(&logs, &m, "TAB", 1000);
        free(text);
}

static int done(void **state)
{
        (void)state;
        cay_browser_logs_done(&logs);
        return 0;
}

static void test_request(void **state)
{
        const struct cay_request *r;

        (void)state;
        hear("Network.requestWillBeSent",
             "{\"requestId\":\"1.2\",\"loaderId\":\"L\",\"timestamp\":10.5,\"type\":\"Fetch\",\"request\":{"
             "\"url\":\"http://a/"
             "\\u00e9\",\"method\":\"POST\",\"headers\":{\"A\":\"b\"},\"postData\":\"sent\"}}");
        hear("Network.responseReceived",
             "{\"requestId\":\"1.2\",\"response\":{\"status\":201,\"mimeType\":\"text/"
             "plain\",\"headers\":{\"C\":\"d\"},\"fromDiskCache\":true}}");
        hear("Network.loadingFinished",
             "{\"requestId\":\"1.2\",\"timestamp\":10.75,\"encodedDataLength\":123.0}");
        hear("Network.loadingFinished", "{\"requestId\":\"nobody\",\"timestamp\":11}");
        r = cay_browser_logs_find(&logs, "1.2");
        assert_non_null(r);
        assert_string_equal(r->url, "http://a/\xc3\xa9");
        assert_string_equal(r->method, "POST");
        assert_string_equal(r->sent, "{\"A\":\"b\"}");
        assert_string_equal(r->post, "\"sent\"");
        assert_int_equal(r->status, 201);
        assert_int_equal(r->bytes, 123);
        assert_int_equal(r->duration_ms, 250);
        assert_int_equal(r->state, CAY_REQUEST_DONE);
        assert_true(r->from_cache);
        assert_ptr_equal(cay_browser_logs_number(&logs, r->number), r);
}

static void test_redirect_and_failure(void **state)
{
        static const char first[] =
                "{\"requestId\":\"R\",\"timestamp\":1,\"request\":{\"url\":\"http://a/\"}}";

        (void)state;
        hear("Network.requestWillBeSent", first);
        hear("Network.requestWillBeSent", first); /* by a second session */
        assert_int_equal(logs.request_count, 1);
        hear("Network.requestWillBeSent", "{\"requestId\":\"R\",\"timestamp\":2,\"request\":{\"url\":\"http:/"
                                          "/b/\"},\"redirectResponse\":{\"status\":302}}");
        hear("Network.loadingFailed", "{\"requestId\":\"R\",\"timestamp\":3,\"errorText\":\"net::ERR_X\"}");
        assert_int_equal(logs.request_count, 2);
        assert_int_equal(logs.requests[0].status, 302);
        assert_int_equal(logs.requests[0].state, CAY_REQUEST_DONE);
        assert_string_equal(logs.requests[1].error, "net::ERR_X");
        assert_int_equal(logs.requests[1].state, CAY_REQUEST_FAILED);
}

static void test_full(void **state)
{
        char text[128];

        (void)state;
        for (unsigned i = 0; i < CAY_REQUESTS_MAX + 5; i++) {
                snprintf(text, sizeof(text), "{\"requestId\":\"%u\",\"request\":{\"url\":\"u\"}}", i);
                hear("Network.requestWillBeSent", text);
                hear("Runtime.consoleAPICalled", "{\"type\":\"log\",\"args\":[]}");
        }
        assert_int_equal(logs.request_count, CAY_REQUESTS_MAX);
        assert_int_equal(logs.requests[0].number, 6);
        assert_int_equal(logs.printed_count, CAY_PRINTED_MAX);
        assert_null(cay_browser_logs_number(&logs, 5));
}

static void ask(unsigned i, size_t size)
{
        char *text = NULL, *long_one = malloc(size + 1);

        assert_non_null(long_one);
        memset(long_one, 'x', size);
        long_one[size] = '\0';
        assert_true(asprintf(&text,
                             "{\"requestId\":\"%u\",\"request\":{\"url\":\"u\",\"headers\":{\"A\":\"%s\"}}}",
                             i, long_one) > 0);
        hear("Network.requestWillBeSent", text);
        free(text);
        free(long_one);
}

/* Whatever pages send, what is kept of it has a maximum: the newest requests have their headers. */
static void test_much(void **state)
{
        (void)state;
        for (unsigned i = 0; i < 2 * CAY_REQUESTS_MAX; i++) {
                ask(i, CAY_REQUEST_HEADERS_MAX - 100);
                assert_true(logs.bytes <= CAY_BROWSER_LOGS_BYTES);
        }
        assert_true(logs.bytes > CAY_BROWSER_LOGS_BYTES / 2);
        assert_non_null(logs.requests[logs.request_count - 1].sent);
        for (unsigned i = 0; i < CAY_REQUESTS_MAX; i++)
                hear("Network.requestWillBeSent", "{\"requestId\":\"other\",\"request\":{\"url\":\"u\"},"
                                                  "\"redirectResponse\":{\"status\":302}}");
        assert_true(logs.bytes < 1u << 20);
        assert_non_null(logs.requests[0].url);
}

/* It is its owner's memory, and all of it is given back. */
static void test_budget(void **state)
{
        struct cay_budgets all = { 0 };

        (void)state;
        cay_budgets_init(&all, 4u << 20);
        logs.budget = &all.all;
        for (unsigned i = 0; i < CAY_REQUESTS_MAX; i++)
                ask(i, CAY_REQUEST_HEADERS_MAX - 100);
        hear("Runtime.consoleAPICalled", "{\"type\":\"log\",\"args\":[{\"value\":\"a\"}]}");
        assert_true(all.all.used > 3u << 20);
        assert_true(all.all.used <= 4u << 20);
        assert_int_equal(logs.request_count, CAY_REQUESTS_MAX);
        cay_browser_logs_shrink(&logs);
        assert_true(all.all.used < 2u << 20);
        cay_browser_logs_done(&logs);
        assert_int_equal(all.all.used, 0);
        logs.budget = NULL;
}

static void test_console(void **state)
{
        (void)state;
        hear("Runtime.consoleAPICalled", "{\"type\":\"warning\",\"args\":[{\"value\":\"a\\nb\"},{\"type\":"
                                         "\"object\",\"description\":\"Object\"},{\"value\":7},{"
                                         "\"type\":\"undefined\"}],\"stackTrace\":{\"callFrames\":[{\"url\":"
                                         "\"http://a/x.js\",\"lineNumber\":4}]}}");
        hear("Runtime.exceptionThrown", "{\"exceptionDetails\":{\"url\":\"u\",\"lineNumber\":0,\"exception\":"
                                        "{\"description\":\"Error: no\"}}}");
        hear("Log.entryAdded", "{\"entry\":{\"level\":\"error\",\"text\":\"404\"}}");
        assert_int_equal(logs.printed_count, 3);
        assert_string_equal(logs.printed[0].text, "a\nb Object 7 undefined");
        assert_string_equal(logs.printed[0].url, "http://a/x.js");
        assert_int_equal(logs.printed[0].line, 5);
        assert_string_equal(logs.printed[1].level, "exception");
        assert_string_equal(logs.printed[1].text, "Error: no");
        assert_string_equal(logs.printed[2].text, "404");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(test_request, done),
                cmocka_unit_test_teardown(test_redirect_and_failure, done),
                cmocka_unit_test_teardown(test_full, done),
                cmocka_unit_test_teardown(test_much, done),
                cmocka_unit_test_teardown(test_budget, done),
                cmocka_unit_test_teardown(test_console, done),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
