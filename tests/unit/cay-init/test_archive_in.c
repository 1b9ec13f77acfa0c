/* SPDX-License-Identifier: Apache-2.0 */
/* TAR_IN: archives of strangers, unpacked below a directory and nowhere else. */

#include "test_files.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "cay-init/archive_plan.h"
#include "foundation/tar/tar.h"
#include "foundation/sys/fd.h"

/* --- An archive under construction --- */

static char *tar;
static size_t tar_len, tar_cap;

static void tar_put(const void *bytes, size_t len)
{
        if (tar_len + len > tar_cap) {
                tar_cap = (tar_len + len) * 2;
                tar = realloc(tar, tar_cap);
                assert_non_null(tar);
        }
        memcpy(tar + tar_len, bytes, len);
        tar_len += len;
}

static void tar_zeros(size_t len)
{
        static const char zeros[1024];

        assert_true(len <= sizeof(zeros));
        tar_put(zeros, len);
}

static char *tar_header(enum cay_tar_type type, const char *name, const char *link, mode_t mode,
                        uint64_t size)
{
        static char mem[CAY_TAR_HEADERS_MAX];
        struct cay_tar_member m = {
                .type = type, .name = name, .link = link, .mode = mode, .size = size, .mtime_s = 1600000000
        };
        int n = cay_tar_member_format(&m, mem, sizeof(mem));

        assert_true(n > 0);
        tar_put(mem, (size_t)n);
        return tar + tar_len - CAY_TAR_BLOCK;
}

static void tar_file(const char *name, const char *text, mode_t mode)
{
        tar_header(CAY_TAR_FILE, name, "", mode, strlen(text));
        tar_put(text, strlen(text));
        tar_zeros(cay_tar_padding(strlen(text)));
}

static void tar_dir(const char *name, mode_t mode)
{
        tar_header(CAY_TAR_DIRECTORY, name, "", mode, 0);
}

static void tar_symlink(const char *name, const char *target)
{
        tar_header(CAY_TAR_SYMLINK, name, target, 0777, 0);
}

static void tar_link(const char *name, const char *target)
{
        tar_header(CAY_TAR_LINK, name, target, 0644, 0);
}

/* Another type than we write: the flag is changed and the checksum set right. */
static void tar_special(const char *name, char flag)
{
        char *b = tar_header(CAY_TAR_FILE, name, "", 0666, 0);
        unsigned sum = 0;

        b[156] = flag;
        memset(b + 148, ' ', 8);
        for (unsigned i = 0; i < CAY_TAR_BLOCK; i++)
                sum += (uint8_t)b[i];
        snprintf(b + 148, 8, "%06o", sum);
}

static struct run r;

/* Ends the archive and unpacks it to "t". */
static enum cay_code unpack(void)
{
        enum cay_code code;

        tar_zeros(2 * CAY_TAR_BLOCK);
        r.in = tar;
        r.in_len = tar_len;
        code = run(&r, cay_archive_in, "t", NULL);
        run_done(&r);
        tar_len = 0;
        return code;
}

static int setup(void **state)
{
        r = (struct run){ 0 };
        tar_len = 0;
        return scratch_setup(state) < 0 || mkdir("t", 0755) < 0 || mkdir("outside", 0755) < 0;
}

static int teardown(void **state)
{
        free(tar);
        tar = NULL;
        tar_cap = 0;
        umount2("t", MNT_DETACH); /* what a failed test left mounted */
        return scratch_teardown(state);
}

static void assert_outside_is_empty(void)
{
        shell("test -z \"$(ls -A outside)\"");
}

/* --- What is to be unpacked --- */

