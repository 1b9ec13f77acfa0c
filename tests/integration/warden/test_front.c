/* SPDX-License-Identifier: Apache-2.0 */
/* A front that lies, or dies: the link ends, and with it every box; nothing is left. */
#include "rig.h"

#include <sys/uio.h>
#include <time.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"

static struct rig rig;

static int set_up(void **state)
{
        rig = (struct rig){ .sock = -1, .pid = -1 };
        return rig_set_up(state);
}

static int tear_down(void **state)
{
        rig_abandon(&rig);
        return rig_tear_down(state);
}

/* The warden hangs up: no answer, and its process ends by itself. */
static void hangs_up(const char *what)
{
        struct wire_answer a;

        while (rig_receive(&rig, &a, RIG_WAIT_MS))
                if (a.type != WIRE_box_gone)
                        fail_msg("%s was answered", what);
        if (!rig_ends(&rig))
                fail_msg("%s: the warden lives on", what);
        close(rig.sock);
        rig.sock = -1;
}

static void test_garbage(void **state)
{
        static char bytes[4096];

        for (size_t len = 0; len <= sizeof(bytes); len = len ? len * 2 : 1) {
                struct rig_box box;

                for (size_t i = 0; i < len; i++)
                        bytes[i] = (char)(i * 31 + len);
                rig_start(&rig, NULL);
                rig_must_make(&rig, "a", &box); /* one box that has to go with it */
                if (len == 0) {
                        int fd = 2; /* an empty message is only sent with something beside it */

                        assert_int_equal(sys_send_fds(rig.sock, "", 0, &fd, 1, 0), 0);
                } else {
                        assert_int_equal(send(rig.sock, bytes, len, MSG_NOSIGNAL), len);
                }
                hangs_up("garbage");
                rig_box_close(&box);
        }
}

static void test_wrong_sizes(void **state)
{
        static char bytes[sizeof(struct wire_request) + 64];
        static const int deltas[] = { -(int)sizeof(struct wire_request) + 1, -8, -1, 1, 8, 64 };

        for (unsigned i = 0; i < CAY_COUNT(deltas); i++) {
                struct wire_request req;

                rig_start(&rig, NULL);
                req = rig_request(&rig, WIRE_box_stat);
                memcpy(bytes, &req, sizeof(req));
                assert_true(send(rig.sock, bytes, (size_t)((int)sizeof(req) + deltas[i]), MSG_NOSIGNAL) > 0);
                hangs_up("a wrong size");
        }
}

static void test_wrong_heads(void **state)
{
        for (unsigned i = 0; i < 6; i++) {
                struct wire_request req;

                rig_start(&rig, NULL);
                req = rig_request(&rig, WIRE_box_stat);
                if (i == 0)
                        req.magic ^= 1;
                if (i == 1)
                        req.size++;
                if (i == 2)
                        req.type = WIRE_NONE;
                if (i == 3)
                        req.type = WIRE_TYPE_COUNT;
                if (i == 4)
                        req.type = WIRE_box_gone;
                if (i == 5)
                        req.seq = 0;
                rig_send(&rig, &req, NULL, 0);
                hangs_up("a wrong head");
        }
}

static void test_before_hello(void **state)
{
        for (uint32_t type = WIRE_hello + 1; type < WIRE_TYPE_COUNT; type++) {
                struct wire_request req;
                int fd = 2;

                rig_start_raw(&rig, NULL);
                req = rig_request(&rig, type);
                rig_send(&rig, &req, &fd, type == WIRE_box_make || type == WIRE_box_link);
                hangs_up("a request before the hello");
        }
}

static void test_hello_twice(void **state)
{
        struct wire_request req;

        rig_start(&rig, NULL);
        req = rig_request(&rig, WIRE_hello);
        req.hello.version = WIRE_VERSION;
        rig_send(&rig, &req, NULL, 0);
        hangs_up("a second hello");
}

static void test_other_version(void **state)
{
        static const uint32_t versions[] = { 0, WIRE_VERSION + 1, UINT32_MAX };

        for (unsigned i = 0; i < CAY_COUNT(versions); i++) {
                struct wire_request req;
                struct wire_answer a;

                rig_start_raw(&rig, NULL);
                req = rig_request(&rig, WIRE_hello);
                req.hello.version = versions[i];
                a = rig_ask(&rig, &req, NULL, 0);
                assert_int_equal(a.code, CAY_INVALID);
                assert_non_null(strstr(a.text, "version"));
                req = rig_request(&rig, WIRE_trace); /* it is still nobody to the warden */
                rig_send(&rig, &req, NULL, 0);
                hangs_up("a request after a refused hello");
        }
}

