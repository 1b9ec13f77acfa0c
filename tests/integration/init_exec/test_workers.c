/* SPDX-License-Identifier: Apache-2.0 */
/* File channels end to end: the worker mechanism, as the sandbox's user, under the sandbox's rules. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "integration/init_exec/harness.h"
#include "patience.h"

static enum box_way way;
static char place[64];

static struct cay_box_open file_open(enum cay_box_kind kind, const char *path)
{
        return (struct cay_box_open){
                .kind = (uint16_t)kind,
                .window = CAY_BOX_WINDOW,
                .file = { .uid = CAY_BOX_ID_DEFAULT,
                          .gid = CAY_BOX_ID_DEFAULT,
                          .mode = 0640,
                          .path = { path, (uint32_t)strlen(path) } },
        };
}

static void start(struct box *b)
{
        box_start(b, way);
        snprintf(place, sizeof(place), "/tmp/cay-workers-%d-%d", (int)getpid(), (int)way);
}

static void do_file(struct box *b, struct run *r, enum cay_box_kind kind, const char *path)
{
        struct cay_box_open open = file_open(kind, path);

        run_open(b, r, &open, NULL, NULL);
        run_wait(r, 5000);
}

static void a_file_goes_in_and_out(void **state)
{
        struct cay_box_open open;
        size_t sent = 0, total = 5000000;
        uint64_t hash = 0;
        char block[8192];
        struct run r;
        struct box b;

        start(&b);
        open = file_open(CAY_BOX_WRITE, place);
        open.file.flags = CAY_BOX_TRUNCATE;
        run_open(&b, &r, &open, NULL, NULL);
        memset(block, 'z', sizeof(block));
        while (sent < total && !r.ended) {
                size_t want = total - sent < sizeof(block) ? total - sent : sizeof(block);
                size_t put = cay_box_channel_write(&r.channel, block, want);

                for (size_t i = 0; i < put; i++)
                        hash = (hash ^ 'z') * 0x100000001b3ull;
                sent += put;
                if (put < want)
                        box_round(&b, 100);
        }
        cay_box_channel_write_eof(&r.channel);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_OK);
        assert_int_equal(r.end.file.bytes, total);
        run_free(&r);

        do_file(&b, &r, CAY_BOX_STAT, place);
        assert_int_equal(r.end.code, CAY_OK);
        assert_int_equal(r.end.file.stat.size, total);
        assert_int_equal(r.end.file.stat.type, CAY_FILE_REGULAR);
        assert_int_equal(r.end.file.stat.uid, way == BOX_ISOLATED ? BOX_USER : geteuid());
        run_free(&r);

        do_file(&b, &r, CAY_BOX_READ, place);
        assert_int_equal(r.end.code, CAY_OK);
        assert_int_equal(r.out_bytes, total);
        assert_true(r.out_hash == hash);
        run_free(&r);

        do_file(&b, &r, CAY_BOX_REMOVE, place);
        assert_int_equal(r.end.code, CAY_OK);
        run_free(&r);
        do_file(&b, &r, CAY_BOX_READ, place);
        assert_int_equal(r.end.code, CAY_NOT_FOUND);
        assert_int_equal(r.end.sys, ENOENT);
        run_free(&r);
        box_stop(&b);
}

/* Without a root of its own a box's files are those of the folder that init was started in. */
static void short_paths_begin_where_init_was_started(void **state)
{
        char here[] = "/tmp/cay-short-XXXXXX", file[64];
        int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct run r;
        struct box b;

        if (way == BOX_ISOLATED)
                skip();
        assert_non_null(mkdtemp(here));
        assert_int_equal(chdir(here), 0);
        start(&b);
        do_file(&b, &r, CAY_BOX_MKDIR, "short");
        assert_int_equal(r.end.code, CAY_OK);
        run_free(&r);
        box_stop(&b);
        assert_int_equal(fchdir(before), 0);
        close(before);
        snprintf(file, sizeof(file), "%s/short", here);
        assert_int_equal(rmdir(file), 0);
        assert_int_equal(rmdir(here), 0);
}

static void the_users_rights_hold(void **state)
{
        struct run r;
        struct box b;

        if (way != BOX_ISOLATED)
                skip();
        start(&b);
        do_file(&b, &r, CAY_BOX_READ, "/etc/shadow");
        assert_int_equal(r.end.code, CAY_DENIED);
        run_free(&r);
        do_file(&b, &r, CAY_BOX_MKDIR, "/etc/cay-made");
        assert_int_equal(r.end.code, CAY_DENIED);
        run_free(&r);
        do_file(&b, &r, CAY_BOX_CHMOD, "/proc/self/comm");
        assert_int_not_equal(r.end.code, CAY_OK);
        run_free(&r);
        box_stop(&b);
}

