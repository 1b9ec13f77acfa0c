/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-process and a front that was taken over: breaches end the link and nothing else, what is no breach is
 * checked again, boxes are the next front's, and everything goes with the keeper. The broker is a child of
 * this test, with scratch folders of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "cay-process/broker.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"
#include "links/helper/process_message.h"

#define WAIT_MS 50000

static struct {
        char folder[32];
        pid_t broker;
        int link, keeper;
        uint32_t seq;
} t;

static void pair(int type, int ret[2])
{
        assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret), 0);
}

/* pids: of the hard limit that the broker has, with ids for boxes; 0: none of both. */
static int start(unsigned pids)
{
        int link[2], keep[2];

        snprintf(t.folder, sizeof(t.folder), "/tmp/process-test-XXXXXX");
        assert_non_null(mkdtemp(t.folder));
        setenv("TMPDIR", t.folder, 1);
        pair(SOCK_SEQPACKET, link);
        pair(SOCK_SEQPACKET, keep);
        t.broker = fork();
        assert_true(t.broker >= 0);
        if (t.broker == 0) {
                const struct rlimit most = { pids, pids };
                struct process_options o = { .program_dir = getenv("CAY_BUILD_DIR"),
                                             .front = link[1],
                                             .keeper = keep[1] };
                char ids_at[64];

                snprintf(ids_at, sizeof(ids_at), "%s/ids", t.folder);
                if (pids > 0 && setrlimit(RLIMIT_NPROC, &most) == 0)
                        o.ids_at = ids_at;
                setsid();
                close(link[0]);
                close(keep[0]);
                /* Its words about breaches are meant for a log. */
                dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
                _exit(process_broker_run(&o));
        }
        close(link[1]);
        close(keep[1]);
        t.link = link[0];
        t.keeper = keep[0];
        return 0;
}

static int setup(void **state)
{
        return start(0);
}

static int setup_with_ids(void **state)
{
        return start(100);
}

/* With the keeper everything goes. */
static int teardown(void **state)
{
        int status;

        close(t.link);
        close(t.keeper);
        assert_int_equal(waitpid(t.broker, &status, 0), t.broker);
        assert_int_equal(status, 0);
        unsetenv("TMPDIR");
        return rmdir(t.folder); /* must be empty */
}

static unsigned count_folders(void)
{
        DIR *dir = opendir(t.folder);
        struct dirent *entry;
        unsigned count = 0;

        assert_non_null(dir);
        while ((entry = readdir(dir)) != NULL)
                count += entry->d_name[0] != '.';
        closedir(dir);
        return count;
}

/* Speaking */

static struct process_request request(uint32_t type)
{
        return (struct process_request){ .magic = PROCESS_WIRE_MAGIC,
                                         .size = sizeof(struct process_request),
                                         .type = type,
                                         .seq = ++t.seq };
}

static void say(const void *bytes, size_t len, const int *fds, unsigned count)
{
        assert_int_equal(sys_send_fds(t.link, bytes, len, fds, count, MSG_NOSIGNAL), (ssize_t)len);
}

static struct process_answer hear(void)
{
        struct pollfd p = { .fd = t.link, .events = POLLIN };
        struct process_answer a = { 0 };

        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        assert_int_equal(recv(t.link, &a, sizeof(a), 0), sizeof(a));
        assert_int_equal(a.magic, PROCESS_WIRE_MAGIC);
        return a;
}

static struct process_answer ask(const struct process_request *req, const int *fds, unsigned count)
{
        struct process_answer a;

        say(req, sizeof(*req), fds, count);
        a = hear();
        assert_int_equal(a.seq, req->seq);
        return a;
}

static struct process_answer greet(void)
{
        struct process_request req = request(PROCESS_hello);

        req.hello.version = PROCESS_WIRE_VERSION;
        return ask(&req, NULL, 0);
}

static void next_front(void)
{
        const struct wire_keeper say_front = { .magic = WIRE_KEEPER_MAGIC,
                                               .size = sizeof(say_front),
                                               .type = WIRE_KEEPER_FRONT };
        int link[2];

        pair(SOCK_SEQPACKET, link);
        assert_true(sys_send_fds(t.keeper, &say_front, sizeof(say_front), &link[1], 1, 0) > 0);
        close(link[1]);
        close(t.link);
        t.link = link[0];
}

/* The link ends; the program does not, and the next front is served. */
static void expect_hung_up(void)
{
        struct pollfd p = { .fd = t.link, .events = POLLIN };
        char byte;

        assert_int_equal(poll(&p, 1, WAIT_MS), 1);
        assert_int_equal(recv(t.link, &byte, 1, 0), 0);
        next_front();
        assert_int_equal(greet().code, CAY_OK);
}

static struct process_answer make_box(const char *id)
{
        struct process_request req = request(PROCESS_box_make);
        struct process_answer a;
        int link[2];

