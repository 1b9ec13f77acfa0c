/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program itself between a front that was taken over and a Docker that writes down what it is asked:
 * breaches end the link, and nothing that is not ours is ever touched. The Docker is a child of this test
 * that knows a few answers by heart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/error.h"
#include "unit/cay-docker/fake_docker.h"
#include "unit/cay-docker/fake_front.h"

#define OURS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define THEIRS "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct fake_docker docker;
static struct fake_front front;

/* The Docker */

static const struct fake_docker_row answers[] = {
        FAKE_DOCKER_VERSION,
        { "GET /v1.41/info",
          FAKE_DOCKER_OK "{\"NCPU\":2,\"MemTotal\":1000000000,\"MemoryLimit\":true,"
                         "\"SwapLimit\":true,\"CpuCfsQuota\":true,\"PidsLimit\":true,\"OSType\":\"linux\","
                         "\"SystemTime\":\"2026-11-16T05:00:00.5Z\"}" },
        { "GET /v1.41/containers/json?", FAKE_DOCKER_OK
          "[{\"Id\":\"" THEIRS "\",\"State\":\"running\",\"Labels\":{\"cay.id\":\"other\","
          "\"cay.instance\":\"somebody\"}},{\"Id\":\"" THEIRS "\",\"State\":\"running\",\"Labels\":{}},"
          "{\"Id\":\"" OURS
          "\",\"State\":\"running\",\"Labels\":{\"cay.id\":\"mine\",\"cay.instance\":\"unit\","
          "\"cay.keep\":\"no\"}}]" },
        { "GET /v1.41/networks", FAKE_DOCKER_OK
          "[{\"Id\":\"eeee\",\"Labels\":{\"cay.id\":\"gone\",\"cay.instance\":"
          "\"somebody\"}},{\"Id\":\"../x\",\"Labels\":{\"cay.id\":\"gone\",\"cay.instance\":\"unit\"}}]" },
        { "POST /v1.41/networks/create", "201 Created\r\nA: b\r\n\r\n{\"Id\":\"dddd\"}" },
        { "DELETE /v1.41/networks/dddd", "204 No Content\r\n\r\n" },
        { "POST /v1.41/volumes/create",
          "201 Created\r\nA: b\r\n\r\n{\"Name\":\"cay-x\",\"Driver\":\"local\",\"Labels\":{}}" },
        FAKE_DOCKER_IMAGE,
        { "GET /v1.41/images/alien/json", FAKE_DOCKER_OK "{\"Architecture\":\"s390x\"}" },
        { "POST /v1.41/containers/create", "201 Created\r\nA: b\r\n\r\n{\"Id\":\"cccc\"}" },
        { "PUT /v1.41/containers/cccc/archive", "200 OK\r\nContent-Length: 0\r\n\r\n" },
        { "POST /v1.41/containers/cccc/start", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/cccc/exec",
          "409 Conflict\r\nA: b\r\n\r\n{\"message\":\"is not running\"}" },
        { "DELETE /v1.41/containers/", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/" OURS "/pause", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/9999/pause", "204 No Content\r\n\r\n" },
        { "POST /v1.41/containers/9999/stop",
          "404 Not Found\r\nA: b\r\n\r\n{\"message\":\"No such container\"}" },
        { "POST /v1.41/containers/" OURS "/exec", "201 Created\r\nA: b\r\n\r\n{\"Id\":\"abab\"}" },
        { "POST /v1.41/exec/abab/start",
          "404 Not Found\r\nA: b\r\n\r\n{\"message\":\"No such exec instance\"}" },
        { 0 },
};

static struct {                     /* what the test has told it, and what waits for that */
        bool holds, is_empty, mute; /* lists are held back; nobody is in them; "mute" was created */
        bool brief;                 /* so was "brief", which ends between two questions */
        bool exited;                /* ours has */
        bool kept;  /* there is "kept" alone, which somebody has removed when it is to be stopped */
        bool slow;  /* the process of an exec is started when the test says so */
        int stream; /* of that exec */
        int list;
        const char *text; /* of the held one */
} d = { .list = -1 };