/* Descriptors where there should be none, too many of them, more than a message may have. */
static void test_too_many_descriptors(void **state)
{
        static const struct {
                uint32_t type;
                unsigned count;
        } rows[] = {
                { WIRE_box_stat, 1 }, { WIRE_box_drop, 3 }, { WIRE_trace, 1 },    { WIRE_box_link, 0 },
                { WIRE_box_link, 2 }, { WIRE_box_make, 0 }, { WIRE_box_make, 6 }, { WIRE_box_make, 24 }
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct wire_request req;
                int fds[24];

                for (unsigned k = 0; k < CAY_COUNT(fds); k++)
                        fds[k] = 2;
                rig_start(&rig, NULL);
                req = rig_request(&rig, rows[i].type);
                rig_send(&rig, &req, fds, rows[i].count);
                hangs_up("a wrong count of descriptors");
        }
}

static void test_flood_of_descriptors(void **state)
{
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(253 * sizeof(int))];
        } control = { 0 };
        struct wire_request req;
        struct iovec iov = { &req, sizeof(req) };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };

        rig_start(&rig, NULL);
        req = rig_request(&rig, WIRE_box_make);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(253 * sizeof(int));
        for (unsigned i = 0; i < 253; i++)
                ((int *)(void *)CMSG_DATA(&control.head))[i] = 2;
        assert_int_equal(sendmsg(rig.sock, &msg, 0), sizeof(req));
        hangs_up("a flood of descriptors");
}

/* The warden's own descriptors stay as many as they were, whatever is refused. */
static unsigned count_fds_of(pid_t pid)
{
        unsigned count = 0;
        char path[64];
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        d = opendir(path);
        assert_non_null(d);
        while (readdir(d))
                count++;
        closedir(d);
        return count;
}

static void test_refusals_leak_nothing(void **state)
{
        struct wire_plan bad = rig_plan("Not Good");
        struct rig_box box;
        unsigned fds;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "warm", &box); /* what is opened once for good is open */
        assert_int_equal(rig_ask_box(&rig, WIRE_box_drop, "warm").code, CAY_OK);
        rig_box_close(&box);
        fds = count_fds_of(rig.pid);
        for (int i = 0; i < 50; i++) {
                struct wire_plan p = rig_plan("image");
                int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                assert_int_equal(rig_make(&rig, &bad, dir, dir, &box).code, CAY_INVALID);
                assert_int_not_equal(rig_make(&rig, &p, dir, -1, &box).code,
                                     CAY_OK); /* half-way: /proc is no image */
                assert_int_equal(rig_ask_box(&rig, WIRE_box_stat, "nobody").code, CAY_NOT_FOUND);
                rig_must_make(&rig, "fine", &box);
                assert_int_equal(rig_ask_box(&rig, WIRE_box_drop, "fine").code, CAY_OK);
                rig_box_close(&box);
                close(dir);
        }
        for (int i = 0; i < RIG_WAIT_MS / 5 && count_fds_of(rig.pid) != fds; i++) {
                const struct timespec t = { .tv_nsec = 5000000 };

                nanosleep(&t, NULL); /* what is unmade goes behind the answer */
        }
        assert_int_equal(count_fds_of(rig.pid), fds);
        rig_stop(&rig);
}

/* Questions without end whose answers nobody reads: the warden has patience for a while, then it hangs up. */
static void test_answers_never_read(void **state)
{
        struct wire_request req;
        struct rig_box box;
        unsigned sent = 0;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "deaf", &box);
        req = rig_request(&rig, WIRE_box_stat);
        snprintf(req.box.id, sizeof(req.box.id), "deaf");
        for (int naps = 0; sent < 100000 && naps < RIG_WAIT_MS;) {
                const struct timespec t = { .tv_nsec = 1000000 };

                if (send(rig.sock, &req, sizeof(req), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
                        sent++;
                        continue;
                }
                if (errno != EAGAIN)
                        break; /* hung up on us */
                naps++;
                nanosleep(&t, NULL);
        }
        assert_in_range(sent, 10, 99999); /* nothing grows without bound on either side */
        assert_true(rig_ends(&rig));
        rig_box_close(&box);
        rig_stop(&rig);
}

