/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TAR_OUT: trees as streams that stay archives whatever happens meanwhile, read by ours and by others' tar.
 */

#include "test_files.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "foundation/tar/tar_reader.h"
#include "foundation/sys/fd.h"

/* --- Reading streams back --- */

static struct check {
        struct cay_tar_sink sink;
        struct cay_tar_reader reader;
        unsigned members, files, links, directories;
        bool secret; /* bytes from outside the tree */
        uint64_t bytes, holes;
        char name[64];
} check;

static int on_member(struct cay_tar_sink *sink, const struct cay_tar_member *m, struct cay_error *err)
{
        check.members++;
        check.files += m->type == CAY_TAR_FILE;
        check.links += m->type == CAY_TAR_SYMLINK;
        check.directories += m->type == CAY_TAR_DIRECTORY;
        snprintf(check.name, sizeof(check.name), "%.60s", m->name);
        return 0;
}

static int on_data(struct cay_tar_sink *sink, const void *bytes, size_t len, struct cay_error *err)
{
        check.bytes += len;
        if (memmem(bytes, len, "SECRET", 6))
                check.secret = true;
        return 0;
}

static int on_end(struct cay_tar_sink *sink, struct cay_error *err)
{
        return 0;
}

static int on_hole(struct cay_tar_sink *sink, uint64_t len, struct cay_error *err)
{
        check.holes += len;
        return 0;
}

static const struct cay_tar_sink_ops sink_ops = { on_member, on_data, on_end, on_hole };

static void check_begin(void)
{
        memset(&check, 0, offsetof(struct check, reader));
        check.members = check.files = check.links = check.directories = 0;
        check.secret = false;
        check.bytes = check.holes = 0;
        check.sink.ops = &sink_ops;
        cay_tar_reader_init(&check.reader, &check.sink);
}

static struct run r;

/* Packs a path, and reads the stream if it went well. */
static enum cay_code pack(const char *path)
{
        struct cay_error err = { .code = CAY_OK };

        check_begin();
        if (run(&r, cay_archive_out, path, NULL) != CAY_OK)
                return (enum cay_code)r.res.code;
        if (cay_tar_reader_feed(&check.reader, r.out, r.out_len, &err) < 0 ||
            cay_tar_reader_finish(&check.reader, &err) < 0)
                print_message("%s\n", err.msg);
        assert_int_equal(err.code, CAY_OK);
        assert_int_equal(r.res.bytes, r.out_len);
        assert_int_equal(r.res.entries, check.members);
        return CAY_OK;
}

static void pack_to(const char *path, const char *file)
{
        int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);

        assert_int_equal(pack(path), CAY_OK);
        assert_int_equal(sys_write_all(fd, r.out, r.out_len), 0);
        close(fd);
}

static int setup(void **state)
{
        r = (struct run){ 0 };
        return scratch_setup(state);
}

static int teardown(void **state)
{
        run_done(&r);
        return scratch_teardown(state);
}

/* --- What is sent --- */

static void trees_files_and_links_are_packed(void **state)
{
        (void)state;
        shell("mkdir -p s/d/e && printf hello >s/d/f && ln -s d/f s/l && ln s/d/f s/h");
        assert_int_equal(pack("s"), CAY_OK);
        assert_int_equal(check.members, 6);
        assert_int_equal(check.files, 2); /* a hard link is a copy */
        assert_int_equal(check.links, 1);
        assert_int_equal(check.directories, 3);
        assert_int_equal(check.bytes, 10);
        assert_string_equal(r.res.msg, "");
        assert_int_equal(pack("s/d/f"), CAY_OK);
        assert_string_equal(check.name, "f");
        assert_int_equal(check.bytes, 5);
        assert_int_equal(pack("s/l"), CAY_OK);
        assert_int_equal(check.links, 1);
        r.flags = CAY_BOX_FOLLOW;
        assert_int_equal(pack("s/l"), CAY_OK);
        assert_int_equal(check.bytes, 5);
        assert_string_equal(check.name, "l");
        shell("ln -s s link");
        assert_int_equal(pack("link"), CAY_OK);
        assert_int_equal(check.members, 6);
        r.flags = 0;
        assert_int_equal(pack("link"), CAY_OK);
        assert_int_equal(check.members, 1);
        assert_int_equal(pack("none"), CAY_NOT_FOUND);
        shell("mkdir nothing");
        assert_int_equal(pack("nothing"), CAY_OK);
        assert_int_equal(check.members, 1);
        assert_int_equal(r.out_len, 1536);
}