        pair(SOCK_STREAM, link);
        snprintf(req.plan.id, sizeof(req.plan.id), "%s", id);
        a = ask(&req, &link[1], 1);
        close(link[0]);
        close(link[1]);
        return a;
}

static struct process_answer about(uint32_t type, const char *id)
{
        struct process_request req = request(type);

        snprintf(req.box.id, sizeof(req.box.id), "%s", id);
        return ask(&req, NULL, 0);
}

/* Tests */

static void what_is_not_of_the_form_ends_the_link(void **state)
{
        struct process_request req;
        char half[sizeof(req) / 2] = { 0 };

        say(half, sizeof(half), NULL, 0);
        expect_hung_up();
        req = request(PROCESS_box_list);
        req.magic = WIRE_MAGIC;
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
        req = request(PROCESS_box_list);
        req.size--;
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
        req = request(PROCESS_box_list);
        req.seq = 0;
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
        for (unsigned i = 0; i < 3; i++) {
                static const uint32_t unknown[] = { PROCESS_NONE, PROCESS_TYPE_COUNT, PROCESS_box_gone };

                req = request(unknown[i]);
                say(&req, sizeof(req), NULL, 0);
                expect_hung_up();
        }
}

static void what_is_not_its_turn_ends_the_link(void **state)
{
        struct process_request req = request(PROCESS_box_list);

        say(&req, sizeof(req), NULL, 0); /* before a hello */
        expect_hung_up();
        req = request(PROCESS_hello); /* and a second hello */
        req.hello.version = PROCESS_WIRE_VERSION;
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
}

static void another_version_is_told_and_gets_no_further(void **state)
{
        struct process_request req = request(PROCESS_hello);

        req.hello.version = PROCESS_WIRE_VERSION + 1;
        assert_int_equal(ask(&req, NULL, 0).code, CAY_INVALID);
        req = request(PROCESS_box_list);
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
}

static void descriptors_are_counted_and_looked_at(void **state)
{
        struct process_request req = request(PROCESS_box_make);
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), packets[2], streams[2];
        const int two[] = { null, null };

        pair(SOCK_SEQPACKET, packets);
        pair(SOCK_STREAM, streams);
        assert_int_equal(greet().code, CAY_OK);
        snprintf(req.plan.id, sizeof(req.plan.id), "box");
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
        say(&req, sizeof(req), two, 2);
        expect_hung_up();
        say(&req, sizeof(req), &null, 1); /* one, but no stream to speak over */
        expect_hung_up();
        say(&req, sizeof(req), packets, 1);
        expect_hung_up();
        req = request(PROCESS_box_stat);
        say(&req, sizeof(req), streams, 1); /* one too many */
        expect_hung_up();
        close(null);
        for (unsigned i = 0; i < 2; i++) {
                close(packets[i]);
                close(streams[i]);
        }
        assert_int_equal(count_folders(), 0);
}

static void ids_are_ids(void **state)
{
        struct process_request req = request(PROCESS_box_stat);

        assert_int_equal(greet().code, CAY_OK);
        assert_int_equal(make_box("../../etc").code, CAY_INVALID);
        assert_int_equal(make_box("").code, CAY_INVALID);
        assert_int_equal(make_box("box").code, CAY_OK);
        assert_int_equal(make_box("box").code, CAY_EXISTS);
        assert_int_equal(about(PROCESS_box_stat, "other").code, CAY_NOT_FOUND);
        assert_int_equal(about(PROCESS_box_drop, "other").code, CAY_OK); /* what is not there is gone */
        assert_int_equal(count_folders(), 1);
        memset(req.box.id, 'a', sizeof(req.box.id)); /* no end */
        say(&req, sizeof(req), NULL, 0);
        expect_hung_up();
}

static void limits_hold_or_are_said_not_to(void **state)
{
        struct process_request req = request(PROCESS_box_make);
        struct process_answer a;
        int link[2];

        pair(SOCK_STREAM, link);
        assert_int_equal(greet().code, CAY_OK);
        snprintf(req.plan.id, sizeof(req.plan.id), "box");
        req.plan.memory_bytes = 64u << 20;
        assert_int_equal(ask(&req, &link[1], 1).code, CAY_UNSUPPORTED);
        req.plan.may_skip = HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP;
        req.seq = ++t.seq;
        a = ask(&req, &link[1], 1);
        assert_int_equal(a.code, CAY_OK);
        assert_int_equal(a.box.skipped, HELPER_LIMIT_MEMORY | HELPER_LIMIT_SWAP);
        assert_memory_equal(a.box.workspace, t.folder, strlen(t.folder));
        close(link[0]);
        close(link[1]);
}

static void boxes_are_the_next_fronts(void **state)
{
        struct process_request list;
        struct process_answer a;

        assert_int_equal(greet().code, CAY_OK);
        assert_int_equal(make_box("one").code, CAY_OK);
        next_front();
        assert_int_equal(greet().code, CAY_OK);
        list = request(PROCESS_box_list);
        a = ask(&list, NULL, 0);
        assert_string_equal(a.list.id, "one");
        assert_int_equal(a.list.live, 1);
        list = request(PROCESS_box_list);
        list.list.from = a.list.next;
        assert_string_equal(ask(&list, NULL, 0).list.id, "");
        assert_int_equal(about(PROCESS_box_drop, "one").code, CAY_OK);
        assert_int_equal(count_folders(), 0);
}

