/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writable layer in a file: it holds its size and its count of files, and lets go of everything by
 * itself.
 */
#include "sys_test.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/loopdev.h"
#include "foundation/sys/mounts.h"
#include "tools/old_kernel.h"

/*
 * Of our own: others make layers too. On a disk: not every kernel has unnamed files, or loop devices, on a
 * tmpfs.
 */
static char folder[] = "/var/tmp/cay-unit-XXXXXX";

static int group_set_up(void **state)
{
        return mkdtemp(folder) ? 0 : -1;
}

static int group_tear_down(void **state)
{
        return rmdir(folder);
}

/* Loop devices that stand on an unnamed file of the folder. */
static unsigned loops(void)
{
        unsigned count = 0;
        char word[64];

        snprintf(word, sizeof(word), "%s/#", folder);

        for (int i = 0; i < 256; i++) {
                char path[64], text[512];

                snprintf(path, sizeof(path), "/sys/block/loop%d/loop/backing_file", i);
                if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 && strstr(text, word))
                        count++;
        }
        return count;
}

static bool loops_become(unsigned want)
{
        for (int i = 0; i < 10000; i++) {
                if (loops() == want)
                        return true;
                nap_ms(4);
        }
        return false;
}

#define need_images()                                                                                        \
        do {                                                                                                 \
                need_root();                                                                                 \
                if (!sys_layer_image_can()) {                                                                \
                        print_message("skipped: no mke2fs or no loop devices here\n");                       \
                        skip();                                                                              \
                }                                                                                            \
        } while (0)

static void test_size(void **state)
{
        static char block[1 << 16];
        unsigned before = loops(), fds = count_fds();
        uint64_t written = 0;
        struct statvfs st;
        int fd, file;

        need_images();
        fd = sys_layer_image_mount(folder, 16 << 20, 500, SYS_MOUNT_SAFE);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fstatvfs(fd, &st), 0);
        assert_true((st.f_flag & (ST_NOSUID | ST_NODEV)) == (ST_NOSUID | ST_NODEV));
        file = sys_open_at(fd, "big", O_WRONLY | O_CREAT, 0600);
        assert_true(file >= 0);
        for (ssize_t n; (n = write(file, block, sizeof(block))) > 0;)
                written += (size_t)n;
        assert_int_equal(errno, ENOSPC);
        close(file);
        assert_in_range(written, 16 << 20, 19 << 20); /* at least what was promised, not much more */
        close(fd);
        assert_true(loops_become(before));
        assert_int_equal(count_fds(), fds);
}

static void test_inodes(void **state)
{
        unsigned before = loops(), made = 0;
        int fd;

        need_images();
        fd = sys_layer_image_mount(folder, 16 << 20, 500, SYS_MOUNT_SAFE);
        assert_true(fd >= 0);
        for (; made < 5000; made++) {
                char name[16];

                snprintf(name, sizeof(name), "%u", made);
                if (sys_make_file(fd, name, 0600, "", 0) < 0)
                        break;
        }
        assert_in_range(made, 450, 1100); /* ext4 gives inodes by whole tables */
        close(fd);
        assert_true(loops_become(before));
}

/* No count of files asked for: what the size gives. */
static void test_inodes_by_default(void **state)
{
        unsigned before = loops();
        struct statvfs st;
        int fd;

        need_images();
        fd = sys_layer_image_mount(folder, 64 << 20, 0, SYS_MOUNT_SAFE);
        assert_true(fd >= 0);
        assert_int_equal(fstatvfs(fd, &st), 0);
        assert_true(st.f_ffree > 1000);
        close(fd);
        assert_true(loops_become(before));
}

/* The smallest layers still have room for what was promised. */
static void test_small(void **state)
{
        static const uint64_t sizes[] = { 4096, 64 << 10, 1 << 20, 5 << 20 };
        unsigned before = loops();

        need_images();
        for (unsigned i = 0; i < CAY_COUNT(sizes); i++) {
                int fd = sys_layer_image_mount(folder, sizes[i], 32, SYS_MOUNT_SAFE);
                struct statvfs st;

                assert_true(fd >= 0);
                assert_int_equal(fstatvfs(fd, &st), 0);
                assert_true(st.f_bfree * st.f_frsize >= sizes[i]);
                close(fd);
        }
        assert_true(loops_become(before));
}

/* Whatever number the image's descriptor happens to get, mke2fs finds it. */
static void any_number(void)
{
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

        for (int hole = 4; hole < 14; hole++) {
                for (int i = 3; i < 32; i++)
                        check(i == null || dup3(null, i, O_CLOEXEC) == i);
                close(hole);
                fd = sys_layer_image_mount(folder, 1 << 20, 32, SYS_MOUNT_SAFE);
                if (fd < 0) {
                        fprintf(stderr, "with descriptor %d free: %s\n", hole, strerror(-fd));
                        _exit(1);
                }
                close(fd);
        }
}

static void test_any_number(void **state)
{
        unsigned before = loops();

        need_images();
        in_child(any_number);
        assert_true(loops_become(before));
}