/* The front's process dies with boxes in every state. */
static void test_front_dies(void **state)
{
        int pids[2], status;
        pid_t front;

        assert_int_equal(pipe2(pids, O_CLOEXEC), 0);
        fflush(NULL);
        front = fork();
        if (front == 0) {
                struct rig_box box[3];
                struct wire_request req;
                int links[2];

                rig_start(&rig, NULL);
                rig_must_make(&rig, "live", &box[0]);
                rig_must_make(&rig, "frozen", &box[1]);
                rig_ask_box(&rig, WIRE_box_freeze, "frozen");
                rig_must_make(&rig, "dead", &box[2]);
                rig_tell(&box[2], "exit 0");
                rig_news(&rig, "dead", RIG_WAIT_MS);
                req = rig_request(&rig, WIRE_box_make); /* and one that is being made */
                req.plan = rig_plan("making");
                if (socketpair(AF_UNIX, SOCK_STREAM, 0, links) == 0)
                        rig_send(&rig, &req, &links[1], 1);
                if (write(pids[1], &rig.pid, sizeof(rig.pid)) > 0)
                        kill(getpid(), SIGKILL);
                _exit(1);
        }
        close(pids[1]);
        assert_int_equal(read(pids[0], &rig.pid, sizeof(rig.pid)), sizeof(rig.pid));
        close(pids[0]);
        assert_int_equal(waitpid(front, &status, 0), front);
        assert_true(WIFSIGNALED(status));
        for (int i = 0; i < RIG_WAIT_MS / 5 && kill(rig.pid, 0) == 0; i++) {
                struct timespec t = { .tv_nsec = 5000000 };
                char path[64], text[512];

                /* Nobody of ours to reap it: a zombie of whoever took it over is gone enough. */
                snprintf(path, sizeof(path), "/proc/%d/stat", (int)rig.pid);
                if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 && strstr(text, ") Z"))
                        break;
                nanosleep(&t, NULL);
        }
        rig.pid = -1;
}

/* Half of the link is shut: the warden cannot answer, and goes. */
static void test_half_shut(void **state)
{
        struct wire_request req;
        struct rig_box box;

        rig_start(&rig, NULL);
        rig_must_make(&rig, "half", &box);
        shutdown(rig.sock, SHUT_RD);
        req = rig_request(&rig, WIRE_trace);
        send(rig.sock, &req, sizeof(req), MSG_NOSIGNAL);
        assert_true(rig_ends(&rig));
        rig_box_close(&box);
        rig_stop(&rig);
}

/* Ids of other boxes' forms in every request about one box. */
static void test_box_requests_about_nobody(void **state)
{
        static const uint32_t types[] = { WIRE_box_link, WIRE_box_freeze, WIRE_box_thaw, WIRE_box_stat };

        rig_start(&rig, NULL);
        for (unsigned i = 0; i < CAY_COUNT(types); i++)
                for (unsigned k = 0; k < 4; k++) {
                        struct wire_request req = rig_request(&rig, types[i]);
                        struct wire_answer a;
                        int fd = 2;

                        if (k == 1)
                                memset(req.box.id, 'x', sizeof(req.box.id)); /* no end */
                        if (k == 2)
                                snprintf(req.box.id, sizeof(req.box.id), "../../etc");
                        if (k == 3)
                                snprintf(req.box.id, sizeof(req.box.id), "%%s%%n");
                        a = rig_ask(&rig, &req, &fd, types[i] == WIRE_box_link);
                        assert_int_equal(a.code, CAY_NOT_FOUND);
                        assert_non_null(memchr(a.box.id, 0, sizeof(a.box.id)));
                }
        assert_int_equal(rig_ask_box(&rig, WIRE_box_drop, "nobody").code,
                         CAY_OK); /* what is not there is dropped */
        rig_stop(&rig);
}

#define rigged(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                rigged(test_garbage),
                rigged(test_wrong_sizes),
                rigged(test_wrong_heads),
                rigged(test_before_hello),
                rigged(test_hello_twice),
                rigged(test_other_version),
                rigged(test_too_many_descriptors),
                rigged(test_flood_of_descriptors),
                rigged(test_refusals_leak_nothing),
                rigged(test_answers_never_read),
                rigged(test_front_dies),
                rigged(test_half_shut),
                rigged(test_box_requests_about_nobody),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
