/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What travels in channels beside commands and their streams: terminals, files, watches, ports, and why a
 * command was ended.
 */
#include "contract/contract.h"

#include <signal.h>

static struct cay_box_open file_open(uint16_t kind, const char *path)
{
        return (struct cay_box_open){ .kind = kind,
                                      .window = CAY_BOX_WINDOW,
                                      .file = { .uid = CAY_BOX_ID_DEFAULT,
                                                .gid = CAY_BOX_ID_DEFAULT,
                                                .path = { path, (uint32_t)strlen(path) } } };
}

static void await_text(struct exec *e, const char *text)
{
        uint64_t end = cay_clock_ms() + WAIT_MS;

        while (memmem(cay_buf_data(&e->out), e->out.len, text, strlen(text)) == NULL) {
                assert_false(e->ended);
                assert_true(cay_clock_ms() < end);
                cay_loop_round(e->box->s->loop, 50);
        }
}

static void place(const struct box *b, const char *name, char ret[256])
{
        snprintf(ret, 256, "%s/%s", b->box.workspace != NULL ? b->box.workspace : "/workspace", name);
}

void terminals_have_a_size(void **state)
{
        static const char *const argv[] = { "/bin/sh", "-c", "stty size; read x; stty size; read x", NULL };
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        if (s->kind->is_fake)
                return;
        make_box(s, &b, "terminal");
        begin_command(&b, &e, argv, CAY_BOX_TTY | CAY_BOX_STDIN);
        await_text(&e, "24 80");
        assert_int_equal(cay_box_channel_resize(&e.ch, 31, 101), 0);
        assert_int_equal(cay_box_channel_write(&e.ch, "\n", 1), 1);
        await_text(&e, "31 101");
        assert_int_equal(cay_box_channel_write(&e.ch, "\x03", 1), 1); /* the terminal makes a signal of it */
        wait_for(s, &e.ended);
        assert_true(e.end.exec.signal == SIGINT || e.end.exec.exit_code == 128 + SIGINT);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

void files_are_written_watched_and_read(void **state)
{
        struct subject *s = subject(state);
        static struct exec watch, e;
        static struct box b;
        struct cay_box_open open;
        char folder[256], path[256];

        if (s->kind->is_fake)
                return;
        make_box(s, &b, "files");
        place(&b, "made", folder);
        place(&b, "made/by-link", path);
        open = file_open(CAY_BOX_MKDIR, folder);
        open.file.mode = 0755;
        begin_channel(&b, &e, &open, NULL);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.code, CAY_OK);
        end_exec(&e);
        open = file_open(CAY_BOX_WATCH, folder);
        begin_channel(&b, &watch, &open, NULL);
        while (watch.out.len == 0) { /* READY: from here on nothing is missed */
                assert_false(watch.ended);
                cay_loop_round(s->loop, 50);
        }
        open = file_open(CAY_BOX_WRITE, path);
        open.file.flags = CAY_BOX_TRUNCATE;
        open.file.mode = 0644;
        begin_channel(&b, &e, &open, NULL);
        assert_int_equal(cay_box_channel_write(&e.ch, "a file's bytes", 14), 14);
        cay_box_channel_write_eof(&e.ch);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.code, CAY_OK);
        end_exec(&e);
        await_text(&watch, "by-link");
        end_exec(&watch);
        open = file_open(CAY_BOX_LIST, folder);
        begin_channel(&b, &e, &open, NULL);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.file.entries, 1);
        assert_non_null(memmem(cay_buf_data(&e.out), e.out.len, "by-link", 7));
        end_exec(&e);
        open = file_open(CAY_BOX_READ, path);
        open.file.offset = 2;
        begin_channel(&b, &e, &open, NULL);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.code, CAY_OK);
        assert_string_equal(cay_buf_data(&e.out), "file's bytes");
        end_exec(&e);
        open = file_open(CAY_BOX_READ, "/etc/../etc/nowhere");
        begin_channel(&b, &e, &open, NULL);
        wait_for(s, &e.ended);
        assert_int_equal(e.end.code, CAY_NOT_FOUND);
        end_exec(&e);
        assert_int_equal(destroy(&b), CAY_OK);
}

/* A server inside, reached without any network. */
void ports_are_reached(void **state)
{
        static const char *const argv[] = {
                "/bin/sh", "-c",
                "command -v python3 >/dev/null || { echo none; exit; }\n"
                "exec python3 -c '\nimport socket\ns = socket.create_server((\"127.0.0.1\", 0))\n"
                "print(\"port %05d\" % s.getsockname()[1], flush=True)\nc, _ = s.accept()\n"
                "while (d := c.recv(9)):\n c.sendall(d.upper())\nprint(\"over\")\n'",
                NULL
        };
        struct subject *s = subject(state);
        static struct exec server, e;
        static struct box b;
        struct cay_box_open open = { .kind = CAY_BOX_CONNECT, .window = CAY_BOX_WINDOW };

        if (s->kind->is_fake)
                return;
        make_box(s, &b, "ports");
        begin_command(&b, &server, argv, 0);
        while (server.out.len < 5)
                cay_loop_round(s->loop, 50);
        if (memcmp(cay_buf_data(&server.out), "none", 4) != 0) {
                await_text(&server, "\n");
                open.connect.port = (uint16_t)strtoul(cay_buf_data(&server.out) + 5, NULL, 10);
                begin_channel(&b, &e, &open, NULL);
                assert_int_equal(cay_box_channel_write(&e.ch, "over a link", 11), 11);
                await_text(&e, "OVER A LINK");
                cay_box_channel_write_eof(&e.ch);
                wait_for(s, &e.ended);
                end_exec(&e);
                wait_for(s, &server.ended);
                begin_channel(&b, &e, &open, NULL); /* nobody listens any more */
                wait_for(s, &e.ended);
                assert_int_not_equal(e.end.code, CAY_OK);
                end_exec(&e);
        }
        end_exec(&server);
        assert_int_equal(destroy(&b), CAY_OK);
}

/* The facts of which domain/model/cause.c makes a cause. */
void says_why_a_command_was_ended(void **state)
{
        static const struct {
                const char *line;
                uint64_t wall_ms, output_max;
                uint32_t killed;
                int32_t signal;
        } rows[] = {
                { "sleep 1000", 200, 0, CAY_KILLED_WALL_TIME, 0 },
                { "while :; do echo line; done", 0, 4096, CAY_KILLED_OUTPUT, 0 },
                { "kill -SEGV $$", 0, 0, CAY_KILLED_NOT, SIGSEGV },
        };
        struct subject *s = subject(state);
        static struct exec e;
        static struct box b;

        if (s->kind->is_fake)
                return;
        make_box(s, &b, "causes");
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                const char *const argv[] = { "/bin/sh", "-c", rows[i].line, NULL };
                struct cay_box_open open = { .kind = CAY_BOX_EXEC,
                                             .window = CAY_BOX_WINDOW,
                                             .exec = { .uid = CAY_BOX_ID_DEFAULT,
                                                       .gid = CAY_BOX_ID_DEFAULT,
                                                       .wall_ms = rows[i].wall_ms,
                                                       .output_max_bytes = rows[i].output_max } };

                begin_channel(&b, &e, &open, argv);
                wait_for(s, &e.ended);
                assert_int_equal(e.end.exec.killed, rows[i].killed);
                if (rows[i].signal != 0)
                        assert_int_equal(e.end.exec.signal, rows[i].signal);
                end_exec(&e);
        }
        assert_int_equal(destroy(&b), CAY_OK);
}
