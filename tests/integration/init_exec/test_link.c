/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init's side of the box link: lost and replaced streams, hostile frames, windows, and what it keeps for
 * whom.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "integration/init_exec/harness.h"
#include "patience.h"

#define MANY_BYTES (100u * 1000 * 1000)

/* What `out_hash` must be for a stream of bytes 'x'. */
static uint64_t hash_of_x(uint64_t bytes)
{
        uint64_t h = 0;

        for (uint64_t i = 0; i < bytes; i++)
                h = (h ^ 'x') * 0x100000001b3ull;
        return h;
}

static unsigned memory_kb(pid_t pid)
{
        char path[64], text[4096], *at;
        FILE *f;
        size_t n;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        f = fopen(path, "r");
        assert_non_null(f);
        n = fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
        text[n] = 0;
        at = strstr(text, "VmRSS:");
        return at ? (unsigned)strtoul(at + 6, NULL, 10) : 0;
}

static void cut_streams_lose_nothing(void **state)
{
        struct run flood, stalled;
        unsigned cuts = 0, highest = 0;
        uint64_t next = 0, until = now_ms() + test_patience(60000);
        struct box b;

        box_start(&b, BOX_CGROUP);
        run_sh(&b, &stalled, NULL, "head -c 2000000 /dev/zero | tr '\\0' x");
        stalled.stalled = true;
        stalled.keep = false;
        run_sh(&b, &flood, NULL, "head -c 100000000 /dev/zero | tr '\\0' x");
        flood.keep = false;
        while (!flood.ended) {
                assert_true(now_ms() < until);
                box_round(&b, 100);
                if (flood.out_bytes >= next && cuts < 100) {
                        unsigned kb = memory_kb(b.pid);

                        highest = kb > highest ? kb : highest;
                        next += MANY_BYTES / 101;
                        cuts++;
                        box_relink(&b);
                }
        }
        assert_int_equal(cuts, 100);
        assert_int_equal(flood.out_bytes, MANY_BYTES);
        assert_true(flood.out_hash == hash_of_x(MANY_BYTES));
        assert_true(stalled.out_bytes <= CAY_BOX_WINDOW);
        assert_false(stalled.ended);
        stalled.stalled = false;
        cay_box_channel_ack(&stalled.channel, CAY_STREAM_OUT, stalled.out_bytes);
        run_wait(&stalled, 10000);
        assert_int_equal(stalled.out_bytes, 2000000);
        assert_true(stalled.out_hash == hash_of_x(2000000));
#ifndef __SANITIZE_ADDRESS__
        assert_in_range(highest, 1, 4096); /* two rings, two buffers */
#endif
        run_free(&flood);
        run_free(&stalled);
        box_stop(&b);
}

static void input_survives_cuts(void **state)
{
        struct cay_box_open open = run_default();
        uint64_t until = now_ms() + test_patience(30000);
        size_t sent = 0, total = 5000000, next = 0;
        char block[7000];
        struct run r;
        struct box b;

        box_start(&b, BOX_PLAIN);
        open.exec.flags = CAY_BOX_STDIN;
        run_sh(&b, &r, &open, "tr a-z b-za");
        r.keep = false;
        memset(block, 'w', sizeof(block));
        while (sent < total) {
                size_t want = total - sent < sizeof(block) ? total - sent : sizeof(block);
                size_t put = cay_box_channel_write(&r.channel, block, want);

                assert_true(now_ms() < until);
                sent += put;
                if (put < want)
                        box_round(&b, 50);
                if (sent >= next) {
                        next += total / 30;
                        box_relink(&b);
                }
        }
        cay_box_channel_write_eof(&r.channel);
        run_wait(&r, 10000);
        assert_int_equal(r.out_bytes, total);
        assert_true(r.out_hash == hash_of_x(total));
        run_free(&r);
        box_stop(&b);
}

static void an_end_is_kept_until_it_is_seen(void **state)
{
        struct run r;
        struct box b;

        box_start(&b, BOX_CGROUP);
        run_sh(&b, &r, NULL, "echo kept; exit 11");
        run_wait_opened(&r, 5000);
        cay_box_client_drop(b.client);
        usleep(200000); /* it ends while nobody listens */
        box_relink(&b);
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.exit_code, 11);
        assert_string_equal(cay_buf_data(&r.out), "kept\n");
        run_free(&r);
        box_stop(&b);
}

