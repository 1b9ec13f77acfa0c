/* SPDX-License-Identifier: Apache-2.0 */
/* READ and WRITE of regular files, and of everything that is none. */

#include "test_files.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

static void read_gives_the_bytes_asked_for(void **state)
{
        cay_auto(run_done) struct run r = { 0 };
        char path[512];

        (void)state;
        put_file("f", "0123456789");
        assert_int_equal(run(&r, cay_file_read, "f", NULL), CAY_OK);
        assert_string_equal(r.out, "0123456789");
        assert_int_equal(r.res.bytes, 10);
        assert_int_equal(r.res.size, 10);
        assert_int_equal(r.res.type, CAY_FILE_REGULAR);
        assert_string_equal(r.res.name, "f");
        r.offset = 3;
        r.max_bytes = 4;
        snprintf(path, sizeof(path), "%s/f", scratch.path);
        assert_int_equal(run(&r, cay_file_read, path, NULL), CAY_OK);
        assert_string_equal(r.out, "3456");
        r.offset = 1000;
        assert_int_equal(run(&r, cay_file_read, "f", NULL), CAY_OK);
        assert_int_equal(r.out_len, 0);
        r.offset = INT64_MAX;
        r.max_bytes = UINT64_MAX;
        assert_int_equal(run(&r, cay_file_read, "f", NULL), CAY_OK);
        r.offset = UINT64_MAX;
        assert_int_equal(run(&r, cay_file_read, "f", NULL), CAY_INVALID);
        r.offset = 0;
        assert_int_equal(run(&r, cay_file_read, "missing", NULL), CAY_NOT_FOUND);
}

static void read_follows_links_like_any_command(void **state)
{
        cay_auto(run_done) struct run r = { 0 };

        (void)state;
        put_file("f", "x");
        assert_int_equal(symlink("f", "l"), 0);
        assert_int_equal(run(&r, cay_file_read, "l", NULL), CAY_OK);
        assert_string_equal(r.out, "x");
        assert_int_equal(symlink("loop", "loop"), 0);
        assert_int_equal(run(&r, cay_file_read, "loop", NULL), CAY_CONFLICT);
}

static void only_regular_files_are_read_or_written(void **state)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "sock" };
        static const char *const names[] = { "fifo", "fifo-link", "sock", "dir", "/dev/null", "/dev/tty" };
        cay_auto(run_done) struct run r = { .in = "x", .in_len = 1 };
        cay_auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)state;
        alarm(100); /* a hang is a failure */
        assert_int_equal(mkfifo("fifo", 0666), 0);
        assert_int_equal(symlink("fifo", "fifo-link"), 0);
        assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(mkdir("dir", 0755), 0);
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                r.flags = 0;
                assert_int_equal(run(&r, cay_file_read, names[i], NULL), CAY_CONFLICT);
                assert_non_null(strstr(r.res.msg, "not a regular file"));
                r.flags = CAY_BOX_TRUNCATE;
                assert_int_equal(run(&r, cay_file_write, names[i], NULL), CAY_CONFLICT);
                r.flags = CAY_BOX_APPEND | CAY_BOX_PARENTS;
                assert_int_equal(run(&r, cay_file_write, names[i], NULL), CAY_CONFLICT);
        }
        alarm(0);
}

/*
 * A file is swapped for a FIFO between the look and the opening: nothing may wait for the FIFO's other end.
 */
static void a_fifo_that_is_swapped_in_hangs_nothing(void **state)
{
        cay_auto(run_done) struct run r = { .in = "x", .in_len = 1 };
        pid_t pid;

        (void)state;
        put_file("f", "text");
        assert_int_equal(mkfifo("p", 0666), 0);
        pid = fork_rival();
        if (pid == 0)
                for (;;)
                        syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "p", 2u /* exchange */);
        alarm(250);
        for (unsigned i = 0; i < 3000; i++) {
                run(&r, cay_file_read, "f", NULL);
                run(&r, cay_file_write, "f", NULL);
        }
        alarm(0);
        end_rival(pid);
}

