/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network port over a link, with a cay-net that is this test: greeting, adding, the log, its end and the
 * next one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engines/network/network_client.h"
#include "engines/network/network_entry.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"
#include "foundation/sys/net_divert.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"
#include "links/net/net_message.h"

static struct {
        struct cay_loop *loop;
        struct cay_network_broker *n;
        int peer; /* cay-net's end */
        unsigned ready, done;
        struct cay_job job;
        int fds[SYS_FDS_MAX];
        unsigned fd_count;
} t;

static const struct cay_limits limits = { .network_up = 1000,
                                          .network_down = 2000,
                                          .network_total = 3000,
                                          .network_connections = 4,
                                          .network_connects = 5,
                                          .network_queries = 6 };

static void has_limits(const struct net_limits *l)
{
        assert_int_equal(l->up_bytes_s, 1000);
        assert_int_equal(l->down_bytes_s, 2000);
        assert_int_equal(l->total_bytes, 3000);
        assert_int_equal(l->connections, 4);
        assert_int_equal(l->connections_s, 5);
        assert_int_equal(l->dns_s, 6);
}

static void on_ready(void *ctx)
{
        t.ready++;
}

static void on_done(struct cay_job *job)
{
        t.done++;
}

static struct cay_job *new_job(void)
{
        t.job = (struct cay_job){ 0 };
        cay_job_init(&t.job, on_done);
        t.done = 0;
        return &t.job;
}

static struct net_request hear(uint32_t type)
{
        struct net_request req = { 0 };

        assert_int_equal(sys_recv_fds(t.peer, &req, sizeof(req), t.fds, &t.fd_count, 0), sizeof(req));
        assert_int_equal(req.type, type);
        assert_int_equal(req.magic, NET_WIRE_MAGIC);
        return req;
}

static void rounds(void)
{
        for (int i = 0; i < 4; i++)
                cay_loop_round(t.loop, 0);
}

static void say(const struct net_request *req, struct net_answer a)
{
        a.magic = NET_WIRE_MAGIC;
        a.size = sizeof(a);
        a.type = req->type;
        a.seq = req->seq;
        assert_int_equal(send(t.peer, &a, sizeof(a), 0), sizeof(a));
        rounds();
}

static void connect_net(void)
{
        struct cay_error err = { 0 };
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        t.peer = ends[1];
        assert_int_equal(cay_network_client_open_take(t.n, ends[0], &err), 0);
}

/* has: a sandbox that it has; NULL: none. */
static void greet(const char *has)
{
        struct net_request req = hear(NET_hello);
        struct net_answer a = { .list.next = 1 };

        assert_int_equal(req.hello.version, NET_WIRE_VERSION);
        say(&req, (struct net_answer){ .hello.version = NET_WIRE_VERSION });
        if (has) {
                req = hear(NET_box_list);
                cay_str_copy(a.id, sizeof(a.id), has);
                say(&req, a);
        }
        req = hear(NET_box_list);
        assert_int_equal(req.list.from, has ? 1 : 0);
        say(&req, (struct net_answer){ 0 });
}

static int set_up(void **state)
{
        struct cay_error err = { 0 };

        memset(&t, 0, sizeof(t));
        t.loop = cay_loop_new();
        assert_int_equal(cay_network_client_new(t.loop, &t.n, &err), 0);
        t.n->ops->on_ready(t.n, on_ready, NULL);
        t.peer = -1;
        return 0;
}

static int tear_down(void **state)
{
        cay_network_client_free(t.n);
        rounds();
        if (t.peer >= 0)
                close(t.peer);
        cay_loop_free(t.loop);
        return 0;
}

/* A socket with what a box's set-up would have sent. */
static int box_sockets(int32_t result, unsigned count)
{
        struct wire_network_sockets head = { .magic = WIRE_MAGIC, .size = sizeof(head), .result = result };
        int ends[2], fds[SYS_DIVERT_SOCKETS] = { 0, 1, 2, 0, 1, 2, 0 };

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(sys_send_fds(ends[1], &head, sizeof(head), fds, count, 0), sizeof(head));
        close(ends[1]);
        return ends[0];
}

