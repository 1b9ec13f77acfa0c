/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: words before names before rests, 404 apart from 405, and rows that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/http/router.h"

static const struct cay_route routes[] = {
        { .row = "GET /" },
        { .row = "GET /api/sandboxes" },
        { .row = "POST /api/sandboxes" },
        { .row = "POST /api/sandboxes/cleanup" },
        { .row = "GET /api/sandboxes/{id}" },
        { .row = "DELETE /api/sandboxes/{id}" },
        { .row = "GET /api/sandboxes/{box}/execs/{exec}" },
        { .row = "* /api/sandboxes/{id}/ports/{port}/*rest" },
        { .row = "GET /ui/*file" },
        { .row = "GET /ui/index.html" },
        { .row = "OPTIONS /*all" },
};

static struct cay_router *router;
static struct cay_route_match match;
static char text[512], room[512];

static int setup(void **state)
{
        struct cay_error err;

        router = cay_router_new(routes, CAY_COUNT(routes), &err);
        return router ? 0 : -1;
}

static int teardown(void **state)
{
        cay_router_free(router);
        return 0;
}

/* The row that answers, or "". */
static const char *find(enum cay_http_method method, const char *path)
{
        struct cay_http_fault fault;
        struct cay_http_target t;

        snprintf(text, sizeof(text), "%s", path);
        assert_int_equal(cay_http_target_split(&t, text, room, &fault), 0);
        return cay_router_find(router, method, &t, &match) ? match.route->row : "";
}

static void finds_rows(void **state)
{
        assert_string_equal(find(CAY_HTTP_GET, "/"), "GET /");
        assert_string_equal(find(CAY_HTTP_GET, "/api/sandboxes"), "GET /api/sandboxes");
        assert_string_equal(find(CAY_HTTP_GET, "/api/sandboxes?x=y"), "GET /api/sandboxes");
        assert_string_equal(find(CAY_HTTP_POST, "/api/sandboxes"), "POST /api/sandboxes");
        assert_string_equal(find(CAY_HTTP_HEAD, "/api/sandboxes"), "GET /api/sandboxes");
        assert_string_equal(find(CAY_HTTP_GET, "/api/sandboxes/b1"), "GET /api/sandboxes/{id}");
        assert_string_equal(cay_route_value(&match, "id"), "b1");
        assert_null(cay_route_value(&match, "i"));
        assert_null(cay_route_value(&match, "port"));
        assert_string_equal(find(CAY_HTTP_GET, "/api/sandboxes/b1/execs/e%31"),
                            "GET /api/sandboxes/{box}/execs/{exec}");
        assert_string_equal(cay_route_value(&match, "box"), "b1");
        assert_string_equal(cay_route_value(&match, "exec"), "e1");
}

static void words_win_and_names_stand_in(void **state)
{
        assert_string_equal(find(CAY_HTTP_POST, "/api/sandboxes/cleanup"), "POST /api/sandboxes/cleanup");
        /* The word has no GET: the name has. */
        assert_string_equal(find(CAY_HTTP_GET, "/api/sandboxes/cleanup"), "GET /api/sandboxes/{id}");
        assert_string_equal(cay_route_value(&match, "id"), "cleanup");
        assert_string_equal(find(CAY_HTTP_GET, "/ui/index.html"), "GET /ui/index.html");
        assert_string_equal(find(CAY_HTTP_GET, "/ui/index.htm"), "GET /ui/*file");
}

static void rests_are_as_sent(void **state)
{
        find(CAY_HTTP_PATCH, "/api/sandboxes/b/ports/80/a%2Fb/c/?q=1");
        assert_string_equal(cay_route_value(&match, "rest"), "a%2Fb/c/");
        assert_string_equal(cay_route_value(&match, "port"), "80");
        find(CAY_HTTP_GET, "/api/sandboxes/b/ports/80/");
        assert_string_equal(cay_route_value(&match, "rest"), "");
        assert_string_equal(find(CAY_HTTP_GET, "/api/sandboxes/b/ports/80"), "");
        assert_string_equal(find(CAY_HTTP_GET, "/ui/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z"),
                            "GET /ui/*file");
        assert_string_equal(cay_route_value(&match, "file"),
                            "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z");
}

static void tells_method_from_path(void **state)
{
        char allow[CAY_ROUTE_ALLOW_MAX];

        assert_string_equal(find(CAY_HTTP_PUT, "/api/sandboxes/b1"), "");
        cay_route_allow(match.allowed, allow);
        assert_string_equal(allow, "GET, HEAD, DELETE, OPTIONS");
        assert_string_equal(find(CAY_HTTP_PUT, "/nowhere"), "");
        cay_route_allow(match.allowed & ~(1u << CAY_HTTP_OPTIONS), allow);
        assert_string_equal(allow, "");
        cay_route_allow(~0u, allow);
        assert_string_equal(allow, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
}

static void names_are_one_real_segment(void **state)
{
        static const char *const none[] = {
                "/api/sandboxes/",
                "/api/sandboxes/a%2Fb",
                "/api//sandboxes",
                "/api/sandboxes/b1/",
                "/api/sandbox",
                "/api/sandboxesx",
                "/api",
                "/api/sandboxes/b1/execs",
                "/api/sandboxes/b1/execs/e/x",
                "/API/sandboxes",
        };

        for (size_t i = 0; i < CAY_COUNT(none); i++) {
                if (*find(CAY_HTTP_GET, none[i]))
                        fail_msg("found: %s", none[i]);
        }
}

static void a_cut_path_matches_rests_only(void **state)
{
        static const struct cay_route deep[] = {
                { .row = "GET /a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a" },
        };
        cay_auto(cay_router_freep) struct cay_router *r = NULL;
        struct cay_error err;
        struct cay_http_fault fault;
        struct cay_http_target t;

        r = cay_router_new(deep, 1, &err);
        assert_non_null(r);
        snprintf(text, sizeof(text), "%s", deep[0].row + 4);
        assert_int_equal(cay_http_target_split(&t, text, room, &fault), 0);
        assert_true(cay_router_find(r, CAY_HTTP_GET, &t, &match));
        snprintf(text, sizeof(text), "%s/b", deep[0].row + 4);
        assert_int_equal(cay_http_target_split(&t, text, room, &fault), 0);
        assert_false(cay_router_find(r, CAY_HTTP_GET, &t, &match));
}

static void refuses_bad_rows(void **state)
{
        static const char *const bad[] = {
                "GET",        "GET api",
                "FETCH /",    "/api",
                "GET /{}",    "GET /{id",
                "GET /a{id}", "GET /*rest/more",
                "GET /a*",    "GET /{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}",
                "GET /a%20b",
        };

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                const struct cay_route row = { .row = bad[i] };
                struct cay_error err = { 0 };

                if (cay_router_new(&row, 1, &err))
                        fail_msg("taken: %s", bad[i]);
                assert_int_equal(err.code, CAY_INVALID);
        }
}

static void refuses_the_same_row_twice(void **state)
{
        const struct cay_route rows[] = { { .row = "GET /a/{x}" }, { .row = "GET /a/{y}" } };
        struct cay_error err = { 0 };

        assert_null(cay_router_new(rows, 2, &err));
        assert_int_equal(err.code, CAY_EXISTS);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(finds_rows),
                T(words_win_and_names_stand_in),
                T(rests_are_as_sent),
                T(tells_method_from_path),
                T(names_are_one_real_segment),
                T(a_cut_path_matches_rests_only),
                T(refuses_bad_rows),
                T(refuses_the_same_row_twice),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