static void special_files_are_left_out_and_counted(void **state)
{
        (void)state;
        alarm(100);
        shell("mkdir s && mkfifo s/p && touch s/f && ln -s /dev/zero s/z && python3 -c \""
              "import socket; socket.socket(socket.AF_UNIX).bind('s/sock')\" 2>/dev/null || touch "
              "s/sock-missing");
        assert_int_equal(pack("s"), CAY_OK);
        alarm(0);
        assert_non_null(strstr(r.res.msg, "entries left out"));
        assert_int_equal(pack("s/p"), CAY_CONFLICT);
        assert_int_equal(pack("/dev/null"), CAY_CONFLICT);
}

static void limits_are_checked_before_a_member_begins(void **state)
{
        (void)state;
        shell("mkdir s && head -c 2000000 /dev/zero >s/large && printf x >s/f");
        r.max_bytes = 1 << 20;
        assert_int_equal(pack("s"), CAY_LIMIT);
        assert_non_null(strstr(r.res.msg, "large"));
        assert_true(r.out_len <= 4096);
        shell("rm s/large && truncate -s 2G s/hole"); /* a hole does not count */
        assert_int_equal(pack("s"), CAY_OK);
        shell("rm s/hole");
        r.max_bytes = 512 * 5; /* directory, header, data, end */
        assert_int_equal(pack("s"), CAY_OK);
        r.max_bytes--;
        assert_int_equal(pack("s"), CAY_LIMIT);
        r.max_bytes = 0;
        r.max_entries = 2;
        assert_int_equal(pack("s"), CAY_OK);
        r.max_entries = 1;
        assert_int_equal(pack("s"), CAY_LIMIT);
}

static void holes_are_not_sent(void **state)
{
        (void)state;
        shell("mkdir s && truncate -s 3000001 s/hole && printf x >>s/hole");
        assert_int_equal(pack("s"), CAY_OK);
        assert_int_equal(check.bytes + check.holes, 3000002);
        assert_true(check.holes > 2900000 && r.out_len < 100000);
}

static void odd_names_and_deep_trees(void **state)
{
        (void)state;
        shell("mkdir s t && touch \"s/$(printf 'new\\nline')\" \"s/$(printf '\\377\\376')\" \"s/quo'te\\\"\" "
              "'s/<b>' 's/ '");
        pack_to("s", "out.tar");
        shell("tar -C t -xf out.tar && diff -r s t");

        make_deep("d", 1700);
        assert_int_equal(pack("d"), CAY_OK);
        assert_int_equal(check.members, 1701); /* "d" itself is "./" */
        assert_int_equal(check.bytes, 4);
        shell("rm -rf s && mkdir s && mv d s/");
        pack_to("s", "out.tar");
        {
                struct run in = { .in = r.out, .in_len = r.out_len };
                bool file;

                shell("rm -rf t && mkdir t");
                assert_int_equal(run(&in, cay_archive_in, "t", NULL), CAY_OK);
                run_done(&in);
                assert_int_equal(count_deep("t", "d", &file), 1700);
                assert_true(file);
        }
        /* other people's tar has no trouble with it either */
        shell("tar -tf out.tar | tail -1 | awk '{ exit length($0) == 1700 * 2 + 1 ? 0 : 1 }'");
}

static void too_long_names_are_left_out(void **state)
{
        char name[256];

        (void)state;
        memset(name, 'n', 255);
        name[255] = '\0';
        make_deep(name, 80);
        assert_int_equal(pack(name), CAY_OK);
        assert_int_equal(check.directories, 64); /* 63 names below, and "./" */
        assert_non_null(strstr(r.res.msg, "left out"));
}

static void mounts_are_not_entered(void **state)
{
        (void)state;
        shell("mkdir -p s/f other data && printf SECRET >data/x");
        if (getuid() != 0 || mount("data", "s/f", NULL, MS_BIND, NULL) < 0)
                skip();
        assert_int_equal(pack("s"), CAY_OK);
        assert_int_equal(umount2("s/f", MNT_DETACH), 0);
        assert_int_equal(check.members, 2);
        assert_false(check.secret);
}

