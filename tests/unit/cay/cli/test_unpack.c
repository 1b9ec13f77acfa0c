/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that lie: nothing outside the target is touched. And what is packed unpacks to the same. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "foundation/base/buf.h"
#include "cay/cli/pack.h"
#include "cay/cli/unpack.h"

struct place {
        char root[64];
        int fd;
};

static int make_place(void **state)
{
        static struct place p;

        memcpy(p.root, "/tmp/cay-test-unpack-XXXXXX", 28);
        assert_non_null(mkdtemp(p.root));
        p.fd = open(p.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkdirat(p.fd, "outside", 0755), 0);
        assert_int_equal(mkdirat(p.fd, "in", 0755), 0);
        *state = &p;
        return 0;
}

static int clear_place(void **state)
{
        struct place *p = *state;
        char command[128];

        close(p->fd);
        snprintf(command, sizeof(command), "rm -rf %s", p->root);
        return system(command);
}

static void put_member(struct cay_buf *tar, enum cay_tar_type type, const char *name, const char *link,
                       const char *data)
{
        static char mem[CAY_TAR_HEADERS_MAX];
        struct cay_tar_member m = { .type = type,
                                    .mode = 04755,
                                    .size = data != NULL ? strlen(data) : 0,
                                    .mtime_s = 1000000,
                                    .name = name,
                                    .link = link };
        int n = cay_tar_member_format(&m, mem, sizeof(mem));
        static const char zeros[CAY_TAR_BLOCK];

        assert_true(n > 0);
        assert_int_equal(cay_buf_put(tar, mem, (size_t)n), 0);
        if (data != NULL) {
                assert_int_equal(cay_buf_put(tar, data, strlen(data)), 0);
                assert_int_equal(cay_buf_put(tar, zeros, cay_tar_padding(strlen(data))), 0);
        }
}

/* Unpacks as "in/NAME" in pieces. */
static int unpack(struct place *p, struct cay_buf *tar, const char *name, struct cay_error *err)
{
        static const char zeros[2 * CAY_TAR_BLOCK];
        struct cay_unpack *u = calloc(1, sizeof(*u));
        int r;

        assert_non_null(u);
        assert_int_equal(cay_buf_put(tar, zeros, sizeof(zeros)), 0);
        r = cay_unpack_init_take(u, openat(p->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC), name, err);
        for (size_t at = 0; r == 0 && at < tar->len; at += 700)
                r = cay_unpack_feed(u, cay_buf_data(tar) + at, tar->len - at < 700 ? tar->len - at : 700,
                                    err);
        if (r == 0)
                r = cay_unpack_finish(u, err);
        cay_unpack_done(u);
        free(u);
        return r;
}