/* A word of the test's own in place of a request; true: it was one. */
static bool obey(const char *bytes)
{
        if (strncmp(bytes, "HOLD", 4) == 0) {
                d.holds = true;
        } else if (strncmp(bytes, "EMPTY", 5) == 0) {
                d.is_empty = true;
        } else if (strncmp(bytes, "EXIT", 4) == 0) {
                d.exited = true;
        } else if (strncmp(bytes, "KEPT", 4) == 0) {
                d.kept = true;
        } else if (strncmp(bytes, "SLOW", 4) == 0) {
                d.slow = true;
        } else if (strncmp(bytes, "READY", 5) == 0) {
                static const char reached[] = "\2\0\0\0\0\0\0\1."; /* on the helper's standard error */

                assert_int_equal(write(d.stream, reached, sizeof(reached) - 1), sizeof(reached) - 1);
        } else if (strncmp(bytes, "RELEASE", 7) == 0) {
                d.holds = false;
                fake_docker_say_take(d.list, d.text);
        } else {
                return false;
        }
        return true;
}

/* Lists that are not as ever; creates and thaws that are never answered. True: fd is kept, or closed. */
static bool answer_oddly(const char *bytes, int fd, int log)
{
        static const char nobody[] = FAKE_DOCKER_OK "[]",
                          half_made[] = FAKE_DOCKER_OK
                          "[{\"Id\":\"ffff\",\"State\":\"created\",\"Labels\":{"
                          "\"cay.id\":\"mute\",\"cay.instance\":\"unit\",\"cay.keep\":\"yes\"}}]",
                          ended[] = FAKE_DOCKER_OK
                          "[{\"Id\":\"" OURS "\",\"State\":\"exited\",\"Labels\":{"
                          "\"cay.id\":\"mine\",\"cay.instance\":\"unit\",\"cay.keep\":\"no\"}}]",
                          kept[] = FAKE_DOCKER_OK
                          "[{\"Id\":\"9999\",\"State\":\"running\",\"Labels\":{"
                          "\"cay.id\":\"kept\",\"cay.instance\":\"unit\",\"cay.keep\":\"yes\"}}]";
        bool is_list = strncmp(bytes, "GET /v1.41/containers/json?", 27) == 0;

        if (strstr(bytes, "create?name=cay-mute ")) {
                d.mute = true;
                close(fd);
                return true;
        }
        if (strstr(bytes, "create?name=cay-brief "))
                d.brief = true;
        if (d.brief && strstr(bytes, "/cccc/exec ")) {
                fake_docker_say_take(fd, "201 Created\r\nA: b\r\n\r\n{\"Id\":\"abab\"}");
                return true;
        }
        if (strncmp(bytes, "DELETE /v1.41/containers/ffff", 29) == 0)
                d.mute = false;
        if (strstr(bytes, "/unpause "))
                return true;
        if (d.slow && strstr(bytes, "/exec/abab/start ")) {
                static const char joined[] =
                        "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

                assert_int_equal(write(fd, joined, sizeof(joined) - 1), sizeof(joined) - 1);
                d.stream = fd;
                dprintf(log, "joined\n");
                return true;
        }
        if (strncmp(bytes, "GET /v1.41/networks", 19) == 0 && (d.is_empty || d.list >= 0))
                dprintf(log, "looked\n");
        if (is_list && d.holds) {
                d.list = fd;
                d.text = d.is_empty ? nobody : answers[2].answer;
                dprintf(log, "held\n");
                return true;
        }
        if (d.exited && (strstr(bytes, OURS "/exec ") || strstr(bytes, OURS "/pause "))) {
                fake_docker_say_take(fd, "409 Conflict\r\nA: b\r\n\r\n{\"message\":\"is not running\"}");
                return true;
        }
        if (is_list && d.kept) {
                fake_docker_say_take(fd, kept);
                return true;
        }
        if (is_list && (d.is_empty || d.mute || d.exited)) {
                fake_docker_say_take(fd, d.mute ? half_made : d.exited ? ended : nobody);
                return true;
        }
        return false;
}

static void answer(int fd, const char *bytes, size_t len, int log)
{
        if (obey(bytes)) {
                close(fd);
                return;
        }
        if (strncmp(bytes, "GET ", 4) != 0)
                dprintf(log, "%s\n", strncmp(bytes, "PUT", 3) == 0 ? "PUT archive" : bytes);
        if (!answer_oddly(bytes, fd, log))
                fake_docker_look_up_take(fd, bytes, answers);
}

/* The program */