static void it_is_ready_when_it_said_what_it_has(void **state)
{
        assert_false(t.n->ops->is_ready(t.n));
        connect_net();
        assert_false(t.n->ops->is_ready(t.n));
        greet("box-a");
        assert_true(t.n->ops->is_ready(t.n));
        assert_int_equal(t.ready, 1);
        assert_true(t.n->ops->has(t.n, "box-a"));
        assert_false(t.n->ops->has(t.n, "box-b"));
}

static void a_box_goes_over_with_its_policy(void **state)
{
        const char policy[] = "template public\nown list\nallow a.example\n";
        char got[128] = "";
        struct net_request req;

        connect_net();
        greet(NULL);
        t.n->ops->add_take(t.n, "box-a", box_sockets(0, SYS_DIVERT_SOCKETS), policy, &limits, new_job());
        req = hear(NET_box_add);
        assert_string_equal(req.box.id, "box-a");
        assert_int_equal(t.fd_count, SYS_DIVERT_SOCKETS + 1);
        has_limits(&req.box.limits);
        assert_int_equal(recv(t.fds[SYS_DIVERT_SOCKETS], got, sizeof(got), MSG_DONTWAIT), strlen(policy));
        assert_string_equal(got, policy);
        assert_int_equal(recv(t.fds[SYS_DIVERT_SOCKETS], got, sizeof(got), MSG_DONTWAIT), 0); /* its end */
        sys_close_fds(t.fds, t.fd_count);
        assert_false(t.n->ops->has(t.n, "box-a"));
        say(&req, (struct net_answer){ 0 });
        assert_int_equal(t.done, 1);
        assert_int_equal(t.job.err.code, CAY_OK);
        assert_true(t.n->ops->has(t.n, "box-a"));
        /* Other rules. */
        t.n->ops->change(t.n, "box-a", "own none\n", &limits, new_job());
        req = hear(NET_box_policy);
        assert_string_equal(req.box.id, "box-a");
        has_limits(&req.box.limits);
        assert_int_equal(t.fd_count, 1);
        memset(got, 0, sizeof(got));
        assert_int_equal(recv(t.fds[0], got, sizeof(got), MSG_DONTWAIT), strlen("own none\n"));
        sys_close_fds(t.fds, t.fd_count);
        say(&req, (struct net_answer){ .code = CAY_NOT_FOUND });
        assert_int_equal(t.done, 1);
        assert_int_equal(t.job.err.code, CAY_NOT_FOUND);
        t.n->ops->drop(t.n, "box-b"); /* is none of its: nothing is said */
        t.n->ops->drop(t.n, "box-a");
        req = hear(NET_box_drop);
        assert_string_equal(req.box.id, "box-a");
        assert_false(t.n->ops->has(t.n, "box-a"));
        say(&req, (struct net_answer){ 0 });
}

static void what_is_no_box_is_refused(void **state)
{
        connect_net();
        greet(NULL);
        t.n->ops->add_take(t.n, "box-a", box_sockets(-5, 0), "x\n", &limits, new_job());
        rounds();
        assert_int_equal(t.done, 1);
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
        t.n->ops->add_take(t.n, "box-a", box_sockets(0, 2), "x\n", &limits, new_job());
        rounds();
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
}