/* The row of the process that sleeps and has just these words; NULL: there is none. */
static const char *find_sleeper(const char *list, const char *words)
{
        for (const char *row = list; row[0] != '\0'; row = strchrnul(row, '\n')) {
                int at = 0;

                row += row[0] == '\n';
                if (sscanf(row, "%*d %*d %*u S:%*u:%*u %n", &at) == 0 && at > 0 &&
                    strncmp(row + at, words, strlen(words)) == 0 && row[at + (int)strlen(words)] == '\n')
                        return row;
        }
        return NULL;
}

static void processes_know_their_exec(void **state)
{
        struct run r, list;
        bool is_up = false;
        char row[64];
        struct box b;

        start(&b);
        run_sh(&b, &r, NULL, "setsid sh -c 'sleep 77 & wait' & sleep 78");
        for (int i = 0; i < 2000 && !is_up;
             i++) { /* until both sleep: the shell's own row has the words too */
                do_file(&b, &list, CAY_BOX_PROCESSES, "");
                assert_int_equal(list.end.code, CAY_OK);
                is_up = find_sleeper(cay_buf_data(&list.out), "sleep 78") &&
                        (way == BOX_PLAIN || find_sleeper(cay_buf_data(&list.out), "sleep 77"));
                if (!is_up) {
                        run_free(&list);
                        usleep(10000);
                }
        }
        assert_true(is_up);
        if (way != BOX_PLAIN) { /* without a cgroup a daemon's origin is a guess */
                const char *at = find_sleeper(cay_buf_data(&list.out), "sleep 77");

                snprintf(row, sizeof(row), "%.*s", (int)strcspn(at, "\n"), at);
                assert_non_null(strstr(row, " 1 ")); /* the channel's number, among pid and parent */
        }
        run_free(&list);
        run_free(&r);
        box_stop(&b);
}

static unsigned workers(struct box *b)
{
        struct run r;
        unsigned n;

        /* By uid: a spare (cay-init/prefork.h) is a child of init's as well, under init's own. */
        run_sh(b, &r, NULL,
               "grep -ls '^Uid:.1001' $(grep -ls '^PPid:.1$' /proc/[0-9]*/status) /dev/null | wc -l");
        run_wait(&r, 5000);
        n = (unsigned)strtoul(cay_buf_data(&r.out), NULL, 10);
        run_free(&r);
        return n;
}

static void closing_stops_the_worker(void **state)
{
        struct cay_box_open open;
        struct run r;
        struct box b;

        if (way != BOX_ISOLATED)
                skip(); /* pids are the machine's there */
        start(&b);
        open = file_open(CAY_BOX_WRITE, place);
        run_open(&b, &r, &open, NULL, NULL); /* waits for bytes that never come */
        run_wait_opened(&r, 5000);
        for (int i = 0; i < 1000 && workers(&b) < 2; i++) /* for a moment it still has init's uid */
                usleep(10000);
        assert_int_equal(workers(&b), 2); /* it, and the shell that counts */
        run_free(&r);
        for (int i = 0; i < 1000 && workers(&b) > 1; i++)
                usleep(10000);
        assert_int_equal(workers(&b), 1);
        box_stop(&b);
}

static void a_killed_worker_is_told(void **state)
{
        struct cay_box_open open;
        struct run r, killer;
        char script[128];
        struct box b;

        start(&b);
        open = file_open(CAY_BOX_WRITE, place);
        run_open(&b, &r, &open, NULL, NULL);
        run_wait_opened(&r, 5000);
        /* For a moment it still has init's uid, and is not ours to kill. */
        snprintf(script, sizeof(script),
                 "i=0; until kill -9 %u || [ $i -ge 1000 ]; do i=$((i+1)); sleep 0.01; done", r.pid);
        run_sh(&b, &killer, NULL, script);
        run_wait(&killer, 15000);
        run_free(&killer);
        run_wait(&r, 5000);
        assert_int_equal(r.end.code, CAY_UNAVAILABLE);
        run_free(&r);
        do_file(&b, &r, CAY_BOX_REMOVE, place);
        run_free(&r);
        box_stop(&b);
}

static void reading_survives_cuts(void **state)
{
        struct cay_box_open open;
        uint64_t next = 0, until = now_ms() + test_patience(20000);
        struct run r;
        struct box b;

        start(&b);
        run_sh(&b, &r, NULL, "head -c 8000000 /dev/zero > /tmp/cay-cuts; chmod 644 /tmp/cay-cuts");
        run_wait(&r, 5000);
        run_free(&r);
        open = file_open(CAY_BOX_READ, "/tmp/cay-cuts");
        run_open(&b, &r, &open, NULL, NULL);
        r.keep = false;
        while (!r.ended) {
                assert_true(now_ms() < until);
                box_round(&b, 100);
                if (r.out_bytes >= next) {
                        next += 500000;
                        box_relink(&b);
                }
        }
        assert_int_equal(r.out_bytes, 8000000);
        assert_int_equal(r.end.code, CAY_OK);
        run_free(&r);
        do_file(&b, &r, CAY_BOX_REMOVE, "/tmp/cay-cuts");
        run_free(&r);
        box_stop(&b);
}