static int set_up(void **state)
{
        const char *const more[] = { "--image", "alien", "--root", docker.folder, NULL };

        fake_docker_open(&docker, "front");
        if (*state == NULL)
                fake_docker_start(&docker, answer);
        fake_front_start(&front, &docker, more);
        return 0;
}

static int tear_down(void **state)
{
        fake_front_stop(&front);
        return fake_docker_close(&docker);
}

static const char *log_text(void)
{
        return fake_docker_log(&docker);
}

static void say(struct docker_request *req, unsigned fds)
{
        int null = open("/dev/null", O_RDONLY), both[2] = { null, null };

        fake_front_say(&front, req, both, fds);
        close(null);
}

static uint32_t greet(void)
{
        return fake_front_greet(&front);
}

static uint32_t ask(struct docker_request *req, unsigned fds)
{
        say(req, fds);
        return fake_front_hear_code(&front, req);
}

static struct docker_request about(uint32_t type, const char *id)
{
        struct docker_request req = { .type = type };

        if (type == DOCKER_box_make)
                snprintf(req.plan.id, sizeof(req.plan.id), "%s", id);
        else
                snprintf(req.box.id, sizeof(req.box.id), "%s", id);
        return req;
}

static void assert_hung_up(void)
{
        struct docker_answer a;

        assert_false(fake_front_hear(&front, &a));
        assert_null(strstr(log_text(), "create"));
}

static void nothing_before_hello(void **state)
{
        struct docker_request req = about(DOCKER_box_drop, "mine");

        say(&req, 0);
        assert_hung_up();
}

static void hello_twice(void **state)
{
        struct docker_request req = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };

        assert_int_equal(greet(), CAY_OK);
        say(&req, 0);
        assert_hung_up();
}

static void unknown_requests(void **state)
{
        struct docker_request req = { .type = DOCKER_TYPE_COUNT };

        assert_int_equal(greet(), CAY_OK);
        say(&req, 0);
        assert_hung_up();
}

static void another_number_of_descriptors(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "none");

        assert_int_equal(greet(), CAY_OK);
        say(&req, 0);
        assert_hung_up();
}

static void too_many_descriptors(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "two");

        assert_int_equal(greet(), CAY_OK);
        say(&req, 2);
        assert_hung_up();
}

static void cut_messages(void **state)
{
        assert_int_equal(greet(), CAY_OK);
        assert_int_equal(send(front.link, "GET /containers/json HTTP/1.1\r\n\r\n", 33, MSG_NOSIGNAL), 33);
        assert_hung_up();
}

/* Containers of others have no name here: not by their cay.id, not by Docker's own. */
static void only_ours_can_be_named(void **state)
{
        static const char *const names[] = { "other", THEIRS, "cay-mine", ("../" OURS), "" };

        assert_int_equal(greet(), CAY_OK);
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                struct docker_request req = about(DOCKER_box_freeze, names[i]);

                assert_int_equal(ask(&req, 0), CAY_NOT_FOUND);
                req = about(DOCKER_box_link, names[i]);
                assert_int_equal(ask(&req, 1), CAY_NOT_FOUND);
                req = about(DOCKER_box_drop, names[i]);
                assert_int_equal(ask(&req, 0), CAY_OK); /* absent is success, and nobody is asked */
        }
        assert_string_equal(log_text(), "");
        for (unsigned i = 0; i < 1; i++) {
                struct docker_request req = about(DOCKER_box_freeze, "mine");

                assert_int_equal(ask(&req, 0), CAY_OK);
                assert_non_null(strstr(log_text(), "/containers/" OURS "/pause"));
        }
}

static void hostile_plans_reach_nobody(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "plan");

        assert_int_equal(greet(), CAY_OK);
        snprintf(req.plan.image, sizeof(req.plan.image), "not-listed");
        assert_int_equal(ask(&req, 1), CAY_DENIED);
        req = about(DOCKER_box_make, "plan");
        req.plan.flags = DOCKER_PLAN_WORKSPACE;
        snprintf(req.plan.workspace_below, sizeof(req.plan.workspace_below), "../../etc");
        assert_int_equal(ask(&req, 1), CAY_DENIED);
        req = about(DOCKER_box_make, "plan?name=x&");
        assert_int_equal(ask(&req, 1), CAY_INVALID);
        req = about(DOCKER_box_make, "mine"); /* there is one already */
        assert_int_equal(ask(&req, 1), CAY_EXISTS);
        req = about(DOCKER_box_make, "foreign");
        snprintf(req.plan.image, sizeof(req.plan.image), "alien");
        assert_int_equal(ask(&req, 1), CAY_UNSUPPORTED); /* another machine's */
        assert_string_equal(log_text(), "");
}