static void limits_hold_while_nobody_listens(void **state)
{
        struct cay_box_open open = run_default();
        uint64_t until;
        struct run r;
        struct box b;

        box_start(&b, BOX_CGROUP);
        open.exec.wall_ms = 200;
        run_sh(&b, &r, &open, "sleep 100");
        run_wait_opened(&r, 5000);
        cay_box_client_drop(b.client);
        until = now_ms() + test_patience(5000);
        while (kill((pid_t)r.pid, 0) == 0 && now_ms() < until)
                usleep(10000);
        assert_int_equal(kill((pid_t)r.pid, 0), -1); /* before anybody listens again */
        box_relink(&b);
        run_wait(&r, 5000);
        assert_int_equal(r.end.exec.killed, CAY_KILLED_WALL_TIME);
        run_free(&r);
        box_stop(&b);
}

static void a_one_shot_run_survives_cuts(void **state)
{
        struct cay_box_open open = run_default();
        struct run r;
        struct box b;

        box_start(&b, BOX_CGROUP);
        open.exec.flags = CAY_BOX_ONE_SHOT | CAY_BOX_STDIN;
        run_sh(&b, &r, &open, "read x; echo done");
        run_wait_opened(&r, 5000);
        for (int i = 0; i < 5; i++) {
                cay_box_client_drop(b.client);
                usleep(20000);
                box_relink(&b);
                box_round(&b, 10);
        }
        assert_int_equal(cay_box_channel_write(&r.channel, "\n", 1), 1);
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "done\n");
        assert_int_equal(box_wait_gone(&b, 5000), 0);
        run_free(&r);
        box_stop(&b);
}

/*
 * It waits for seconds whether a front comes back: begun first and looked at last, so that others test
 * meanwhile.
 */
static struct {
        struct box b;
        struct run r;
        uint64_t begun;
} alone;

static void a_one_shot_box_is_left_without_front(void **state)
{
        struct cay_box_open open = run_default();

        alone.begun = now_ms();
        box_start(&alone.b, BOX_CGROUP);
        open.exec.flags = CAY_BOX_ONE_SHOT;
        run_sh(&alone.b, &alone.r, &open, "sleep 100");
        run_wait_opened(&alone.r, 5000);
        cay_box_client_drop(alone.b.client);
        assert_int_equal(box_wait_gone(&alone.b, 25), -1);
}

static void a_one_shot_box_without_front_goes(void **state)
{
        assert_int_equal(box_wait_gone(&alone.b, 8000), 0);
        assert_true(now_ms() - alone.begun >= 4000);
        run_free(&alone.r);
        box_stop(&alone.b);
}

/* Reads what init says until it ends the stream; returns the bytes that came. */
static size_t read_all(int fd, int max_ms)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char bytes[4096];
        size_t got = 0;

        for (;;) {
                ssize_t n;

                if (poll(&p, 1, (int)test_patience((unsigned)max_ms)) <= 0)
                        fail_msg("the stream was not ended");
                n = read(fd, bytes, sizeof(bytes));
                if (n <= 0)
                        return got;
                got += (size_t)n;
        }
}

static void put_frame(struct cay_buf *to, unsigned type, uint32_t channel, unsigned stream, uint64_t seq,
                      const void *payload, uint32_t len)
{
        struct cay_frame f = {
                .len = len, .channel = channel, .seq = seq, .type = (uint16_t)type, .stream = (uint16_t)stream
        };
        uint8_t header[CAY_FRAME_HEADER];

        cay_frame_encode(&f, header);
        assert_int_equal(cay_buf_put(to, header, sizeof(header)), 0);
        assert_int_equal(cay_buf_put(to, payload, len), 0);
}

static void put_hello(struct box *b, struct cay_buf *to, uint32_t version, int wrong_at)
{
        struct cay_box_hello hello = { .version = version };
        uint8_t payload[64];
        int len;

        memcpy(hello.secret, b->config.secret, sizeof(hello.secret));
        if (wrong_at >= 0)
                hello.secret[wrong_at] ^= 0x40;
        len = cay_box_hello_encode(&hello, payload, sizeof(payload));
        put_frame(to, CAY_FRAME_HELLO, 0, 0, 0, payload, (uint32_t)len);
}