static void holes_are_zeros_and_count(void **state)
{
        cay_auto(run_done) struct run r = { .max_bytes = 100000 };
        int fd = open("sparse", O_RDWR | O_CREAT, 0644);

        (void)state;
        assert_int_equal(ftruncate(fd, INT64_C(2) << 30), 0);
        close(fd);
        assert_int_equal(run(&r, cay_file_read, "sparse", NULL), CAY_OK);
        assert_int_equal(r.out_len, 100000);
        assert_int_equal(r.res.size, INT64_C(2) << 30);
        assert_int_equal(r.out[0], 0);
        assert_memory_equal(r.out, r.out + 1, r.out_len - 1);
}

static void write_makes_overwrites_and_appends(void **state)
{
        cay_auto(run_done) struct run r = { .in = "hello", .in_len = 5, .mode = 06640 };

        (void)state;
        umask(077);
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        assert_string_equal(get_file("f"), "hello");
        assert_int_equal(mode_of("f"), 0640);
        assert_int_equal(r.res.bytes, 5);
        assert_int_equal(r.res.size, 5);
        r.in = "J";
        r.in_len = 1;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        assert_string_equal(get_file("f"), "Jello");
        r.offset = 3;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        assert_string_equal(get_file("f"), "JelJo");
        r.flags = CAY_BOX_APPEND;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_INVALID);
        r.offset = 0;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        assert_string_equal(get_file("f"), "JelJoJ");
        r.flags = CAY_BOX_TRUNCATE;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        assert_string_equal(get_file("f"), "J");
        r.flags = 0;
        r.mode = 0;
        assert_int_equal(run(&r, cay_file_write, "g", NULL), CAY_OK);
        assert_int_equal(mode_of("g"), 0644);
}

static void a_refused_write_changes_nothing(void **state)
{
        cay_auto(run_done) struct run r = { .in = "new", .in_len = 3 };

        (void)state;
        put_file("f", "old");
        r.flags = CAY_BOX_EXCLUSIVE | CAY_BOX_TRUNCATE;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_EXISTS);
        assert_string_equal(get_file("f"), "old");
        assert_int_equal(symlink("nowhere", "l"), 0);
        assert_int_equal(run(&r, cay_file_write, "l", NULL), CAY_EXISTS);
        assert_false(is_there("nowhere"));
        r.flags = CAY_BOX_TRUNCATE;
        assert_int_equal(run(&r, cay_file_write, "a/b/c", NULL), CAY_NOT_FOUND);
        assert_false(is_there("a"));
        r.flags = CAY_BOX_PARENTS;
        assert_int_equal(run(&r, cay_file_write, "a/b/", NULL), CAY_CONFLICT);
        assert_false(is_there("a"));
        assert_int_equal(run(&r, cay_file_write, "f/x/y", NULL), CAY_CONFLICT);
        r.offset = UINT64_MAX;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_INVALID);
        assert_string_equal(get_file("f"), "old");
        r.offset = 0;
        assert_int_equal(run(&r, cay_file_write, "a/b/c", NULL), CAY_OK);
        assert_string_equal(get_file("a/b/c"), "new");
}

static void write_stops_at_its_limit(void **state)
{
        cay_auto(run_done) struct run r = { .max_bytes = 100000 };
        cay_auto_free char *bytes = malloc(200000);

        (void)state;
        memset(bytes, 'x', 200000);
        r.in = bytes;
        r.in_len = 100000;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        r.in_len = 100001;
        r.flags = CAY_BOX_TRUNCATE;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_LIMIT);
        assert_int_equal(r.res.bytes, 100000);
        r.flags = 0; /* in place: what fits is written */
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_LIMIT);
        assert_int_equal(r.res.size, 100000);
}

static unsigned entries_here(void)
{
        struct dirent *e;
        unsigned n = 0;
        DIR *d = opendir(".");

        assert_non_null(d);
        while ((e = readdir(d)))
                n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
        closedir(d);
        return n;
}

/*
 * Killed while half of it was written, at the latest: by then nothing has changed, and nothing is left
 * behind.
 */