static void what_fails_half_way_is_undone(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "fresh");
        const char *text;

        assert_int_equal(greet(), CAY_OK);
        req.plan.memory_bytes = 64 << 20;
        assert_int_equal(ask(&req, 1), CAY_UNAVAILABLE);
        text = log_text();
        assert_non_null(strstr(text, "POST /v1.41/containers/create?name=cay-fresh "));
        assert_non_null(strstr(text, "\"CapDrop\":[\"ALL\"]"));
        assert_non_null(strstr(text, "\"NetworkMode\":\"none\""));
        assert_non_null(strstr(text, "POST /v1.41/containers/cccc/exec ")); /* so far it went */
        assert_non_null(strstr(text, "DELETE /v1.41/containers/cccc?force=1&v=1 "));
        req = about(DOCKER_box_stat, "fresh");
        assert_int_equal(ask(&req, 0), CAY_NOT_FOUND);
}

/* Its init ended after the exec was made: the same as one that ended before. */
static void what_ends_half_way_is_undone(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "brief");

        assert_int_equal(greet(), CAY_OK);
        assert_int_equal(ask(&req, 1), CAY_UNAVAILABLE);
        assert_non_null(strstr(log_text(), "POST /v1.41/exec/abab/start "));
        assert_non_null(strstr(log_text(), "DELETE /v1.41/containers/cccc?force=1&v=1 "));
}

/* The service forgets what it thought to be kept by that number, which is errno's own. */
static void what_was_removed_cannot_go_on(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "gone");
        struct docker_answer a;

        assert_int_equal(greet(), CAY_OK);
        req.plan.flags = DOCKER_PLAN_GO_ON | DOCKER_PLAN_KEEP;
        say(&req, 1);
        assert_true(fake_front_hear(&front, &a));
        assert_int_equal(a.code, CAY_CONFLICT);
        assert_int_equal(a.sys, ENOENT);
        assert_string_equal(log_text(), "");
}

/* Its network goes with it; a volume that is there and another's is not touched, and no container is made. */
static void networks_are_undone_and_volumes_are_looked_at(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "fresh");
        const char *text, *made;

        assert_int_equal(greet(), CAY_OK);
        req.plan.network = DOCKER_NETWORK_BRIDGE;
        assert_int_equal(ask(&req, 1), CAY_UNAVAILABLE);
        text = log_text();
        made = strstr(text, "POST /v1.41/networks/create ");
        assert_non_null(made);
        assert_non_null(strstr(made, "POST /v1.41/containers/create?name=cay-fresh "));
        assert_non_null(strstr(text, "\"NetworkMode\":\"cay-fresh\""));
        assert_non_null(
                strstr(strstr(made, "DELETE /v1.41/containers/cccc"), "DELETE /v1.41/networks/dddd "));
        assert_null(strstr(text, "eeee"));
        assert_null(strstr(text, "networks/../"));
        req = about(DOCKER_box_make, "with-volume");
        snprintf(req.plan.owner, sizeof(req.plan.owner), "alice");
        snprintf(req.plan.volumes[0].name, sizeof(req.plan.volumes[0].name), "data");
        snprintf(req.plan.volumes[0].target, sizeof(req.plan.volumes[0].target), "/data");
        req.plan.volume_count = 1;
        assert_int_equal(ask(&req, 1), CAY_DENIED);
        assert_null(strstr(log_text(), "name=cay-with-volume"));
        req.plan.volume_count = 1u << 30;
        assert_int_equal(ask(&req, 1), CAY_INVALID);
}

static uint32_t freeze(void)
{
        struct docker_request req = about(DOCKER_box_freeze, "mine");

        return ask(&req, 0);
}

