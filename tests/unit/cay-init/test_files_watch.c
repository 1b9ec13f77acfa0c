/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH: what happens is told, with names, moves as one, folders that come and go, and nothing lost in
 * silence.
 */

#include "test_files.h"

#include <poll.h>
#include <sys/inotify.h>

#include "links/box/notice.h"

enum { PATIENCE_MS = 20000 };

struct watch {
        pid_t pid;
        int fd;
        char buf[128 * 1024];
        size_t len;
        struct cay_box_notice last;
        char name[CAY_BOX_PATH_MAX], name2[CAY_BOX_PATH_MAX];
};

static struct watch w;

/* The worker in a child of its own; its result is its exit status: the code. */
static void begin(const char *path, uint32_t flags, uint64_t max)
{
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        w.len = 0;
        w.pid = fork_rival();
        if (w.pid == 0) {
                struct cay_box_open open_msg = { .kind = CAY_BOX_WATCH,
                                                 .file = { .flags = flags, .max_entries = max } };
                struct cay_worker_request req = {
                        .open = &open_msg, .path = path, .path2 = "", .in_fd = -1, .out_fd = ends[1]
                };
                struct cay_worker_result res = { 0 };

                cay_file_watch(&req, &res);
                _exit((int)res.code);
        }
        close(ends[1]);
        w.fd = ends[0];
}

static bool read_more(void)
{
        struct pollfd p = { .fd = w.fd, .events = POLLIN };
        ssize_t n;

        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
        n = read(w.fd, w.buf + w.len, sizeof(w.buf) - w.len);
        assert_true(n >= 0);
        w.len += (size_t)n;
        return n > 0;
}

static void keep(char *to, struct cay_view v)
{
        memcpy(to, v.ptr, v.len);
        to[v.len] = '\0';
}

/* The next notice; false: there is none any more. */
static bool next(void)
{
        int n;

        while ((n = cay_box_notice_decode(w.buf, w.len, &w.last)) == 0) {
                if (!read_more())
                        return false;
        }
        assert_true(n > 0);
        keep(w.name, w.last.name);
        keep(w.name2, w.last.name2);
        memmove(w.buf, w.buf + n, w.len - (size_t)n);
        w.len -= (size_t)n;
        return true;
}

/* Reads until it comes; what comes before is of no interest. */
static void expect(unsigned kind, const char *name)
{
        for (;;) {
                if (!next()) {
                        print_message("never told: %s '%s'\n", cay_box_notice_word(kind), name);
                        fail();
                }
                if (w.last.kind == kind && strcmp(w.name, name) == 0)
                        return;
        }
}

/* What comes next must be it. */
static void expect_now(unsigned kind, const char *name)
{
        assert_true(next());
        if (w.last.kind != kind || strcmp(w.name, name) != 0)
                print_message("wanted %s '%s', got %s '%s'\n", cay_box_notice_word(kind), name,
                              cay_box_notice_word(w.last.kind), w.name);
        assert_int_equal(w.last.kind, kind);
        assert_string_equal(w.name, name);
}

static void end(enum cay_code code)
{
        int status;

        assert_int_equal(waitpid(w.pid, &status, 0), w.pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), code);
        close(w.fd);
}

static void leave(void)
{
        end_rival(w.pid);
        close(w.fd);
}

static void changes_are_told_in_order(void **state)
{
        (void)state;
        shell("mkdir top top/old");
        begin("top", 0, 0);
        expect_now(CAY_NOTICE_READY, "");
        assert_int_equal(w.last.folders, 1);
        shell("printf x >top/a");
        expect_now(CAY_NOTICE_CREATED, "a");
        assert_false(w.last.is_folder);
        expect_now(CAY_NOTICE_MODIFIED, "a");
        expect_now(CAY_NOTICE_CLOSED, "a");
        shell("chmod 600 top/a");
        expect_now(CAY_NOTICE_ATTRIBUTES, "a");
        shell("mv top/a top/b");
        expect_now(CAY_NOTICE_MOVED, "a");
        assert_string_equal(w.name2, "b");
        shell("rm top/b");
        expect_now(CAY_NOTICE_REMOVED, "b");
        shell("mkdir top/d && touch top/old/silent && mkdir top/e");
        expect_now(CAY_NOTICE_CREATED, "d");
        assert_true(w.last.is_folder);
        expect_now(CAY_NOTICE_CREATED, "e");
        leave();
}