/* Sends these bytes on a fresh stream: init must end it, and must be fine on the next one. */
static size_t is_refused(struct box *b, struct cay_buf *bytes)
{
        int fd;
        size_t got;

        cay_box_client_drop(b->client);
        fd = box_raw_link(b);
        assert_true(send(fd, cay_buf_data(bytes), bytes->len, MSG_NOSIGNAL) > 0);
        got = read_all(fd, 10000);
        close(fd);
        cay_buf_clear(bytes);
        return got;
}

static void is_fine(struct box *b)
{
        struct run r;

        box_relink(b);
        run_sh(b, &r, NULL, "echo fine");
        run_wait(&r, 5000);
        assert_string_equal(cay_buf_data(&r.out), "fine\n");
        run_free(&r);
}

static void breaches_end_the_stream_only(void **state)
{
        static const uint8_t zeros[64];
        struct cay_buf bytes;
        uint8_t exec[512];
        const char *const argv[] = { "true", NULL };
        struct cay_box_open open = run_default();
        int exec_len;
        struct box b;

        cay_buf_init(&bytes, 1 << 20);
        box_start(&b, BOX_PLAIN);
        exec_len = cay_box_open_encode(&open, argv, NULL, exec, sizeof(exec));
        assert_true(exec_len > 0);

        /* Before HELLO: nothing, and nothing is said. */
        put_frame(&bytes, CAY_FRAME_PING, 0, 0, 0, zeros, 8);
        assert_int_equal(is_refused(&b, &bytes), 0);
        put_frame(&bytes, CAY_FRAME_OPEN, 7, 0, 0, exec, (uint32_t)exec_len);
        assert_int_equal(is_refused(&b, &bytes), 0);
        for (int i = 0; i < CAY_BOX_SECRET; i++) {
                put_hello(&b, &bytes, CAY_BOX_VERSION, i);
                assert_int_equal(is_refused(&b, &bytes), 0);
        }
        cay_buf_put(&bytes, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35);
        assert_int_equal(is_refused(&b, &bytes), 0);
        put_hello(&b, &bytes, CAY_BOX_VERSION + 1, -1); /* WELCOME tells our version, then the end */
        assert_int_equal(is_refused(&b, &bytes), CAY_FRAME_HEADER + 8);

        /* After it. */
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
        is_refused(&b, &bytes);
        static const struct {
                unsigned type;
                uint32_t len;
        } unknown_channel[] = {
                { CAY_FRAME_RESUME, 16 },
                { CAY_FRAME_DATA, 1 },
                { CAY_FRAME_ACK, 0 },
                { CAY_FRAME_SIGNAL, 4 },
                { CAY_FRAME_KILL, 4 },
                { CAY_FRAME_RESIZE, 4 },
                { CAY_FRAME_EOF, 0 },
                { CAY_FRAME_WELCOME, 8 },
                { CAY_FRAME_END, 16 },
                { CAY_FRAME_PONG, 8 },
                { 99, 0 },
        };
        for (size_t i = 0; i < CAY_COUNT(unknown_channel); i++) {
                bool is_ack = unknown_channel[i].type == CAY_FRAME_ACK;

                put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
                put_frame(&bytes, unknown_channel[i].type, 5, is_ack ? CAY_STREAM_OUT : 0, 0, zeros,
                          unknown_channel[i].len);
                is_refused(&b, &bytes);
        }
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1); /* bytes that are no OPEN */
        put_frame(&bytes, CAY_FRAME_OPEN, 5, 0, 0, zeros, 64);
        is_refused(&b, &bytes);
        for (int cut = 6; cut < exec_len; cut += 5) {
                put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
                put_frame(&bytes, CAY_FRAME_OPEN, 5, 0, 0, exec, (uint32_t)cut);
                is_refused(&b, &bytes);
        }
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1); /* the same number twice on one stream */
        put_frame(&bytes, CAY_FRAME_OPEN, 50000, 0, 0, exec, (uint32_t)exec_len);
        put_frame(&bytes, CAY_FRAME_OPEN, 50000, 0, 0, exec, (uint32_t)exec_len);
        is_refused(&b, &bytes);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1); /* an acknowledgement of what was never sent */
        put_frame(&bytes, CAY_FRAME_OPEN, 50001, 0, 0, exec, (uint32_t)exec_len);
        put_frame(&bytes, CAY_FRAME_ACK, 50001, CAY_STREAM_OUT, 1000, NULL, 0);
        is_refused(&b, &bytes);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1); /* a hole in IN */
        put_frame(&bytes, CAY_FRAME_OPEN, 50002, 0, 0, exec, (uint32_t)exec_len);
        put_frame(&bytes, CAY_FRAME_DATA, 50002, CAY_STREAM_IN, 10, zeros, 5);
        is_refused(&b, &bytes);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1); /* claims more than was ever produced */
        put_frame(&bytes, CAY_FRAME_OPEN, 50003, 0, 0, exec, (uint32_t)exec_len);
        is_fine(&b);
        cay_buf_clear(&bytes);
        box_stop(&b);
        cay_buf_done(&bytes);
}