/* A list that was made before a box was removed is told after it: nobody comes back by that. */
static void an_old_list_brings_nobody_back(void **state)
{
        struct docker_request drop = about(DOCKER_box_drop, "mine");

        assert_int_equal(greet(), CAY_OK);
        fake_docker_tell(&docker, "HOLD");
        fake_docker_nudge_until(&docker, "held\n", 1);
        assert_int_equal(ask(&drop, 0), CAY_OK);
        assert_int_equal(freeze(), CAY_NOT_FOUND);
        fake_docker_tell(&docker, "RELEASE");
        fake_docker_wait_for(&docker, "looked\n", 1); /* behind the list */
        assert_int_equal(freeze(), CAY_NOT_FOUND);
}

/* One that is in no list any more is told as gone, once, and then it is no box any more. */
static void absence_is_told_once(void **state)
{
        assert_int_equal(greet(), CAY_OK);
        assert_int_equal(freeze(), CAY_OK);
        fake_docker_tell(&docker, "EMPTY");
        for (unsigned i = 0; i < TURNS && freeze() != CAY_NOT_FOUND; i++) {
                fake_docker_tell(&docker, "NUDGE");
                usleep(20000);
        }
        assert_int_equal(freeze(), CAY_NOT_FOUND);
        assert_int_equal(front.gone, 1);
}

/*
 * Docker tells of a removal while the service ends what ran there: the stop finds out, and says it before its
 * answer.
 */
static void files_that_were_removed_are_told_by_the_stop(void **state)
{
        struct docker_request stop = about(DOCKER_box_stop, "kept"), freeze;
        uint32_t code = CAY_NOT_FOUND;

        assert_int_equal(greet(), CAY_OK);
        fake_docker_tell(&docker, "KEPT");
        for (unsigned i = 0; i < TURNS && code == CAY_NOT_FOUND; i++) {
                fake_docker_tell(&docker, "NUDGE");
                usleep(20000);
                freeze = about(DOCKER_box_freeze, "kept");
                code = ask(&freeze, 0);
        }
        assert_int_equal(code, CAY_OK);
        assert_int_equal(front.lost, 0);
        assert_int_equal(ask(&stop, 0), CAY_OK);
        assert_int_equal(front.lost, 1);
}

/*
 * No stream now is not "no engine now": there may be one later (it may be paused), until it is known that the
 * container has ended. Then there is no such box to be joined, but still one to be dropped.
 */
static void who_cannot_be_joined_is_not_unavailable(void **state)
{
        struct docker_request link, drop = about(DOCKER_box_drop, "mine");
        struct docker_answer a = { 0 };

        assert_int_equal(greet(), CAY_OK);
        link = about(DOCKER_box_link, "mine");
        assert_int_equal(ask(&link, 1), CAY_CONFLICT); /* an exec that Docker has forgotten at once */
        fake_docker_tell(&docker, "EXIT");
        for (unsigned i = 0; i < TURNS; i++) {
                link = about(DOCKER_box_link, "mine");
                say(&link, 1);
                assert_true(fake_front_hear(&front, &a));
                if (a.code == CAY_NOT_FOUND)
                        break; /* the list of that round was read */
                assert_int_equal(a.code, CAY_CONFLICT);
                assert_int_equal(front.gone, 0);
                fake_docker_tell(&docker, "NUDGE");
                usleep(20000);
        }
        assert_int_equal(a.code, CAY_NOT_FOUND);
        assert_string_equal(a.text, "box 'mine' has ended");
        assert_int_equal(front.gone, 1);
        assert_int_equal(ask(&drop, 0), CAY_OK);
        assert_non_null(strstr(log_text(), "DELETE /v1.41/containers/" OURS "?force=1&v=1 "));
}

/*
 * Docker has joined the streams of an exec whose process is not started yet. Frozen in this moment, neither a
 * thaw nor a removal would come to an end: so a freeze waits until the helper has said that it runs.
 */
static void a_freeze_waits_for_the_helper(void **state)
{
        struct docker_request link, ice;
        int ends[2];

        assert_int_equal(greet(), CAY_OK);
        fake_docker_tell(&docker, "SLOW");
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        link = about(DOCKER_box_link, "mine");
        fake_front_say(&front, &link, ends, 1);
        fake_docker_wait_for(&docker, "joined\n", 1);
        ice = about(DOCKER_box_freeze, "mine");
        fake_front_say(&front, &ice, NULL, 0);
        usleep(300000);
        assert_int_equal(fake_docker_times(&docker, "/pause "), 0);
        fake_docker_tell(&docker, "READY");
        assert_int_equal(fake_front_hear_code(&front, &link), CAY_OK);
        assert_int_equal(fake_front_hear_code(&front, &ice), CAY_OK);
        assert_int_equal(fake_docker_times(&docker, "/pause "), 1);
        close(ends[0]);
        close(ends[1]);
}