static void files_directories_and_links_are_made(void **state)
{
        struct stat st;

        (void)state;
        tar_dir("./", 0700);
        tar_dir("d/", 0750);
        tar_file("d/f", "hello", 0640);
        tar_symlink("d/l", "../anywhere/../else");
        tar_file("implied/parent/g", "", 0644);
        tar_link("h", "d/f");
        tar_dir("ro/", 0555);
        tar_file("ro/x", "read-only", 0444);
        umask(077);
        assert_int_equal(unpack(), CAY_OK);
        assert_int_equal(r.res.entries, 8);
        assert_int_equal(r.res.bytes, 14);
        assert_string_equal(get_file("t/d/f"), "hello");
        assert_string_equal(get_file("t/h"), "hello");
        assert_int_equal(mode_of("t"), 0755);
        assert_int_equal(mode_of("t/d"), 0750);
        assert_int_equal(mode_of("t/d/f"), 0640);
        assert_int_equal(mode_of("t/implied/parent"), 0755);
        assert_int_equal(mode_of("t/ro"), 0555);
        assert_int_equal(stat("t/d", &st), 0);
        assert_int_equal(st.st_mtime, 1600000000);
        assert_int_equal(stat("t/ro", &st), 0);
        assert_int_equal(st.st_mtime, 1600000000);
        assert_int_equal(stat("t/d/f", &st), 0);
        assert_int_equal(st.st_mtime, 1600000000);
        assert_int_equal(st.st_nlink, 2);
        assert_int_equal(lstat("t/d/l", &st), 0);
        assert_int_equal(st.st_mtime, 1600000000);
}

static void set_id_bits_are_dropped(void **state)
{
        (void)state;
        tar_dir("d/", 07777);
        tar_file("d/f", "#!", 06755);
        assert_int_equal(unpack(), CAY_OK);
        assert_int_equal(mode_of("t/d/f"), 0755);
        assert_int_equal(mode_of("t/d"), 0777);
}

static void odd_names_are_names(void **state)
{
        static const char *const names[] = { "new\nline", "quo'te\"", "\xff\xfe\x80", "<b>", " ",
                                             "-rf",       "\x1b[0m",  "...",          "..x" };
        char path[64];

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(names); i++)
                tar_file(names[i], names[i], 0644);
        assert_int_equal(unpack(), CAY_OK);
        for (size_t i = 0; i < CAY_COUNT(names); i++) {
                snprintf(path, sizeof(path), "t/%s", names[i]);
                assert_string_equal(get_file(path), names[i]);
        }
}

static void duplicates_replace_files_only(void **state)
{
        (void)state;
        put_file("outside/f", "precious");
        assert_int_equal(symlink("../outside/f", "t/a"), 0);
        assert_int_equal(link("outside/f", "t/b"), 0);
        tar_file("a", "new", 0644); /* never through the link */
        tar_file("b", "new", 0644); /* nor into the other name's file */
        tar_file("c", "first, longer", 0644);
        tar_file("c", "second", 0600);
        tar_symlink("c2", "x");
        tar_symlink("c2", "y");
        tar_file("c2", "file", 0600);
        tar_link("h", "c");
        tar_link("h", "c"); /* again */
        tar_link("c", "c"); /* to itself */
        tar_dir("d/", 0700);
        tar_file("d/x", "", 0644);
        tar_dir("d/", 0755); /* a directory again is the same directory */
        assert_int_equal(unpack(), CAY_OK);
        assert_string_equal(get_file("outside/f"), "precious");
        assert_string_equal(get_file("t/a"), "new");
        assert_string_equal(get_file("t/b"), "new");
        assert_string_equal(get_file("t/c"), "second");
        assert_string_equal(get_file("t/h"), "second");
        assert_string_equal(get_file("t/c2"), "file");
        assert_true(is_there("t/d/x"));
        assert_int_equal(mode_of("t/d"), 0755);

        tar_file("d", "not over a directory", 0644);
        assert_int_equal(unpack(), CAY_CONFLICT);
        tar_symlink("d", "../outside");
        assert_int_equal(unpack(), CAY_CONFLICT);
        tar_link("d", "c");
        assert_int_equal(unpack(), CAY_CONFLICT);
        assert_true(is_there("t/d/x"));
}

static void target_must_be_there_or_be_made(void **state)
{
        (void)state;
        r.in_len = 0;
        assert_int_equal(run(&r, cay_archive_in, "none/x", NULL), CAY_NOT_FOUND);
        put_file("file", "");
        assert_int_equal(run(&r, cay_archive_in, "file", NULL), CAY_CONFLICT);
        tar_file("a", "x", 0644);
        tar_zeros(1024);
        r.in = tar;
        r.in_len = tar_len;
        r.flags = CAY_BOX_PARENTS;
        assert_int_equal(run(&r, cay_archive_in, "none/x", NULL), CAY_OK);
        assert_string_equal(get_file("none/x/a"), "x");
        run_done(&r);
}