static void a_write_that_is_cut_off_changes_nothing(void **state)
{
        static const char *const names[] = { "old", "link", "new" };
        int fds[2], status;
        struct stat st;
        pid_t pid;

        (void)state;
        put_file("old", "as it was");
        assert_int_equal(symlink("old", "link"), 0);
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                int left = 1;

                assert_int_equal(pipe(fds), 0);
                pid = fork();
                if (pid == 0) {
                        struct run r = { .flags = CAY_BOX_TRUNCATE, .in_fd = fds[0] };

                        signal(SIGTERM, SIG_DFL);
                        close(fds[1]);
                        run(&r, cay_file_write, names[i], NULL);
                        _exit(0);
                }
                assert_int_equal(write(fds[1], "half", 4), 4);
                while (left > 0) { /* until it has taken that */
                        assert_int_equal(ioctl(fds[1], FIONREAD, &left), 0);
                        usleep(1000);
                }
                kill(pid, i == 0 ? SIGKILL : SIGTERM);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                close(fds[0]);
                close(fds[1]);
                assert_string_equal(get_file("old"), "as it was");
                assert_int_equal(lstat("link", &st), 0);
                assert_true(S_ISLNK(st.st_mode));
                assert_int_equal(entries_here(), 2);
        }
}

static uint64_t tag_of(const char *name)
{
        struct stat st;

        assert_int_equal(stat(name, &st), 0);
        return cay_box_file_tag((uint64_t)cay_files_mtime_ns(&st), (uint64_t)st.st_size);
}

/* A change while the bytes come is seen: the first look was long before. */
static void a_tag_is_looked_at_when_the_bytes_are_there(void **state)
{
        cay_auto(run_done) struct run r = { .in = "new", .in_len = 3, .flags = CAY_BOX_TRUNCATE };
        int fds[2], status, left = 1;
        pid_t pid;

        (void)state;
        put_file("f", "old");
        r.max_entries = tag_of("f");
        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0) {
                struct run late = { .flags = CAY_BOX_TRUNCATE,
                                    .in_fd = fds[0],
                                    .max_entries = r.max_entries };

                close(fds[1]);
                _exit(run(&late, cay_file_write, "f", NULL) == CAY_CONFLICT ? 0 : 1);
        }
        assert_int_equal(write(fds[1], "mine", 4), 4);
        while (left > 0) { /* until it has taken that */
                assert_int_equal(ioctl(fds[1], FIONREAD, &left), 0);
                usleep(1000);
        }
        put_file("f", "theirs");
        close(fds[1]);
        close(fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_string_equal(get_file("f"), "theirs");
        assert_int_equal(entries_here(), 1);
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_CONFLICT);
        r.max_entries = tag_of("f");
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_OK);
        assert_string_equal(get_file("f"), "new");
        r.flags = 0; /* in place */
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_CONFLICT);
        assert_int_equal(unlink("f"), 0);
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_NOT_FOUND);
        r.flags = CAY_BOX_TRUNCATE;
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_CONFLICT);
        assert_int_equal(entries_here(), 0);
}