static void half_a_frame_is_waited_for_and_forgotten(void **state)
{
        struct cay_buf bytes;
        struct box b;
        int fd;

        cay_buf_init(&bytes, 4096);
        box_start(&b, BOX_PLAIN);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
        cay_box_client_drop(b.client);
        for (size_t len = 1; len < bytes.len; len += 11) {
                fd = box_raw_link(&b);
                assert_int_equal(send(fd, cay_buf_data(&bytes), len, MSG_NOSIGNAL), len);
                close(fd);
        }
        is_fine(&b);
        box_stop(&b);
        cay_buf_done(&bytes);
}

static void stand_still(const struct box *b)
{
        int status = 0;

        assert_int_equal(kill(b->pid, SIGSTOP), 0);
        assert_int_equal(waitpid(b->pid, &status, WUNTRACED), b->pid);
        assert_true(WIFSTOPPED(status));
}

/* Until the word has come; frames are left as they are. */
static void read_word(int fd, const char *word)
{
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char bytes[8192];
        size_t got = 0;

        while (!memmem(bytes, got, word, strlen(word))) {
                ssize_t n;

                assert_int_equal(poll(&p, 1, (int)test_patience(10000)), 1);
                n = read(fd, bytes + got, sizeof(bytes) - got);
                assert_true(n > 0);
                got += (size_t)n;
        }
}

/* More frames than a round reads, and the next link, lie there when init comes to look. */
static void what_a_front_said_last_counts(void **state)
{
        const char *const argv[] = { "sh", "-c", "wc -c", NULL };
        struct cay_box_open open = run_default();
        struct cay_box_resume nothing = { 0 };
        struct cay_buf bytes;
        uint8_t payload[512];
        int len, fd;
        struct box b;

        cay_buf_init(&bytes, 1 << 20);
        box_start(&b, BOX_PLAIN);
        cay_box_client_drop(b.client);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
        open.exec.flags = CAY_BOX_STDIN;
        len = cay_box_open_encode(&open, argv, NULL, payload, sizeof(payload));
        assert_true(len > 0);
        put_frame(&bytes, CAY_FRAME_OPEN, 7, 0, 0, payload, (uint32_t)len);
        for (unsigned i = 0; i < 100; i++)
                put_frame(&bytes, CAY_FRAME_DATA, 7, CAY_STREAM_IN, 10ull * i, "0123456789", 10);
        put_frame(&bytes, CAY_FRAME_EOF, 7, CAY_STREAM_IN, 1000, NULL, 0);
        fd = box_raw_link(&b);
        stand_still(&b);
        assert_int_equal(send(fd, cay_buf_data(&bytes), bytes.len, MSG_NOSIGNAL), bytes.len);
        close(fd);
        fd = box_raw_link(&b);
        cay_buf_clear(&bytes);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
        len = cay_box_resume_encode(&nothing, payload, sizeof(payload));
        put_frame(&bytes, CAY_FRAME_RESUME, 7, 0, 0, payload, (uint32_t)len);
        assert_int_equal(send(fd, cay_buf_data(&bytes), bytes.len, MSG_NOSIGNAL), bytes.len);
        assert_int_equal(kill(b.pid, SIGCONT), 0);
        read_word(fd, "1000\n");
        close(fd);
        box_stop(&b);
        cay_buf_done(&bytes);
}