/* --- What is refused --- */

static void names_that_leave_are_refused(void **state)
{
        static const char *const bad[] = { "../outside/x", "/etc/x",         "d/../../outside/x",
                                           "..",           "./../outside/x", "d/..",
                                           "//x" };

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                tar_file(bad[i], "x", 0644);
                assert_int_equal(unpack(), CAY_DENIED);
                assert_non_null(strstr(r.res.msg, bad[i]));
                tar_dir(bad[i], 0755);
                assert_int_equal(unpack(), CAY_DENIED);
                tar_symlink(bad[i], "x");
                assert_int_equal(unpack(), CAY_DENIED);
                tar_file("f", "", 0644);
                tar_link(bad[i], "f");
                assert_int_equal(unpack(), CAY_DENIED);
                tar_link("h", bad[i]);
                assert_int_equal(unpack(), CAY_DENIED);
        }
        assert_outside_is_empty();
        shell("test \"$(ls -A t)\" = f");
}

static void nothing_goes_through_a_link(void **state)
{
        (void)state;
        /* made by the archive itself */
        tar_symlink("d", "../outside");
        tar_file("d/f", "x", 0644);
        assert_int_equal(unpack(), CAY_CONFLICT);
        assert_non_null(strstr(r.res.msg, "member 'd/f'"));
        tar_symlink("e", "../outside");
        tar_dir("e/", 0755);
        assert_int_equal(unpack(), CAY_CONFLICT);
        tar_symlink("e", "../outside");
        tar_dir("e/sub/", 0755);
        assert_int_equal(unpack(), CAY_CONFLICT);
        tar_symlink("e", "../outside");
        tar_symlink("e/l", "x");
        assert_int_equal(unpack(), CAY_CONFLICT);
        /* through a link to a directory inside as well */
        tar_dir("real/", 0755);
        tar_symlink("alias", "real");
        tar_file("alias/f", "x", 0644);
        assert_int_equal(unpack(), CAY_CONFLICT);
        /* there before */
        assert_int_equal(symlink("../outside", "t/before"), 0);
        tar_file("before/f", "x", 0644);
        assert_int_equal(unpack(), CAY_CONFLICT);
        /* a file is no directory either */
        tar_file("plain", "", 0644);
        tar_file("plain/f", "x", 0644);
        assert_int_equal(unpack(), CAY_CONFLICT);
        tar_file("plain", "", 0644);
        tar_dir("plain/", 0755);
        assert_int_equal(unpack(), CAY_CONFLICT);
        assert_outside_is_empty();
        shell("test ! -e t/real/f");
}

static void hard_links_stay_inside(void **state)
{
        (void)state;
        put_file("outside/secret", "s");
        assert_int_equal(symlink("../outside", "t/l"), 0);
        assert_int_equal(symlink("../outside/secret", "t/s"), 0);
        tar_link("h", "l/secret");
        assert_int_equal(unpack(), CAY_CONFLICT);
        tar_link("h", "s");
        assert_int_equal(unpack(), CAY_DENIED);
        tar_link("h", "none");
        assert_int_equal(unpack(), CAY_NOT_FOUND);
        tar_dir("d/", 0755);
        tar_link("h", "d");
        assert_int_equal(unpack(), CAY_DENIED);
        assert_false(is_there("t/h"));
}

static void devices_and_the_like_are_refused(void **state)
{
        static const char flags[] = { '3', '4', '6' };

        (void)state;
        for (size_t i = 0; i < sizeof(flags); i++) {
                tar_special("dev", flags[i]);
                assert_int_equal(unpack(), CAY_DENIED);
        }
        tar_special("other", 'Z');
        assert_int_equal(unpack(), CAY_INVALID);
        shell("test -z \"$(ls -A t)\"");
}