static pid_t child_of(pid_t parent)
{
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        pid_t found = 0;

        assert_non_null(dir);
        while (found == 0 && (entry = readdir(dir)) != NULL) {
                pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
                char path[32], text[512];
                const char *at;
                int of = 0;

                snprintf(path, sizeof(path), "%d/stat", pid);
                if (pid <= 0 || sys_read_file(dirfd(dir), path, text, sizeof(text)) <= 0)
                        continue;
                at = strrchr(text, ')');
                if (at != NULL && sscanf(at + 1, " %*c %d", &of) == 1 && of == parent)
                        found = pid;
        }
        closedir(dir);
        return found;
}

static void expect_no_folders(void)
{
        for (unsigned i = 0; i < WAIT_MS && count_folders() > 0; i++)
                usleep(1000);
        assert_int_equal(count_folders(), 0);
}

/* Nobody is there to be told, or to ask for anything. */
static void a_box_that_goes_by_itself_is_ended(void **state)
{
        struct process_request req;
        struct process_answer a;
        int link[2];
        pid_t init;

        assert_int_equal(greet().code, CAY_OK);
        assert_int_equal(make_box("one").code, CAY_OK);
        init = child_of(t.broker);
        assert_true(init > 0);
        shutdown(t.link, SHUT_RDWR);
        assert_int_equal(kill(init, SIGKILL), 0);
        expect_no_folders();
        next_front();
        assert_int_equal(greet().code, CAY_OK);
        req = request(PROCESS_box_list);
        assert_string_equal(ask(&req, NULL, 0).list.id, "");
        req = request(PROCESS_box_link);
        snprintf(req.box.id, sizeof(req.box.id), "one");
        pair(SOCK_STREAM, link);
        a = ask(&req, &link[1], 1);
        assert_int_equal(a.code, CAY_NOT_FOUND);
        assert_int_equal(about(PROCESS_box_drop, "one").code, CAY_OK);
        close(link[0]);
        close(link[1]);
}

/* Boxes that end between two requests move no other out of the list. */
static void a_list_skips_nobody(void **state)
{
        static const char *const names[] = { "one", "two", "three", "four" };
        struct process_request req;
        struct process_answer a = { 0 };

        assert_int_equal(greet().code, CAY_OK);
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(make_box(names[i]).code, CAY_OK);
        for (unsigned i = 0; i < 4; i++) {
                req = request(PROCESS_box_list);
                req.list.from = a.list.next;
                a = ask(&req, NULL, 0);
                assert_string_equal(a.list.id, names[i]);
                assert_int_equal(about(PROCESS_box_drop, names[i]).code, CAY_OK);
        }
        req = request(PROCESS_box_list);
        req.list.from = a.list.next;
        assert_string_equal(ask(&req, NULL, 0).list.id, "");
}

/* Said before anything is made: the init of such a box could only die. */
static void more_processes_than_a_user_may_have_are_refused(void **state)
{
        struct process_request req = request(PROCESS_box_make);
        struct process_answer a;
        int link[2];

        pair(SOCK_STREAM, link);
        assert_int_equal(greet().code, CAY_OK);
        snprintf(req.plan.id, sizeof(req.plan.id), "box");
        req.plan.pids = 100; /* and an init, of 100 */
        a = ask(&req, &link[1], 1);
        assert_int_equal(a.code, CAY_UNSUPPORTED);
        assert_non_null(strstr(a.text, "RLIMIT_NPROC"));
        req = request(PROCESS_box_list);
        assert_string_equal(ask(&req, NULL, 0).list.id, "");
        assert_int_equal(count_folders(), 0);
        close(link[0]);
        close(link[1]);
}

static void everything_goes_with_the_keeper(void **state)
{
        assert_int_equal(greet().code, CAY_OK);
        assert_int_equal(make_box("one").code, CAY_OK);
        assert_int_equal(make_box("two").code, CAY_OK);
        assert_int_equal(count_folders(), 2); /* teardown looks at the rest */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(what_is_not_of_the_form_ends_the_link),
                TEST(what_is_not_its_turn_ends_the_link),
                TEST(another_version_is_told_and_gets_no_further),
                TEST(descriptors_are_counted_and_looked_at),
                TEST(ids_are_ids),
                TEST(limits_hold_or_are_said_not_to),
                TEST(boxes_are_the_next_fronts),
                TEST(a_box_that_goes_by_itself_is_ended),
                TEST(a_list_skips_nobody),
                cmocka_unit_test_setup_teardown(more_processes_than_a_user_may_have_are_refused,
                                                setup_with_ids, teardown),
                TEST(everything_goes_with_the_keeper),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