static void pings_are_answered(void **state)
{
        uint64_t until = now_ms() + test_patience(5000);
        struct box b;

        box_start(&b, BOX_PLAIN);
        for (int i = 0; i < 20; i++)
                assert_int_equal(cay_box_client_ping(b.client, 0x0102030405060708ull), 0);
        while (b.pongs < 20 && now_ms() < until)
                box_round(&b, 20);
        assert_int_equal(b.pongs, 20);
        cay_box_client_ask_kinds(b.client);
        while (cay_box_client_kinds(b.client) == 0 && now_ms() < until)
                box_round(&b, 20);
        assert_int_equal(cay_box_client_kinds(b.client), CAY_BOX_KIND_COUNT - 1);
        box_stop(&b);
}

static uint64_t data_kb(pid_t pid)
{
        unsigned long long kb = 0;
        char path[64], line[200];
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        f = fopen(path, "re");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f) && sscanf(line, "VmData: %llu kB", &kb) != 1)
                ;
        fclose(f);
        assert_true(kb > 0);
        return kb;
}

#define CHANNEL_KB 8

/* AddressSanitizer keeps freed memory for as long as it likes: there the size says nothing. */
static void check_growth(uint64_t kb, uint64_t max_kb)
{
#ifndef __SANITIZE_ADDRESS__
        assert_in_range(kb, 1, max_kb);
#endif
}

/*
 * Whatever their output and their input, commands that nobody reads leave room for others: smaller windows,
 * no refusal.
 */
static void windows_grow_by_use_and_refuse_nobody(void **state)
{
        enum { FLOODS = 140 };
        static struct run floods[FLOODS];
        static uint8_t input[CAY_BOX_WINDOW];
        struct cay_box_open open = run_default();
        struct cay_box_open read = { .kind = CAY_BOX_READ,
                                     .window = CAY_BOX_WINDOW,
                                     .file = { .uid = CAY_BOX_ID_DEFAULT,
                                               .gid = CAY_BOX_ID_DEFAULT,
                                               .path = { "/etc/passwd", strlen("/etc/passwd") } } };
        uint64_t kb_before, taken = 0;
        struct run r;
        struct box b;

        box_start(&b, BOX_CGROUP);
        run_sh(&b, &r, &open, "true");
        run_wait(&r, 5000);
        run_free(&r);
        kb_before = data_kb(b.pid);
        open.exec.flags |= CAY_BOX_STDIN;
        for (size_t i = 0; i < FLOODS; i++) {
                run_sh(&b, &floods[i], &open, "cat /dev/zero & cat /dev/zero >&2");
                floods[i].stalled = true;
        }
        for (size_t i = 0; i < FLOODS; i++) {
                run_wait_opened(&floods[i], 20000);
                assert_false(floods[i].ended);
                taken += cay_box_channel_write(&floods[i].channel, input, sizeof(input));
        }
        for (size_t i = 0; i < FLOODS; i++) { /* each gets on */
                uint64_t until = now_ms() + test_patience(20000);

                while (floods[i].out_bytes < CAY_SENDER_LEAST && now_ms() < until)
                        box_round(&b, 20);
                assert_true(floods[i].out_bytes >= CAY_SENDER_LEAST);
        }
        assert_true(taken <= CAY_BOX_POOL_MAX + FLOODS * (uint64_t)CAY_SENDER_LEAST);
        run_sh(&b, &r, &open, "seq 1 20000 | tail -n 1; seq 1 100000 >/dev/null");
        cay_box_channel_write_eof(&r.channel);
        run_wait(&r, 20000);
        assert_int_equal(r.end.code, CAY_OK);
        assert_string_equal(cay_buf_data(&r.out), "20000\n");
        run_free(&r);
        run_open(&b, &r, &read, NULL, NULL);
        run_wait(&r, 20000);
        assert_int_equal(r.end.code, CAY_OK);
        assert_true(r.out.len > 0);
        run_free(&r);
        /* Rings, what waits of IN (twice, since a buffer doubles), and little for each channel. */
        check_growth(data_kb(b.pid) - kb_before,
                     (3 * CAY_BOX_POOL_MAX + 4 * FLOODS * CAY_SENDER_LEAST) / 1024 + CHANNEL_KB * FLOODS);
        for (size_t i = 0; i < FLOODS; i++)
                run_free(&floods[i]);
        box_stop(&b);
}

