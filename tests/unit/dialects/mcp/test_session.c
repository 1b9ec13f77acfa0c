/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a session: what is on the wire when its streams end, and who finds it still. */
#include "unit/foundation/http/http_test.h"

#include "foundation/base/cleanup.h"
#include "dialects/mcp/mcp.h"
#include "dialects/mcp/session.h"

static struct cay_op_world world;
static struct cay_mcp *mcp;
static struct cay_mcp_session *session;
static struct cay_visitor visitor;
static int stream; /* a client that listens */
static bool stops; /* the daemon stops in the round in which the session is ended */

/* As it was after the answer had left, before anything that was deferred later. */
static struct {
        struct cay_deferred deferred;
        bool was_answered, was_open;
} look;

static void read_all(int fd, char *to, size_t size)
{
        ssize_t n = recv(fd, to, size - 1, MSG_DONTWAIT);

        to[n > 0 ? n : 0] = '\0';
}

static void on_look(struct cay_deferred *d)
{
        char text[4096];

        test_read();
        look.was_answered = test_status() == 200;
        read_all(stream, text, sizeof(text));
        look.was_open = strstr(text, "0\r\n\r\n") == NULL;
}

static void on_request(struct cay_http_server *s, struct cay_http_request *req)
{
        const struct cay_mcp_place place = { 0 };
        bool ends = req->method == CAY_HTTP_DELETE;

        (void)s;
        if (ends && !look.deferred.run) {
                look.deferred.run = on_look;
                cay_loop_defer(rig.loop, &look.deferred);
        }
        cay_mcp_handle(mcp, req, &visitor, &place);
        if (stops && ends)
                cay_mcp_stop(mcp);
}

static const struct cay_http_server_ops ops = { .on_request = on_request, .make_error = test_make_error };

static void say(const char *method)
{
        char text[512];

        snprintf(text, sizeof(text),
                 "%s /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n",
                 method, session->id);
        assert_int_equal(send(rig.fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static int setup(void **state)
{
        const struct cay_mcp_place place = { 0 };
        struct cay_error err = { 0 };

        memset(&look, 0, sizeof(look));
        stops = false;
        test_setup(state);
        cay_http_server_free(rig.server);
        rig.config.ops = &ops;
        test_start();
        world = (struct cay_op_world){ .loop = rig.loop };
        visitor = (struct cay_visitor){ .is_known = true, .caller.owner = "somebody" };
        if (cay_mcp_new(&world, &mcp, &err) < 0)
                return -1;
        session = cay_mcp_session_new(mcp, &visitor, &place, &err);
        if (!session)
                return -1;
        test_connect();
        say("GET");
        test_settle();
        assert_non_null(strstr(rig.got, "text/event-stream"));
        stream = cay_take_fd(rig.fd);
        test_connect();
        return 0;
}

static int teardown(void **state)
{
        cay_mcp_stop(mcp);
        close(stream);
        test_teardown(state);
        cay_mcp_free(cay_take(mcp));
        return 0;
}

static void assert_stream_ended(void)
{
        char text[4096];

        read_all(stream, text, sizeof(text));
        assert_non_null(strstr(text, "0\r\n\r\n"));
}

static void the_answer_leaves_before_the_streams_end(void **state)
{
        say("DELETE");
        test_settle();
        assert_true(look.was_answered);
        assert_true(look.was_open);
        assert_stream_ended();
}

static void an_ended_session_is_not_found(void **state)
{
        char id[CAY_MCP_ID + 1], text[512];

        memcpy(id, session->id, sizeof(id));
        snprintf(text, sizeof(text),
                 "DELETE /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: %s\r\n\r\n"
                 "DELETE /mcp HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: %s\r\n\r\n",
                 id, id);
        test_send(text); /* the second is there before the first has had its effect */
        assert_int_equal(test_count(rig.got, "HTTP/1.1 200 "), 1);
        assert_int_equal(test_count(rig.got, "HTTP/1.1 404 "), 1);
        assert_stream_ended();
}

static void the_daemon_stops_meanwhile(void **state)
{
        stops = true;
        say("DELETE");
        test_settle();
        assert_true(look.was_answered);
        assert_stream_ended();
}

/* Somebody's session that is in use is `session`, whose stream is open. */
static void an_owner_without_room_takes_its_own(void **state)
{
        const struct cay_visitor other = { .is_known = true, .caller.owner = "other" };
        const struct cay_mcp_place place = { 0 };
        struct cay_error err = { 0 };
        char first[CAY_MCP_ID + 1], second[CAY_MCP_ID + 1], kept[CAY_MCP_ID + 1];
        struct cay_mcp_session *s;

        memcpy(kept, session->id, sizeof(kept));
        s = cay_mcp_session_new(mcp, &other, &place, &err);
        assert_non_null(s);
        memcpy(first, s->id, sizeof(first));
        s->used_ms = 1; /* silent for longest, of all that there are */
        cay_mcp_client_made(&s->client, "box");
        s = cay_mcp_session_new(mcp, &other, &place, &err);
        assert_non_null(s);
        memcpy(second, s->id, sizeof(second));
        for (unsigned i = 2; i < CAY_MCP_SESSIONS_OWNER; i++)
                assert_non_null(cay_mcp_session_new(mcp, &other, &place, &err));
        assert_int_equal(mcp->session_count, CAY_MCP_SESSIONS_OWNER + 1);
        assert_non_null(
                cay_mcp_session_new(mcp, &visitor, &place, &err)); /* somebody's own room is untouched */
        assert_int_equal(mcp->session_count, CAY_MCP_SESSIONS_OWNER + 2);
        /* With no service to ask, destroying the box would end this test. */
        assert_non_null(cay_mcp_session_new(mcp, &other, &place, &err));
        assert_int_equal(mcp->session_count, CAY_MCP_SESSIONS_OWNER + 2);
        assert_null(cay_mcp_session_find(mcp, first, &other, &place));
        assert_non_null(cay_mcp_session_find(mcp, second, &other, &place));
        assert_non_null(cay_mcp_session_find(mcp, kept, &visitor, &place));
}

static void whoever_has_none_to_give_is_refused(void **state)
{
        const struct cay_visitor other = { .is_known = true, .caller.owner = "other" };
        const struct cay_mcp_place place = { 0 };
        struct cay_error err = { 0 };

        mcp->session_count = CAY_MCP_SESSIONS_MAX; /* as if others had them all */
        assert_null(cay_mcp_session_new(mcp, &other, &place, &err));
        assert_int_equal(err.code, CAY_UNAVAILABLE);
        assert_null(cay_mcp_session_new(mcp, &visitor, &place, &err)); /* its only one is in use */
        mcp->session_count = 1;
        assert_non_null(cay_mcp_session_new(mcp, &other, &place, &err));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(the_answer_leaves_before_the_streams_end),
                T(an_ended_session_is_not_found),
                T(the_daemon_stops_meanwhile),
                T(an_owner_without_room_takes_its_own),
                T(whoever_has_none_to_give_is_refused),
        };

        return cmocka_run_group_tests_name("mcp/session", tests, NULL, NULL);
}