static void the_next_one_goes_on_with_its_numbers(void **state)
{
        struct net_answer entry = {
                .magic = NET_WIRE_MAGIC, .size = sizeof(entry), .type = NET_log, .log = { .number = 41 }
        };
        struct net_request req;

        connect_net();
        greet("box-a");
        cay_str_copy(entry.id, sizeof(entry.id), "box-a");
        assert_int_equal(send(t.peer, &entry, sizeof(entry), 0), sizeof(entry));
        rounds();
        t.n->ops->stats(t.n, "box-a", &(struct cay_network_stats){ 0 }, new_job());
        close(t.peer);
        rounds();
        assert_int_equal(t.done, 1); /* who waited is told */
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
        assert_false(t.n->ops->is_ready(t.n) || t.n->ops->has(t.n, "box-a"));
        t.n->ops->add_take(t.n, "box-a", box_sockets(0, SYS_DIVERT_SOCKETS), "x\n", &limits, new_job());
        rounds();
        assert_int_equal(t.job.err.code, CAY_UNAVAILABLE);
        connect_net();
        greet(NULL);
        assert_int_equal(t.ready, 2);
        t.n->ops->add_take(t.n, "box-a", box_sockets(0, SYS_DIVERT_SOCKETS), "x\n", &limits, new_job());
        req = hear(NET_box_add);
        sys_close_fds(t.fds, t.fd_count);
        assert_int_equal(req.box.log_next, 42);
        say(&req, (struct net_answer){ 0 });
        assert_true(t.n->ops->has(t.n, "box-a"));
}

static void the_log_is_read_entry_by_entry(void **state)
{
        struct cay_network_log log = { .max = 2 };
        struct net_request req;

        connect_net();
        greet("box-a");
        t.n->ops->read_log(t.n, "box-a", &log, new_job());
        req = hear(NET_box_stats);
        say(&req, (struct net_answer){ .stats = { .log_first = 3, .log_next = 10 } });
        for (uint64_t i = 8; i < 10; i++) { /* the last two */
                req = hear(NET_log_read);
                assert_int_equal(req.log.from, i);
                say(&req, (struct net_answer){ .log = { .number = i, .kind = NET_LOG_DNS } });
        }
        assert_int_equal(t.done, 1);
        assert_int_equal(log.count, 2);
        assert_int_equal(log.entries[1].number, 9);
        assert_string_equal(log.entries[1].kind, "dns");
        free(log.entries);
        log = (struct cay_network_log){ .from = 9, .max = 5 };
        t.n->ops->read_log(t.n, "box-a", &log, new_job());
        req = hear(NET_box_stats);
        say(&req, (struct net_answer){ .stats = { .log_first = 3, .log_next = 10 } });
        req = hear(NET_log_read);
        say(&req, (struct net_answer){ .log = { .number = 9 } });
        req = hear(NET_log_read);
        say(&req, (struct net_answer){ 0 }); /* there are no more */
        assert_int_equal(t.done, 1);
        assert_int_equal(log.count, 1);
        free(log.entries);
}

static void entries_are_not_believed(void **state)
{
        struct net_log_entry from = { .number = 1, .kind = 77, .verdict = NET_LOG_REFUSED, .port = 80 };
        struct cay_network_entry e;

        memset(from.name, 'a', sizeof(from.name)); /* without an end */
        memset(from.why, 0xff, sizeof(from.why));  /* no text */
        memcpy(from.address, (uint8_t[16]){ [10] = 255, 255, 203, 0, 113, 9 }, 16);
        cay_network_entry_read(&from, &e);
        assert_string_equal(e.kind, "other");
        assert_string_equal(e.verdict, "refused");
        assert_string_equal(e.address, "203.0.113.9");
        assert_int_equal(strlen(e.name), sizeof(e.name) - 1);
        assert_string_equal(e.why, "");
        assert_string_equal(e.rule, "");
        memcpy(from.address, (uint8_t[16]){ 0x20, 1, 0xd, 0xb8, [15] = 1 }, 16);
        cay_network_entry_read(&from, &e);
        assert_string_equal(e.address, "2001:db8::1");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(it_is_ready_when_it_said_what_it_has, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_box_goes_over_with_its_policy, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_is_no_box_is_refused, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_next_one_goes_on_with_its_numbers, set_up, tear_down),
                cmocka_unit_test_setup_teardown(the_log_is_read_entry_by_entry, set_up, tear_down),
                cmocka_unit_test(entries_are_not_believed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