/* Docker says 409 of one that has ended as of one that is frozen already: it is not told as frozen. */
static void one_that_has_ended_is_not_frozen(void **state)
{
        assert_int_equal(greet(), CAY_OK);
        fake_docker_tell(&docker, "EXIT");
        assert_int_equal(freeze(), CAY_CONFLICT);
}

/* Docker made it and its answer was lost: it is found, and goes. */
static void a_create_without_an_answer_is_undone(void **state)
{
        struct docker_request req = about(DOCKER_box_make, "mute");

        assert_int_equal(greet(), CAY_OK);
        req.plan.flags = DOCKER_PLAN_KEEP;
        assert_int_equal(ask(&req, 1), CAY_UNAVAILABLE);
        fake_docker_nudge_until(&docker, "DELETE /v1.41/containers/ffff?force=1&v=1 ", 1);
}

/* A front cannot make it keep more requests than this, whatever Docker does meanwhile. */
static void requests_have_a_number(void **state)
{
        struct docker_request thaw = about(DOCKER_box_thaw, "mine"), one;
        struct docker_answer a;

        assert_int_equal(greet(), CAY_OK);
        say(&thaw, 0);
        for (unsigned i = 0; i < 4096; i++) {
                one = about(DOCKER_box_freeze, "mine");
                say(&one, 0);
        }
        assert_true(fake_front_hear(&front, &a));
        assert_int_equal(a.seq, one.seq);
        assert_int_equal(a.code, CAY_LIMIT);
}

#if defined(__SANITIZE_ADDRESS__)
#define IS_FILTERED false /* its run-time needs calls of its own */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_FILTERED false
#endif
#endif
#ifndef IS_FILTERED
#define IS_FILTERED true
#endif

/* By the time that a front is answered. */
static void it_is_confined(void **state)
{
        char path[64], text[4096];
        ssize_t n;
        int fd;

        assert_int_equal(greet(), CAY_OK);
        snprintf(path, sizeof(path), "/proc/%d/status", (int)front.broker);
        fd = open(path, O_RDONLY);
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        assert_true(n > 0);
        text[n] = '\0';
        assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
        if (IS_FILTERED)
                assert_non_null(strstr(text, "Seccomp:\t2\n"));
        if (geteuid() != 0) { /* root may look into anybody */
                snprintf(path, sizeof(path), "/proc/%d/environ", (int)front.broker);
                assert_int_equal(open(path, O_RDONLY), -1); /* undumpable */
        }
}

static void a_docker_that_is_away_is_told(void **state)
{
        struct docker_request req = { .type = DOCKER_hello, .hello.version = DOCKER_WIRE_VERSION };
        struct docker_answer a;

        say(&req, 0);
        assert_true(fake_front_hear(&front, &a));
        assert_int_equal(a.code, CAY_UNAVAILABLE);
        assert_non_null(strstr(a.text, docker.socket));
}

int main(void)
{
        static int away;
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
                TEST(nothing_before_hello),
                TEST(hello_twice),
                TEST(unknown_requests),
                TEST(another_number_of_descriptors),
                TEST(too_many_descriptors),
                TEST(cut_messages),
                TEST(only_ours_can_be_named),
                TEST(hostile_plans_reach_nobody),
                TEST(what_fails_half_way_is_undone),
                TEST(what_ends_half_way_is_undone),
                TEST(what_was_removed_cannot_go_on),
                TEST(networks_are_undone_and_volumes_are_looked_at),
                TEST(an_old_list_brings_nobody_back),
                TEST(absence_is_told_once),
                TEST(files_that_were_removed_are_told_by_the_stop),
                TEST(who_cannot_be_joined_is_not_unavailable),
                TEST(a_freeze_waits_for_the_helper),
                TEST(one_that_has_ended_is_not_frozen),
                TEST(a_create_without_an_answer_is_undone),
                TEST(requests_have_a_number),
                TEST(it_is_confined),
                cmocka_unit_test_prestate_setup_teardown(a_docker_that_is_away_is_told, set_up, tear_down,
                                                         &away),
        };

        signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