static void broken_streams_are_refused(void **state)
{
        char *b;

        (void)state;
        tar_file("a", "ok", 0644);
        b = tar_header(CAY_TAR_FILE, "b", "", 0644, 0);
        b[0] ^= 1;
        assert_int_equal(unpack(), CAY_INVALID);
        assert_string_equal(get_file("t/a"), "ok"); /* what came before stays */
        assert_false(is_there("t/b"));

        /* a file that is cut off is removed again */
        tar_header(CAY_TAR_FILE, "cut", "", 0644, 100000);
        tar_zeros(512);
        assert_int_equal(unpack(), CAY_INVALID);
        assert_false(is_there("t/cut"));
        tar_file("c", "x", 0644);
        tar_zeros(1024);
        tar_put("garbage", 7);
        assert_int_equal(unpack(), CAY_INVALID);
        assert_non_null(strstr(r.res.msg, "behind the end"));
}

static void limits_hold_while_streaming(void **state)
{
        (void)state;
        r.max_bytes = 10;
        tar_file("a", "12345", 0644);
        tar_file("b", "123456", 0644);
        assert_int_equal(unpack(), CAY_LIMIT);
        assert_string_equal(get_file("t/a"), "12345");
        assert_false(is_there("t/b"));
        tar_header(CAY_TAR_FILE, "huge", "", 0644, UINT64_C(1) << 50);
        assert_int_equal(unpack(), CAY_LIMIT);
        assert_false(is_there("t/huge"));
        r.max_bytes = 0;
        r.max_entries = 3;
        for (unsigned i = 0; i < 4; i++)
                tar_dir((char[3]){ 'd', (char)('0' + i), 0 }, 0755);
        assert_int_equal(unpack(), CAY_LIMIT);
        assert_true(is_there("t/d2"));
        assert_false(is_there("t/d3"));
}

static void a_full_disk_is_told_and_leaves_no_half_file(void **state)
{
        static char big[300000];

        (void)state;
        if (getuid() != 0 || mount("none", "t", "tmpfs", 0, "size=128k,nr_inodes=20") < 0)
                skip();
        memset(big, 'x', sizeof(big) - 1);
        tar_file("small", "s", 0644);
        tar_file("big", big, 0644);
        assert_int_equal(unpack(), CAY_NO_SPACE);
        assert_non_null(strstr(r.res.msg, "'big'"));
        assert_true(is_there("t/small"));
        assert_false(is_there("t/big"));
        for (unsigned i = 0; i < 30; i++)
                tar_file((char[3]){ 'a', (char)('A' + i), 0 }, "", 0644);
        assert_int_equal(unpack(), CAY_NO_SPACE);
        assert_int_equal(umount2("t", MNT_DETACH), 0);
}

static void the_file_size_limit_is_an_error(void **state)
{
        static char big[300000];
        struct rlimit old, small;
        enum cay_code code;

        (void)state;
        memset(big, 'x', sizeof(big) - 1);
        tar_file("big", big, 0644);
        tar_zeros(1024);
        {
                /* by a pipe: a stream in a file would itself hit the limit */
                int fds[2];
                pid_t pid;
                int status;

                assert_int_equal(pipe(fds), 0);
                pid = fork();
                if (pid == 0) {
                        signal(SIGPIPE, SIG_IGN);
                        close(fds[0]);
                        sys_write_all(fds[1], tar, tar_len);
                        _exit(0);
                }
                close(fds[1]);
                assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
                small = (struct rlimit){ 100000, old.rlim_max };
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
                r.in_fd = fds[0];
                code = run(&r, cay_archive_in, "t", NULL);
                assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
                close(fds[0]);
                waitpid(pid, &status, 0);
        }
        run_done(&r);
        assert_int_equal(code, CAY_LIMIT);
        assert_false(is_there("t/big"));
}

/* --- Size --- */

static void twenty_thousand_entries(void **state)
{
        char name[64];

        (void)state;
        for (unsigned i = 0; i < 20000; i++) {
                snprintf(name, sizeof(name), "dir%u/sub%u/file%u", i / 1000, i / 100, i);
                tar_file(name, "x", 0644);
        }
        assert_int_equal(unpack(), CAY_OK);
        assert_int_equal(r.res.entries, 20000);
        shell("test $(find t -type f | wc -l) = 20000");
}