static void nobody_packs(void)
{
        struct run n = { 0 };

        NOBODY_CHECK(run(&n, cay_archive_out, "s", NULL) == CAY_OK);
        NOBODY_CHECK(n.res.entries == 3); /* "./", the closed directory, the open file */
        NOBODY_CHECK(strstr(n.res.msg, "2 entries left out"));
        NOBODY_CHECK(run(&n, cay_archive_out, "s/secret", NULL) == CAY_DENIED);
        NOBODY_CHECK(run(&n, cay_archive_out, "s/closed", NULL) == CAY_DENIED);
}

static void what_the_user_cannot_read_is_left_out(void **state)
{
        (void)state;
        if (getuid() != 0)
                skip();
        shell("mkdir -p s/closed && touch s/closed/x s/open && printf s >s/secret && chmod 600 s/secret && "
              "chmod 700 s/closed");
        as_nobody(nobody_packs);
}

static void few_descriptors_are_enough(void **state)
{
        struct rlimit old, small;

        (void)state;
        make_deep("d", 200);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
        small = (struct rlimit){ 32, old.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
        assert_int_equal(pack("d"), CAY_OK);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        assert_int_equal(check.files, 1);
}

/* --- Round trips --- */

static const char same_tree[] =
        "diff -r --no-dereference s t && test \"$(cd s && find . -printf '%P %y %m %Ts %l\\n' | sort)\" = "
        "\"$(cd t && find . -printf '%P %y %m %Ts %l\\n' | sort)\"";

static void make_tree(void)
{
        shell("mkdir -p s/a/b/c s/empty s/ro && printf hello >s/a/f && : >s/a/none && head -c 70000 "
              "/dev/urandom >s/a/b/r && "
              "ln -s ../../x s/a/up && ln -s /etc/passwd s/abs && ln -s $(printf '%0300d' 1) s/longlink && "
              "mkdir -p s/$(printf '%090d' 1)/$(printf '%090d' 2)/$(printf '%090d' 3) && "
              "printf y >s/$(printf '%090d' 1)/$(printf '%090d' 2)/$(printf '%090d' 3)/$(printf '%0250d' 4) "
              "&& "
              "printf z >s/$(printf '%0101d' 5) && printf ro >s/ro/f && chmod 400 s/ro/f && chmod 711 s/a/b "
              "&& chmod 777 s/a/f && "
              "touch -d '2001-02-03 04:05:06' s/a/f s/empty && touch -d '1960-01-01' s/a/none && touch -d "
              "'2300-01-01' s/a/b/r && "
              "head -c 512 /dev/zero >s/block && head -c 511 /dev/zero >s/less && head -c 65536 /dev/zero "
              ">s/buf && mkdir t && "
              "touch -h -d '2005-05-05' s/abs && chmod 555 s/ro && touch -d '2002-02-02' s/a s/ro s");
}

static void ours_to_ours(void **state)
{
        struct run in = { 0 };

        (void)state;
        make_tree();
        assert_int_equal(pack("s"), CAY_OK);
        in.in = r.out;
        in.in_len = r.out_len;
        assert_int_equal(run(&in, cay_archive_in, "t", NULL), CAY_OK);
        assert_int_equal(in.res.entries, r.res.entries);
        run_done(&in);
        shell("touch -d '2002-02-02' t"); /* the target itself is not the archive's */
        shell(same_tree);
}

static void ours_to_gnu_tar(void **state)
{
        (void)state;
        make_tree();
        pack_to("s", "out.tar");
        shell("tar -C t --warning=no-timestamp -xpf out.tar 2>tar.err && test ! -s tar.err");
        shell(same_tree);
        shell("tar -df out.tar -C s 2>&1 | grep -v 'Uid differs\\|Gid differs' | grep . && exit 1; exit 0");
}

static void ours_to_python(void **state)
{
        (void)state;
        if (system("python3 -c 'import tarfile' 2>/dev/null") != 0)
                skip();
        make_tree();
        pack_to("s", "out.tar");
        shell("python3 -c \"import tarfile; tarfile.open('out.tar').extractall('t')\" && diff -r "
              "--no-dereference s t");
}

/* --- Others at work in the same tree --- */

/* A file is cut or grows after its header was sent: the stream keeps to the size that it promised. */
static void files_may_change_while_they_are_read(void **state)
{
        static const off_t later[] = { 10, 0, 20000000, 5000000 };
        static char bytes[1 << 16];

        (void)state;
        shell("mkdir s && printf end >s/zz");
        for (size_t i = 0; i < CAY_COUNT(later); i++) {
                struct cay_error err = { .code = CAY_OK };
                int fds[2], status;
                ssize_t n;
                pid_t pid;

                shell("head -c 10000000 /dev/zero >s/f");
                assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
                pid = fork_rival();
                if (pid == 0) {
                        struct cay_box_open open_msg = { .kind = CAY_BOX_TAR_OUT };
                        struct cay_worker_request req = {
                                .open = &open_msg, .path = "s", .path2 = "", .out_fd = fds[1]
                        };
                        static struct cay_worker_result res;

                        cay_archive_out(&req, &res);
                        _exit(res.code == CAY_OK && res.entries == 3 ? 0 : 1);
                }
                close(fds[1]);
                check_begin();
                for (bool changed = false; (n = read(fds[0], bytes, sizeof(bytes))) > 0;) {
                        assert_int_equal(cay_tar_reader_feed(&check.reader, bytes, (size_t)n, &err), 0);
                        if (!changed && check.bytes > 3) { /* in the middle of f */
                                assert_int_equal(truncate("s/f", later[i]), 0);
                                changed = true;
                        }
                }
                assert_int_equal(cay_tar_reader_finish(&check.reader, &err), 0);
                assert_int_equal(check.bytes, 10000003);
                close(fds[0]);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
        }
}

/* A directory and a file are swapped for links to the outside: no byte of the outside is ever sent. */
static void exchange_race_sends_nothing_from_outside(void **state)
{
        unsigned links = 0, files = 0;
        pid_t pid;

        (void)state;
        shell("mkdir -p out s/d && printf SECRET >out/x && printf plain >s/d/x && printf plain >s/f && ln -s "
              "../out dlink && "
              "ln -s ../out/x flink");
        pid = fork_rival();
        if (pid == 0)
                for (;;) {
                        syscall(SYS_renameat2, AT_FDCWD, "s/d", AT_FDCWD, "dlink", 2u /* exchange */);
                        syscall(SYS_renameat2, AT_FDCWD, "s/f", AT_FDCWD, "flink", 2u);
                }
        for (unsigned i = 0; i < 3000; i++) {
                assert_int_equal(pack("s"), CAY_OK);
                assert_false(check.secret);
                links += check.links;
                files += check.files;
        }
        end_rival(pid);
        print_message("%u links, %u files, nothing from outside\n", links, files);
}

/* Everything is made, moved and removed under the walk. */
static void churn_breaks_no_stream(void **state)
{
        pid_t pid;

        (void)state;
        shell("mkdir -p s/a/b/c s/k && touch s/a/1 s/a/b/2 s/a/b/c/3");
        pid = fork_rival();
        if (pid == 0)
                for (unsigned i = 0;; i++) {
                        char name[32];

                        snprintf(name, sizeof(name), "s/k/%u", i % 50);
                        close(open(name, O_CREAT | O_WRONLY, 0644));
                        rename("s/a/b", "s/b");
                        rename("s/b", "s/a/b");
                        unlink(name);
                        rename("s/a", "s/k/a");
                        rename("s/k/a", "s/a");
                }
        for (unsigned i = 0; i < 1000; i++)
                assert_int_equal(pack("s"), CAY_OK);
        end_rival(pid);
}

#define OUT_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                OUT_TEST(trees_files_and_links_are_packed),
                OUT_TEST(special_files_are_left_out_and_counted),
                OUT_TEST(limits_are_checked_before_a_member_begins),
                OUT_TEST(holes_are_not_sent),
                OUT_TEST(odd_names_and_deep_trees),
                OUT_TEST(too_long_names_are_left_out),
                OUT_TEST(mounts_are_not_entered),
                OUT_TEST(what_the_user_cannot_read_is_left_out),
                OUT_TEST(few_descriptors_are_enough),
                OUT_TEST(ours_to_ours),
                OUT_TEST(ours_to_gnu_tar),
                OUT_TEST(ours_to_python),
                OUT_TEST(files_may_change_while_they_are_read),
                OUT_TEST(exchange_race_sends_nothing_from_outside),
                OUT_TEST(churn_breaks_no_stream),
        };

        return cmocka_run_group_tests_name("init/archive_out", tests, NULL, NULL);
}