/*
 * Connections to a port of the box's loopback, which init listens on; here the box shares the test's network.
 */

static uint16_t free_port(void)
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t len = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
        close(fd);
        return ntohs(at.sin_port);
}

static int dial(struct box *b, uint16_t port)
{
        const struct sockaddr_in at = { .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr = { htonl(INADDR_LOOPBACK) } };
        uint64_t until = now_ms() + test_patience(5000);

        for (;;) {
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

                if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
                        return fd;
                close(fd);
                assert_true(now_ms() < until);
                box_round(b, 20);
        }
}

static void read_text(struct box *b, int fd, const char *text)
{
        uint64_t until = now_ms() + test_patience(5000);
        char got[64] = "";
        size_t len = 0;

        while (len < strlen(text)) {
                ssize_t n = recv(fd, got + len, strlen(text) - len, MSG_DONTWAIT);

                assert_true(now_ms() < until && n != 0);
                len += n > 0 ? (size_t)n : 0;
                box_round(b, 10);
        }
        assert_string_equal(got, text);
}

/* 0: an end; else the error that came instead. */
static int read_end(struct box *b, int fd)
{
        uint64_t until = now_ms() + test_patience(5000);
        char byte;

        for (;;) {
                ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

                if (n == 0)
                        return 0;
                if (n < 0 && errno != EAGAIN)
                        return errno;
                assert_true(now_ms() < until);
                box_round(b, 10);
        }
}

static void connections_are_accepted(void **state)
{
        struct cay_box_open open = { .kind = CAY_BOX_ACCEPT, .window = CAY_BOX_WINDOW };
        struct run first, second, third, other;
        int one, two, three;
        struct box b;

        if (way != BOX_PLAIN)
                skip();
        start(&b);
        open.connect.port = free_port();
        run_open(&b, &first, &open, NULL, NULL);
        run_open(&b, &second, &open, NULL, NULL);
        one = dial(&b, open.connect.port);
        run_wait_opened(&first, 5000);
        assert_int_equal(first.pid, 0);
        assert_int_equal(send(one, "ping", 4, 0), 4);
        run_wait_out(&first, "ping", 5000);
        assert_false(second.opened); /* it waits for the next */
        box_relink(&b);              /* a cut is survived, by the one that waits, too */
        assert_int_equal(cay_box_channel_write(&first.channel, "pong", 4), 4);
        read_text(&b, one, "pong");
        cay_box_channel_write_eof(&first.channel);
        assert_int_equal(read_end(&b, one), 0);
        assert_int_equal(send(one, "more", 4, 0), 4); /* the other direction goes on */
        run_wait_out(&first, "pingmore", 5000);
        close(one);
        run_wait(&first, 5000);
        assert_int_equal(first.end.code, CAY_OK);

        two = dial(&b, open.connect.port);
        three = dial(&b, open.connect.port); /* nobody waits for it: it waits in the kernel */
        run_wait_opened(&second, 5000);
        cay_box_channel_close(&second.channel); /* cut off, not ended */
        assert_int_equal(read_end(&b, two), ECONNRESET);
        run_open(&b, &third, &open, NULL, NULL);
        run_wait_opened(&third, 5000);
        open.connect.port = free_port();
        run_open(&b, &other, &open, NULL, NULL);
        run_wait(&other, 5000); /* there is one port */
        assert_int_equal(other.end.code, CAY_UNAVAILABLE);
        close(two);
        close(three);
        run_free(&first);
        run_free(&second);
        run_free(&third);
        run_free(&other);
        box_stop(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(short_paths_begin_where_init_was_started),
                cmocka_unit_test(a_file_goes_in_and_out),
                cmocka_unit_test(the_users_rights_hold),
                cmocka_unit_test(processes_know_their_exec),
                cmocka_unit_test(closing_stops_the_worker),
                cmocka_unit_test(a_killed_worker_is_told),
                cmocka_unit_test(reading_survives_cuts),
                cmocka_unit_test(connections_are_accepted),
        };
        static const char *const names[] = { "files by a plain process", "files with a cgroup2 node",
                                             "files in namespaces" };
        int failed = 0;

        for (way = BOX_PLAIN; way <= BOX_ISOLATED; way++) {
                if (way == BOX_ISOLATED && geteuid() != 0) {
                        print_message("files in namespaces: needs root, skipped\n");
                        continue;
                }
                failed += _cmocka_run_group_tests(names[way], tests, CAY_COUNT(tests), NULL, NULL);
        }
        return failed;
}