static void fifteen_hundred_levels(void **state)
{
        static char name[1600 * 5 + 16];
        bool file;
        size_t len = 0;

        (void)state;
        for (unsigned i = 0; i < 1600; i++) {
                memcpy(name + len, "deep/", 6);
                len += 5;
                tar_dir(name, 0755);
        }
        memcpy(name + len, "f", 2);
        tar_file(name, "deep", 0644);
        tar_file("shallow", "", 0644);
        assert_int_equal(unpack(), CAY_OK);
        assert_int_equal(count_deep("t", "deep", &file), 1600);
        assert_true(file);
}

static void too_deep_is_refused(void **state)
{
        static char name[CAY_TAR_NAME_MAX];

        (void)state;
        for (unsigned i = 0; i <= CAY_ARCHIVE_DEPTH_MAX; i++)
                memcpy(name + 2 * i, "d/", 3);
        tar_dir(name, 0755);
        assert_int_equal(unpack(), CAY_DENIED);
        shell("test -z \"$(ls -A t)\"");
}

/* --- Others at work in the same tree --- */

/* A program in the sandbox swaps directories of the target for links to the outside while it is filled. */
static void exchange_race_makes_nothing_outside(void **state)
{
        unsigned done = 0;
        pid_t pid;

        (void)state;
        assert_int_equal(symlink("../outside", "link"), 0);
        pid = fork_rival();
        if (pid == 0)
                for (;;) {
                        syscall(SYS_renameat2, AT_FDCWD, "t/d", AT_FDCWD, "link", 2u /* exchange */);
                        mkdir("t/d", 0755);
                }
        for (unsigned i = 0; i < 400; i++) {
                char name[32];

                for (unsigned k = 0; k < 20; k++) {
                        snprintf(name, sizeof(name), "d/f%u", k);
                        tar_file(name, "x", 0644);
                        snprintf(name, sizeof(name), "e%u", k); /* leaves d, so that it is opened again */
                        tar_file(name, "y", 0644);
                        snprintf(name, sizeof(name), "d/s%u/", k);
                        tar_dir(name, 0700);
                        snprintf(name, sizeof(name), "h%u", k);
                        tar_link(name, "d/f0");
                }
                done += unpack() == CAY_OK;
        }
        end_rival(pid);
        print_message("%u of 400 archives went through\n", done);
        assert_outside_is_empty();
}

static void nobody_unpacks(void)
{
        struct run n = { .in = tar, .in_len = tar_len };

        NOBODY_CHECK(run(&n, cay_archive_in, "t", NULL) == CAY_DENIED);
        NOBODY_CHECK(run(&n, cay_archive_in, "open", NULL) == CAY_OK);
        NOBODY_CHECK(run(&n, cay_archive_in, "open", NULL) ==
                     CAY_OK); /* again, into the read-only directory */
        NOBODY_CHECK(mode_of("open/d") == 0555 && is_there("open/d/f"));
        NOBODY_CHECK(run(&n, cay_archive_in, "closed", NULL) == CAY_DENIED);
}

static void it_is_the_users_own_work(void **state)
{
        struct stat st;

        (void)state;
        if (getuid() != 0)
                skip();
        shell("mkdir open closed && chmod 777 open && chmod 700 closed");
        tar_dir("d/", 0555);
        tar_file("d/f", "x", 06755);
        tar_zeros(1024);
        as_nobody(nobody_unpacks);
        assert_int_equal(stat("open/d/f", &st), 0);
        assert_int_equal(st.st_uid, 65534);
        assert_int_equal(st.st_mode & 07777, 0755);
}

/* --- Other people's tar --- */

static void unpack_file(const char *path, enum cay_code expected)
{
        r.in_fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(r.in_fd > 0);
        if (run(&r, cay_archive_in, "t", NULL) != expected)
                print_message("%s\n", r.res.msg);
        assert_int_equal(r.res.code, expected);
        close(r.in_fd);
        r.in_fd = 0;
        run_done(&r);
}