static bool is_there(struct place *p, const char *path)
{
        struct stat st;

        return fstatat(p->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void a_tree(void **state)
{
        struct place *p = *state;
        cay_auto_buf struct cay_buf tar = { 0 };
        struct cay_error err = { 0 };
        struct stat st;

        cay_buf_init(&tar, 1 << 20);
        put_member(&tar, CAY_TAR_DIRECTORY, "./", "", NULL);
        put_member(&tar, CAY_TAR_FILE, "a", "", "hello");
        put_member(&tar, CAY_TAR_DIRECTORY, "d/", "", NULL);
        put_member(&tar, CAY_TAR_SYMLINK, "d/l", "../../outside", NULL);
        put_member(&tar, CAY_TAR_LINK, "d/h", "a", NULL);
        assert_int_equal(unpack(p, &tar, "new", &err), 0);
        assert_int_equal(fstatat(p->fd, "in/new/d/h", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0755); /* no set-id bit */
        assert_true(st.st_size == 5 && st.st_nlink == 2 && st.st_mtim.tv_sec == 1000000);
        assert_true(is_there(p, "in/new/d/l"));
}

static void lies(void **state)
{
        static const struct {
                const char *what;
                enum cay_tar_type type;
                const char *name, *link;
        } rows[] = {
                { "dots", CAY_TAR_FILE, "../outside/x", "" },
                { "dots inside", CAY_TAR_FILE, "d/../../outside/x", "" },
                { "absolute", CAY_TAR_FILE, "/tmp/cay-test-unpack-lie", "" },
                { "through a link", CAY_TAR_FILE, "l/x", "" },
                { "a directory through a link", CAY_TAR_DIRECTORY, "l/x/", "" },
                { "a hard link to dots", CAY_TAR_LINK, "h", "../outside/victim" },
                { "a hard link through a link", CAY_TAR_LINK, "h", "l/victim" },
        };
        struct place *p = *state;
        int fd = openat(p->fd, "outside/victim", O_CREAT | O_WRONLY, 0600);

        close(fd);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_buf struct cay_buf tar = { 0 };
                struct cay_error err = { 0 };
                struct stat st;

                cay_buf_init(&tar, 1 << 20);
                put_member(&tar, CAY_TAR_DIRECTORY, "./", "", NULL);
                put_member(&tar, CAY_TAR_SYMLINK, "l", "../../outside", NULL);
                put_member(&tar, rows[i].type, rows[i].name, rows[i].link,
                           rows[i].type == CAY_TAR_FILE ? "evil" : NULL);
                if (unpack(p, &tar, "tree", &err) == 0)
                        fail_msg("taken: %s", rows[i].what);
                assert_false(is_there(p, "outside/x"));
                assert_int_equal(access("/tmp/cay-test-unpack-lie", F_OK), -1);
                assert_int_equal(fstatat(p->fd, "outside/victim", &st, 0), 0);
                assert_true(st.st_size == 0 && st.st_nlink == 1);
        }
}

static void one_thing_alone(void **state)
{
        struct place *p = *state;
        cay_auto_buf struct cay_buf tar = { 0 }, more = { 0 }, none = { 0 };
        struct cay_error err = { 0 };

        assert_int_equal(symlinkat("../outside/victim", p->fd, "in/file"), 0);
        cay_buf_init(&tar, 1 << 20);
        put_member(&tar, CAY_TAR_FILE, "its own name", "", "text");
        assert_int_equal(unpack(p, &tar, "file", &err), 0); /* the link is replaced, not written through */
        assert_false(is_there(p, "outside/victim"));
        cay_buf_init(&more, 1 << 20);
        put_member(&more, CAY_TAR_FILE, "a", "", "1");
        put_member(&more, CAY_TAR_FILE, "b", "", "2");
        assert_int_equal(unpack(p, &more, "file", &err), -1);
        cay_buf_init(&none, 1 << 20);
        assert_int_equal(unpack(p, &none, "file", &err), -1);
        assert_int_equal(unpack(p, &tar, "..", &err), -1);
}

static int collect(void *ctx, const void *bytes, size_t len, struct cay_error *err)
{
        return cay_buf_put(ctx, bytes, len) == 0 ? 0 : cay_fail(err, CAY_LIMIT, "full");
}

static int refuse(void *ctx, const void *bytes, size_t len, struct cay_error *err)
{
        return 1;
}

static void what_is_packed(void **state)
{
        struct place *p = *state;
        cay_auto_buf struct cay_buf tar = { 0 };
        struct cay_error err = { 0 };
        struct cay_pack pack = { .write = collect, .ctx = &tar };
        struct cay_tar_header header;
        char path[128];
        int fd = openat(p->fd, "outside/file", O_CREAT | O_WRONLY, 0640);

        assert_int_equal(write(fd, "12345", 5), 5);
        close(fd);
        assert_int_equal(symlinkat("file", p->fd, "outside/link"), 0);
        assert_int_equal(mkfifoat(p->fd, "outside/fifo", 0600), 0);
        cay_buf_init(&tar, 1 << 20);
        snprintf(path, sizeof(path), "%s/outside", p->root);
        assert_int_equal(cay_pack_run(&pack, path, "name", &err), 0);
        assert_true(pack.entries == 3 && pack.left_out == 1 && pack.bytes == 5);
        assert_int_equal(cay_tar_header_parse((const uint8_t *)cay_buf_data(&tar), &header), 1);
        assert_string_equal(header.name, "name/");
        assert_int_equal(tar.len % CAY_TAR_BLOCK, 0);
        assert_int_equal(cay_pack_run(&pack, "/nowhere/at/all", "x", &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        pack.write = refuse;
        assert_int_equal(cay_pack_run(&pack, path, "name", &err), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_place, clear_place)

/*
 * Cut off in the middle of a file: what was in its place stays, and nothing is beside it. Whole: zeros take
 * no room.
 */
static void a_file_is_replaced_when_it_is_whole(void **state)
{
        struct place *p = *state;
        static char zeros[1 << 20], mem[CAY_TAR_HEADERS_MAX], end[2 * CAY_TAR_BLOCK];
        struct cay_tar_member m = {
                .type = CAY_TAR_FILE, .mode = 0640, .size = 16 << 20, .name = "f", .link = ""
        };
        int old = openat(p->fd, "in/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), n;
        struct cay_error err = { 0 };
        struct stat st;

        assert_int_equal(write(old, "old", 3), 3);
        close(old);
        n = cay_tar_member_format(&m, mem, sizeof(mem));
        assert_true(n > 0);
        for (int pieces = 8; pieces <= 16; pieces += 8) {
                struct cay_unpack *u = calloc(1, sizeof(*u));

                assert_int_equal(cay_unpack_init_take(u,
                                                      openat(p->fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                                      "f", &err),
                                 0);
                assert_int_equal(cay_unpack_feed(u, mem, (size_t)n, &err), 0);
                for (int i = 0; i < pieces; i++)
                        assert_int_equal(cay_unpack_feed(u, zeros, sizeof(zeros), &err), 0);
                if (pieces == 16) {
                        assert_int_equal(cay_unpack_feed(u, end, sizeof(end), &err), 0);
                        assert_int_equal(cay_unpack_finish(u, &err), 0);
                }
                cay_unpack_done(u);
                free(u);
                assert_int_equal(fstatat(p->fd, "in/f", &st, 0), 0);
                assert_int_equal(st.st_size, pieces == 16 ? 16 << 20 : 3);
                assert_true(st.st_blocks * 512 < 1 << 20);
                assert_int_equal(unlinkat(p->fd, "in", AT_REMOVEDIR), -1);
                assert_int_equal(st.st_mode & 0777, pieces == 16 ? 0640 : 0600);
        }
        assert_int_equal(unlinkat(p->fd, "in/f", 0), 0);
        assert_int_equal(unlinkat(p->fd, "in", AT_REMOVEDIR), 0); /* nothing else is in it */
}

int main(void)
{
        const struct CMUnitTest tests[] = { TEST(a_tree), TEST(lies), TEST(one_thing_alone),
                                            TEST(what_is_packed), TEST(a_file_is_replaced_when_it_is_whole) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