static void moves_over_the_border_are_half(void **state)
{
        (void)state;
        shell("mkdir top && touch in out top/stays");
        begin("top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        shell("mv in top/in");
        expect_now(CAY_NOTICE_CREATED, "in");
        shell("mv top/in out");
        expect_now(CAY_NOTICE_REMOVED, "in");
        /* gone and made again at once: in this order */
        shell("mv top/stays gone && touch top/stays");
        expect_now(CAY_NOTICE_REMOVED, "stays");
        expect_now(CAY_NOTICE_CREATED, "stays");
        leave();
}

static void folders_are_followed(void **state)
{
        (void)state;
        shell("mkdir -p top/a/b");
        begin("top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        assert_int_equal(w.last.folders, 3);
        shell("touch top/a/b/f");
        expect_now(CAY_NOTICE_CREATED, "a/b/f");
        /* a whole tree at once: what was there before the watch is found by looking */
        shell("mkdir -p new/x/y/z && touch new/x/y/z/deep && mv new top/new");
        expect(CAY_NOTICE_CREATED, "new");
        expect(CAY_NOTICE_CREATED, "new/x/y/z/deep");
        shell("touch top/new/x/y/later");
        expect(CAY_NOTICE_CREATED, "new/x/y/later");
        /* a folder that moves takes its places along */
        shell("mv top/new/x top/a/moved && touch top/a/moved/y/again");
        expect(CAY_NOTICE_MOVED, "new/x");
        assert_string_equal(w.name2, "a/moved");
        assert_true(w.last.is_folder);
        expect(CAY_NOTICE_CREATED, "a/moved/y/again");
        /* out of the tree: silent from there on */
        shell("mv top/a/moved away && touch away/y/silent && touch top/loud");
        expect(CAY_NOTICE_REMOVED, "a/moved");
        expect_now(CAY_NOTICE_CREATED, "loud");
        /* removed and made anew */
        shell("rm -r top/a && mkdir top/a && touch top/a/fresh");
        expect(CAY_NOTICE_REMOVED, "a");
        expect(CAY_NOTICE_CREATED, "a/fresh");
        shell("touch top/a/and-more");
        expect(CAY_NOTICE_CREATED, "a/and-more");
        leave();
}

static void links_are_not_followed(void **state)
{
        (void)state;
        shell("mkdir -p top other && ln -s ../other top/link");
        begin("top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        assert_int_equal(w.last.folders, 1);
        shell("ln -s ../other top/link2 && touch other/silent && touch top/loud");
        expect(CAY_NOTICE_CREATED, "link2");
        expect_now(CAY_NOTICE_CREATED, "loud");
        leave();
}

static void a_folder_that_goes_ends_it(void **state)
{
        (void)state;
        shell("mkdir -p top/a");
        begin("top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        shell("rm -r top");
        expect(CAY_NOTICE_GONE, "");
        assert_false(next());
        end(CAY_OK);
        shell("mkdir -p top");
        begin("top", 0, 0);
        expect_now(CAY_NOTICE_READY, "");
        shell("mv top elsewhere");
        expect(CAY_NOTICE_GONE, "");
        end(CAY_OK);
        /* a folder above it moves: noticed when a new folder can't be found */
        shell("mkdir -p above/top");
        begin("above/top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        shell("mv above beyond && mkdir beyond/top/d");
        expect(CAY_NOTICE_GONE, "");
        end(CAY_OK);
}

static void what_is_no_folder_is_refused(void **state)
{
        (void)state;
        shell("touch f");
        begin("f", 0, 0);
        assert_false(next());
        end(CAY_CONFLICT);
        begin("none", 0, 0);
        assert_false(next());
        end(CAY_NOT_FOUND);
}

static void beyond_the_limit_is_named_once(void **state)
{
        (void)state;
        shell("mkdir -p top/a top/b top/c top/d");
        begin("top", CAY_BOX_RECURSIVE, 3);
        expect_now(CAY_NOTICE_UNWATCHED, w.name); /* whichever: the file system's order */
        assert_int_equal(w.last.sys, ENOSPC);
        expect_now(CAY_NOTICE_READY, "");
        assert_int_equal(w.last.folders, 3);
        leave();
}

static void any_name_is_told_as_it_is(void **state)
{
        static const char *const names[] = { "new\nline", "\xff\xfe", "<b>", " " };

        (void)state;
        shell("mkdir top");
        begin("top", 0, 0);
        expect_now(CAY_NOTICE_READY, "");
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                char path[64];

                snprintf(path, sizeof(path), "top/%s", names[i]);
                put_file(path, "");
                expect(CAY_NOTICE_CREATED, names[i]);
        }
        leave();
}

/* A reader that sleeps while more happens than the kernel's queue and all pipes hold. */
static void an_overflow_is_told(void **state)
{
        FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
        unsigned queue = 0, events;
        int fd;

        (void)state;
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%u", &queue), 1);
        fclose(f);
        if (queue > 100000)
                skip();
        shell("mkdir -p top/sub");
        begin("top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        events = queue + 20000; /* a pipe holds fewer than 4,000 notices */
        for (unsigned i = 0; i < events; i += 2) {
                char name[32];

                snprintf(name, sizeof(name), "top/%u",
                         i % 7); /* never two alike in a row: those are merged */
                fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
                assert_true(fd >= 0);
                close(fd);
                assert_int_equal(unlink(name), 0);
        }
        shell("mkdir top/made-in-the-flood");
        expect(CAY_NOTICE_OVERFLOW, "");
        assert_int_equal(w.last.folders, 3);
        shell("touch top/made-in-the-flood/seen top/sub/seen");
        expect(CAY_NOTICE_CREATED, "made-in-the-flood/seen");
        expect(CAY_NOTICE_CREATED, "sub/seen");
        leave();
}

/* A new file, again where all was watched anew meanwhile: that is found then, and not told. */
static void make_until_told(const char *name)
{
        char line[128];

        snprintf(line, sizeof(line), "rm -f top/%s && touch top/%s", name, name);
        shell(line);
        for (;;) {
                assert_true(next());
                if (w.last.kind == CAY_NOTICE_CREATED && strcmp(w.name, name) == 0)
                        return;
                if (w.last.kind == CAY_NOTICE_OVERFLOW)
                        shell(line);
        }
}

/*
 * Folders that are made, filled, moved and removed all the time: what is there in the end was told, or
 * OVERFLOW was.
 */
static void a_wild_tree_is_kept_up_with(void **state)
{
        bool told = false;

        (void)state;
        shell("mkdir top");
        begin("top", CAY_BOX_RECURSIVE, 0);
        expect_now(CAY_NOTICE_READY, "");
        shell("for i in $(seq 60); do mkdir -p top/a$i/b/c; touch top/a$i/b/c/f; mv top/a$i/b top/m$i; "
              "mv top/m$i/c top/a$i/c; rm -r top/m$i; test $((i % 3)) = 0 || rm -r top/a$i; done; "
              "mkdir -p top/last/one; touch top/last/one/end");
        while (!told) {
                assert_true(next());
                told = w.last.kind == CAY_NOTICE_OVERFLOW ||
                       (w.last.kind == CAY_NOTICE_CREATED && strcmp(w.name, "last/one/end") == 0);
        }
        for (unsigned i = 3; i <= 60; i += 3) {
                char name[32];

                snprintf(name, sizeof(name), "a%u/c/g", i);
                make_until_told(name);
        }
        leave();
}

static void closed_folder(void)
{
        begin("top", CAY_BOX_RECURSIVE, 0);
        NOBODY_CHECK(next() && w.last.kind == CAY_NOTICE_UNWATCHED && strcmp(w.name, "closed") == 0);
        NOBODY_CHECK(w.last.sys == EACCES);
        NOBODY_CHECK(next() && w.last.kind == CAY_NOTICE_READY);
        kill(w.pid, SIGKILL);
        waitpid(w.pid, NULL, 0);
}

static void an_unreadable_folder_is_named(void **state)
{
        (void)state;
        shell("mkdir -m 755 top && mkdir -m 700 top/closed");
        as_nobody(closed_folder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(changes_are_told_in_order),
                FILE_TEST(moves_over_the_border_are_half),
                FILE_TEST(folders_are_followed),
                FILE_TEST(links_are_not_followed),
                FILE_TEST(a_folder_that_goes_ends_it),
                FILE_TEST(what_is_no_folder_is_refused),
                FILE_TEST(beyond_the_limit_is_named_once),
                FILE_TEST(any_name_is_told_as_it_is),
                FILE_TEST(an_overflow_is_told),
                FILE_TEST(a_wild_tree_is_kept_up_with),
                FILE_TEST(an_unreadable_folder_is_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