/* The maker is killed with the layer mounted: nothing stays. */
static void test_killed(void **state)
{
        unsigned before = loops();
        char byte;
        int pipes[2];
        pid_t pid;

        need_images();
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                check(sys_layer_image_mount(folder, 4 << 20, 100, SYS_MOUNT_SAFE) >= 0);
                check(write(pipes[1], "x", 1) == 1);
                for (;;)
                        pause();
        }
        assert_int_equal(read(pipes[0], &byte, 1), 1);
        assert_int_equal(loops(), before + 1);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_true(loops_become(before));
        close(pipes[0]);
        close(pipes[1]);
}

/* At a place of a mount namespace of our own, which takes it away again. */
static void placed(void)
{
        struct statvfs st;
        int fd;

        enter_mount_namespace();
        fd = sys_layer_image_place(folder, 4 << 20, 100, SYS_MOUNT_SAFE, AT_FDCWD, "/mnt");
        check(fd >= 0);
        check(sys_make_file(fd, "x", 0644, "y", 1) == 0 && access("/mnt/x", F_OK) == 0);
        check(fstatvfs(fd, &st) == 0 && (st.f_flag & (ST_NOSUID | ST_NODEV)) == (ST_NOSUID | ST_NODEV));
        check(sys_layer_image_place(folder, 4 << 20, 100, 0, AT_FDCWD, "/no/such/place") == -ENOENT);
}

static void placed_by_old_kernel(void)
{
        check(old_kernel_block("mount_api,loop_configure,pidfd") == 0);
        check(old_kernel_lacks("mount_api,pidfd"));
        check(sys_layer_image_mount(folder, 4 << 20, 100, SYS_MOUNT_SAFE) == -ENOSYS);
        placed();
}

static void made_by_two_calls(void)
{
        check(old_kernel_block("loop_configure") == 0);
        any_number();
}

static void test_placed(void **state)
{
        static void (*const ways[])(void) = { placed, placed_by_old_kernel, made_by_two_calls };
        unsigned before = loops();

        need_images();
        for (unsigned i = 0; i < CAY_COUNT(ways); i++) {
                in_child(ways[i]);
                assert_true(loops_become(before));
        }
}

/*
 * The state of a file of which a mount is there on the disk, as a power cut would leave it; and of one that
 * was let go.
 */
static void test_unclean(void **state)
{
        char path[64];
        cay_auto_close int file = -1, copy = -1;
        bool is_unclean = false;
        int mount;

        need_images();
        snprintf(path, sizeof(path), "%s/unclean-XXXXXX", folder);
        file = mkstemp(path);
        assert_true(file >= 0);
        unlink(path);
        copy = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        assert_true(copy >= 0);
        assert_true(sys_layer_image_is_unclean(file)); /* nothing is in it */
        assert_int_equal(sys_layer_image_format(file, 16 << 20, 100, true), 0);
        assert_false(sys_layer_image_is_unclean(file));
        mount = sys_layer_image_mount_file(file, SYS_MOUNT_SAFE);
        assert_true(mount >= 0);
        for (int i = 0; i < 10000 && !is_unclean; i++) { /* the kernel writes it there in its own time */
                is_unclean = sys_layer_image_is_unclean(file);
                nap_ms(is_unclean ? 0 : 4);
        }
        assert_true(is_unclean);
        assert_int_equal(sys_layer_image_copy(file, copy), 0);
        close(mount);
        for (int i = 0; i < 10000 && is_unclean; i++) {
                is_unclean = sys_layer_image_is_unclean(file);
                nap_ms(is_unclean ? 4 : 0);
        }
        assert_false(is_unclean);
        assert_true(sys_layer_image_is_unclean(copy));
        assert_int_equal(sys_layer_image_mend(copy), 0);
        assert_false(sys_layer_image_is_unclean(copy));
        assert_false(sys_layer_image_has_errors(copy));
        assert_int_equal(pwrite(copy, "\3", 1, 1082), 1); /* what the kernel notes when it meets an error */
        assert_true(sys_layer_image_has_errors(copy));
        assert_int_equal(sys_layer_image_mend(copy), -EUCLEAN); /* not for us to decide what is lost */
        assert_true(sys_layer_image_has_errors(copy));
}

static void test_refused(void **state)
{
        unsigned before = loops(), fds = count_fds();

        need_images();
        assert_int_equal(sys_layer_image_mount("/no/such/folder", 1 << 20, 32, 0), -ENOENT);
        assert_true(sys_layer_image_mount("/proc", 1 << 20, 32, 0) < 0);
        assert_int_equal(loops(), before);
        assert_int_equal(count_fds(), fds);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_inodes),
                cmocka_unit_test(test_inodes_by_default),
                cmocka_unit_test(test_small),
                cmocka_unit_test(test_any_number),
                cmocka_unit_test(test_killed),
                cmocka_unit_test(test_placed),
                cmocka_unit_test(test_unclean),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}