static void what_is_replaced_keeps_its_mode_its_owner_and_its_links(void **state)
{
        cay_auto(run_done) struct run r = {
                .in = "new", .in_len = 3, .flags = CAY_BOX_TRUNCATE, .mode = 0600
        };
        struct stat st;

        (void)state;
        put_file("f", "old");
        assert_int_equal(chmod("f", 0751), 0);
        if (getuid() == 0)
                assert_int_equal(chown("f", 1234, 4321), 0);
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(symlink("../f", "d/second"), 0);
        assert_int_equal(symlink("d/second", "first"), 0);
        assert_int_equal(link("f", "other"), 0);
        assert_int_equal(run(&r, cay_file_write, "first", NULL), CAY_OK);
        assert_int_equal(r.res.size, 3);
        assert_string_equal(get_file("f"), "new");
        assert_string_equal(get_file("other"), "old"); /* the other name keeps what it had */
        assert_int_equal(stat("f", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0751);
        if (getuid() == 0)
                assert_true(st.st_uid == 1234 && st.st_gid == 4321);
        assert_int_equal(lstat("first", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(symlink("missing", "dangling"), 0); /* what it names is made */
        assert_int_equal(run(&r, cay_file_write, "dangling", NULL), CAY_OK);
        assert_string_equal(get_file("missing"), "new");
        assert_int_equal(mode_of("missing"), 0600);
        assert_int_equal(entries_here(), 6);
}

/* Another's file in a closed folder: no new one can be made beside it, but it can be written to. */
static void nobody_writes_in_place(void)
{
        struct run r = { .in = "new", .in_len = 3, .flags = CAY_BOX_TRUNCATE };

        NOBODY_CHECK(run(&r, cay_file_write, "closed/open", NULL) == CAY_OK);
        NOBODY_CHECK(run(&r, cay_file_write, "others", NULL) == CAY_OK);
}

static void what_cannot_be_replaced_is_written_in_place(void **state)
{
        struct stat st;

        (void)state;
        if (getuid() != 0)
                skip();
        assert_int_equal(mkdir("closed", 0755), 0);
        put_file("closed/open", "older");
        put_file("others", "older");
        assert_int_equal(chmod("closed/open", 0666) | chmod("others", 0666) | chmod(".", 0777), 0);
        as_nobody(nobody_writes_in_place);
        assert_string_equal(get_file("closed/open"), "new");
        assert_string_equal(get_file("others"), "new");
        assert_int_equal(stat("others", &st), 0);
        assert_int_equal(st.st_uid, 0);
}

static void the_file_size_limit_is_an_error_not_a_death(void **state)
{
        struct rlimit old, small;
        cay_auto(run_done) struct run r = { .in = "0123456789", .in_len = 10, .offset = 2u << 20 };

        (void)state;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
        small = (struct rlimit){ 1 << 20, old.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        assert_int_equal(run(&r, cay_file_write, "f", NULL), CAY_LIMIT);
        assert_int_equal(r.res.sys, EFBIG);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static void nobody_reads_secrets(void)
{
        struct run r = { .in = "x", .in_len = 1, .flags = CAY_BOX_TRUNCATE };

        NOBODY_CHECK(run(&r, cay_file_read, "secret", NULL) == CAY_DENIED);
        NOBODY_CHECK(r.out_len == 0);
        NOBODY_CHECK(run(&r, cay_file_write, "secret", NULL) == CAY_DENIED);
        NOBODY_CHECK(run(&r, cay_file_write, "closed/new", NULL) == CAY_DENIED);
}

static void permissions_are_the_users(void **state)
{
        (void)state;
        if (getuid() != 0)
                skip();
        put_file("secret", "s");
        assert_int_equal(chmod("secret", 0600), 0);
        assert_int_equal(mkdir("closed", 0700), 0);
        as_nobody(nobody_reads_secrets);
        assert_string_equal(get_file("secret"), "s");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                FILE_TEST(read_gives_the_bytes_asked_for),
                FILE_TEST(read_follows_links_like_any_command),
                FILE_TEST(only_regular_files_are_read_or_written),
                FILE_TEST(a_fifo_that_is_swapped_in_hangs_nothing),
                FILE_TEST(holes_are_zeros_and_count),
                FILE_TEST(write_makes_overwrites_and_appends),
                FILE_TEST(a_refused_write_changes_nothing),
                FILE_TEST(write_stops_at_its_limit),
                FILE_TEST(a_write_that_is_cut_off_changes_nothing),
                FILE_TEST(a_tag_is_looked_at_when_the_bytes_are_there),
                FILE_TEST(what_is_replaced_keeps_its_mode_its_owner_and_its_links),
                FILE_TEST(what_cannot_be_replaced_is_written_in_place),
                FILE_TEST(the_file_size_limit_is_an_error_not_a_death),
                FILE_TEST(permissions_are_the_users),
        };

        return cmocka_run_group_tests_name("init/files_io", tests, NULL, NULL);
}