static void a_stalled_reader_stops_the_writer(void **state)
{
        uint64_t before, until = now_ms() + test_patience(10000);
        struct run r;
        struct box b;

        box_start(&b, BOX_CGROUP);
        run_sh(&b, &r, NULL, "yes x");
        r.stalled = true;
        r.keep = false;
        while (r.out_bytes < CAY_BOX_WINDOW && now_ms() < until)
                box_round(&b, 10);
        before = r.out_bytes;
        assert_int_equal(before, CAY_BOX_WINDOW);
        for (int i = 0; i < 10; i++)
                box_round(&b, 10);
        assert_int_equal(r.out_bytes, before);
        cay_box_channel_ack(&r.channel, CAY_STREAM_OUT, before);
        r.stalled = false;
        while (r.out_bytes <= 4 * before && now_ms() < until)
                box_round(&b, 10);
        assert_true(r.out_bytes > 4 * before);
        cay_box_channel_kill(&r.channel, CAY_KILLED_ASKED);
        run_wait(&r, 5000);
        run_free(&r);
        box_stop(&b);
}

/* Reads frames up to the first of this type; its payload is in `payload`. */
static struct cay_frame read_frame(int fd, unsigned type, uint8_t payload[4096])
{
        uint8_t header[CAY_FRAME_HEADER];
        struct cay_frame f;

        do {
                assert_int_equal(recv(fd, header, sizeof(header), MSG_WAITALL), sizeof(header));
                assert_int_equal(cay_frame_decode(header, CAY_SIDE_INIT, &f), 0);
                assert_in_range(f.len, 0, 4096);
                assert_true(f.len == 0 || recv(fd, payload, f.len, MSG_WAITALL) == (ssize_t)f.len);
        } while (f.type != type);
        return f;
}

static void sync_forgets_what_nobody_asks_for(void **state)
{
        struct cay_buf bytes;
        uint8_t exec[512], reply[4096];
        const char *const argv[] = { "true", NULL };
        struct cay_box_open open = run_default();
        struct cay_box_welcome w;
        struct cay_frame f;
        int len, fd;
        struct box b;

        cay_buf_init(&bytes, 4096);
        box_start(&b, BOX_CGROUP);
        is_fine(&b);
        len = cay_box_open_encode(&open, argv, NULL, exec, sizeof(exec));
        cay_box_client_drop(b.client);
        fd = box_raw_link(&b);
        put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
        put_frame(&bytes, CAY_FRAME_OPEN, 77, 0, 0, exec, (uint32_t)len);
        assert_true(send(fd, cay_buf_data(&bytes), bytes.len, MSG_NOSIGNAL) > 0);
        read_frame(fd, CAY_FRAME_END, reply); /* the front goes without a word about it */
        close(fd);
        for (int round = 0; round < 2; round++) {
                uint32_t known = 0;

                fd = box_raw_link(&b);
                cay_buf_clear(&bytes);
                put_hello(&b, &bytes, CAY_BOX_VERSION, -1);
                put_frame(&bytes, CAY_FRAME_SYNC, 0, 0, 0, NULL, 0);
                assert_true(send(fd, cay_buf_data(&bytes), bytes.len, MSG_NOSIGNAL) > 0);
                f = read_frame(fd, CAY_FRAME_WELCOME, reply);
                assert_int_equal(cay_box_welcome_decode(reply, f.len, &w), 0);
                for (uint32_t i = 0; i < w.count; i++)
                        known += w.channels[i] == 77;
                assert_int_equal(known, round == 0);
                close(fd);
        }
        box_stop(&b);
        cay_buf_done(&bytes);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_one_shot_box_is_left_without_front),
                cmocka_unit_test(cut_streams_lose_nothing),
                cmocka_unit_test(input_survives_cuts),
                cmocka_unit_test(an_end_is_kept_until_it_is_seen),
                cmocka_unit_test(limits_hold_while_nobody_listens),
                cmocka_unit_test(a_one_shot_run_survives_cuts),
                cmocka_unit_test(breaches_end_the_stream_only),
                cmocka_unit_test(half_a_frame_is_waited_for_and_forgotten),
                cmocka_unit_test(what_a_front_said_last_counts),
                cmocka_unit_test(pings_are_answered),
                cmocka_unit_test(windows_grow_by_use_and_refuse_nobody),
                cmocka_unit_test(a_stalled_reader_stops_the_writer),
                cmocka_unit_test(sync_forgets_what_nobody_asks_for),
                cmocka_unit_test(a_one_shot_box_without_front_goes),
        };

        return cmocka_run_group_tests_name("init's side of the box link", tests, NULL, NULL);
}