static void gnu_tar_is_read_in_all_its_formats(void **state)
{
        static const char *const formats[] = { "gnu", "pax", "ustar", "oldgnu", "v7" };
        char line[512];

        (void)state;
        shell("mkdir -p src/a/b src/empty && printf hello >src/a/f && head -c 100000 /dev/urandom "
              ">src/a/b/big && "
              "ln src/a/f src/hard && ln -s a/f src/soft && chmod 750 src/a && chmod 600 src/a/f && touch "
              "src/none && "
              "printf x >\"src/$(printf 'n\\nl')\" && touch -d '2001-02-03 04:05:06' src/a/f src/empty src/a "
              "&& "
              "mkdir -p long/$(printf '%0100d' 0)/$(printf '%0100d' 1)/$(printf '%0100d' 2) && "
              "printf y >long/$(printf '%0100d' 0)/$(printf '%0100d' 1)/$(printf '%0100d' 2)/$(printf "
              "'%0200d' 3) && "
              "ln -s $(printf '%0300d' 4) long/l && mkdir -p mid/$(printf '%090d' 5) && "
              "printf z >mid/$(printf '%090d' 5)/$(printf '%090d' 6)");
        for (size_t i = 0; i < CAY_COUNT(formats); i++) {
                /* v7 has no room for long names, and ustar for the longest */
                const char *more = i < 2 || i == 3 ? "src long mid" : i == 2 ? "src mid" : "src";

                snprintf(line, sizeof(line), "rm -rf t && mkdir t && tar --format=%s -cf in.tar %s",
                         formats[i], more);
                shell(line);
                unpack_file("in.tar", CAY_OK);
                snprintf(line, sizeof(line),
                         "for d in %s; do diff -r --no-dereference $d t/$d || exit 1; done", more);
                shell(line);
                shell("test \"$(cd src && find . ! -name soft -printf '%p %m %Ts %n\\n' | sort)\" = "
                      "\"$(cd t/src && find . ! -name soft -printf '%p %m %Ts %n\\n' | sort)\"");
        }
        shell("rm -rf t && mkdir t && tar -C src -cf in.tar .");
        unpack_file("in.tar", CAY_OK);
        shell("diff -r --no-dereference src t");
}

static void gnu_tar_specials_are_refused(void **state)
{
        (void)state;
        shell("mkdir src && mkfifo src/p && tar -cf in.tar src");
        unpack_file("in.tar", CAY_DENIED);
        shell("rm -rf src && mkdir src && truncate -s 1m src/hole && printf x >>src/hole && tar -Scf in.tar "
              "src && "
              "tar --format=pax -Scf in2.tar src");
        unpack_file("in.tar", CAY_INVALID);
        unpack_file("in2.tar", CAY_OK); /* the form that says all of it; its holes stay holes */
        shell("cmp src/hole t/src/hole && test $(du -k t/src/hole | cut -f1) -lt 100 && rm -r t/src");
        shell("tar -czf in.tgz src");
        unpack_file("in.tgz", CAY_INVALID);
        shell("tar -P -cf in.tar /etc/hostname /etc/passwd");
        unpack_file("in.tar", CAY_DENIED);
        shell("tar -P -cf in.tar ../$(basename \"$PWD\")/src");
        unpack_file("in.tar", CAY_DENIED);
}

#define IN_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_TEST(files_directories_and_links_are_made),
                IN_TEST(set_id_bits_are_dropped),
                IN_TEST(odd_names_are_names),
                IN_TEST(duplicates_replace_files_only),
                IN_TEST(target_must_be_there_or_be_made),
                IN_TEST(names_that_leave_are_refused),
                IN_TEST(nothing_goes_through_a_link),
                IN_TEST(hard_links_stay_inside),
                IN_TEST(devices_and_the_like_are_refused),
                IN_TEST(broken_streams_are_refused),
                IN_TEST(limits_hold_while_streaming),
                IN_TEST(a_full_disk_is_told_and_leaves_no_half_file),
                IN_TEST(the_file_size_limit_is_an_error),
                IN_TEST(twenty_thousand_entries),
                IN_TEST(fifteen_hundred_levels),
                IN_TEST(too_deep_is_refused),
                IN_TEST(exchange_race_makes_nothing_outside),
                IN_TEST(it_is_the_users_own_work),
                IN_TEST(gnu_tar_is_read_in_all_its_formats),
                IN_TEST(gnu_tar_specials_are_refused),
        };

        return cmocka_run_group_tests_name("init/archive_in", tests, NULL, NULL);
}
