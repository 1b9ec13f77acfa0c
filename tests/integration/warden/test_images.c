/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images made by an enemy. Where the box needs a place of its own the image has a link to the host, a FIFO, a
 * device, a file: either the box is refused with a reason, or it is set up inside the image only. The host's
 * files, and the image's own, stay as they were.
 */
#include "rig.h"

#include <sys/sysmacros.h>
#include <sys/un.h>

#include "foundation/sys/fd.h"

static struct rig rig;
static int canary = -1; /* a folder of the host that links point to */
static char canary_path[128];

static int set_up(void **state)
{
        rig = (struct rig){ .sock = -1, .pid = -1 };
        return rig_set_up(state);
}

static int tear_down(void **state)
{
        rig_abandon(&rig);
        return rig_tear_down(state);
}

enum kind {
        LINK_ABSOLUTE,
        LINK_UP,
        LINK_HOST,
        LINK_DANGLING,
        LINK_LOOP,
        LINK_MAGIC,
        FIFO,
        DEVICE,
        FILE_PLAIN,
        SOCKET,
        KINDS
};

static const char *const places[] = { "proc", "dev", "sys", "workspace", "tmp", "etc", "etc/resolv.conf" };

static void put(int image, const char *path, enum kind kind)
{
        struct sockaddr_un where = { .sun_family = AF_UNIX };
        int r = -1, sock;

        switch (kind) {
        case LINK_ABSOLUTE:
                r = symlinkat(canary_path, image, path);
                break;
        case LINK_UP:
                r = symlinkat("../../../../../../..", image, path);
                break;
        case LINK_HOST:
                r = symlinkat("/", image, path);
                break;
        case LINK_DANGLING:
                r = symlinkat("/no/such/place", image, path);
                break;
        case LINK_LOOP:
                r = symlinkat(strrchr(path, '/') ? strrchr(path, '/') + 1 : path, image, path);
                break;
        case LINK_MAGIC:
                r = symlinkat("/proc/self/root", image, path);
                break;
        case FIFO:
                r = mkfifoat(image, path, 0666);
                break;
        case DEVICE:
                r = mknodat(image, path, S_IFCHR | 0666, makedev(1, 3));
                break;
        case FILE_PLAIN:
                r = sys_make_file(image, path, 0666, "plain", 5);
                break;
        case SOCKET:
                snprintf(where.sun_path, sizeof(where.sun_path), "/proc/self/fd/%d/%s", image, path);
                sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
                r = bind(sock, (struct sockaddr *)&where, sizeof(where));
                close(sock);
                break;
        case KINDS:
                break;
        }
        assert_int_equal(r, 0);
}

/* Everything below a folder, with kinds and times: the same before and after. */
static void print_tree(int dir, const char *name, char *out, size_t size)
{
        cay_auto_close int fd = sys_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        struct dirent **names = NULL;
        char path[64];
        int count;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        count = fd < 0 ? 0 : scandir(path, &names, NULL, alphasort);
        for (int i = 0; i < count; i++) {
                struct stat st;
                size_t at = strlen(out);

                if (strcmp(names[i]->d_name, "..") != 0 &&
                    fstatat(fd, names[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                        snprintf(out + at, size - at, "%s %o %u %lld %ld.%ld\n", names[i]->d_name, st.st_mode,
                                 st.st_uid, (long long)st.st_size, (long)st.st_mtim.tv_sec,
                                 st.st_mtim.tv_nsec);
                        if (S_ISDIR(st.st_mode) && strcmp(names[i]->d_name, ".") != 0)
                                print_tree(fd, names[i]->d_name, out, size);
                }
                free(names[i]);
        }
        free(names);
}

static void make_canary(void)
{
        canary = rig_image("canary");
        snprintf(canary_path, sizeof(canary_path), "%s/canary", rig_folder());
        assert_int_equal(sys_make_file(canary, "file", 0644, "alive", 5), 0);
        assert_int_equal(mkdirat(canary, "shm", 0755),
                         0); /* names that a set-up through the link would want to make */
}

static bool needs_folder(const char *place)
{
        return strcmp(place, "proc") == 0 || strcmp(place, "dev") == 0 || strcmp(place, "workspace") == 0 ||
               strcmp(place, "tmp") == 0;
}

static void test_hostile_places(void **state)
{
        static char canary_was[4096], canary_is[4096], image_was[16384], image_is[16384];

        make_canary();
        print_tree(canary, ".", canary_was, sizeof(canary_was));
        rig_start(&rig, NULL);
        for (unsigned p = 0; p < CAY_COUNT(places); p++)
                for (unsigned k = 0; k < KINDS; k++)
                        for (unsigned read_only = 0; read_only < 2; read_only++) {
                                struct wire_plan plan = rig_plan("hostile");
                                struct wire_answer a;
                                struct rig_box box;
                                char name[64];
                                int image;

                                snprintf(name, sizeof(name), "image-%u-%u-%u", p, k, read_only);
                                image = rig_image(name);
                                if (strchr(places[p], '/'))
                                        assert_int_equal(mkdirat(image, "etc", 0755), 0);
                                put(image, places[p], k);
                                image_was[0] = image_is[0] = canary_is[0] = 0;
                                print_tree(image, ".", image_was, sizeof(image_was));
                                plan.flags |= read_only ? WIRE_PLAN_READ_ONLY : 0;
                                a = rig_make(&rig, &plan, image, -1, &box);
                                if (a.code == CAY_OK) {
                                        const char *text = rig_tell(&box, "ping");

                                        if (strcmp(text, "pong") != 0)
                                                fail_msg("%s, kind %u: made, but nobody is there", places[p],
                                                         k);
                                        /* The places that matter are the box's own. */
                                        text = rig_tell(&box, "stat /proc/1");
                                        assert_true(strncmp(text, "dir", 3) == 0);
                                        text = rig_tell(&box, "list /tmp");
                                        assert_true(!strstr(text, "alive") && !strstr(text, "cay-rig"));
                                        rig_box_close(&box);
                                        a = rig_ask_box(&rig, WIRE_box_drop, "hostile");
                                        assert_int_equal(a.code, CAY_OK);
                                        if (needs_folder(places[p]))
                                                fail_msg("/%s, kind %u: not refused", places[p], k);
                                } else {
                                        if (!needs_folder(places[p]) || !strstr(a.text, places[p]) ||
                                            !strstr(a.text, "plain directory"))
                                                fail_msg("/%s, kind %u: %s", places[p], k, a.text);
                                }
                                print_tree(canary, ".", canary_is, sizeof(canary_is));
                                assert_string_equal(canary_is, canary_was);
                                print_tree(image, ".", image_is, sizeof(image_is));
                                assert_string_equal(image_is, image_was);
                                close(image);
                        }
        rig_stop(&rig);
        close(canary);
}

static void test_empty_image(void **state)
{
        struct wire_plan plan = rig_plan("empty");
        int image = rig_image("empty");
        char was[512] = "", is[512] = "";
        struct wire_answer a;
        struct rig_box box;
        const char *text;

        print_tree(image, ".", was, sizeof(was));
        rig_start(&rig, NULL);
        a = rig_make(&rig, &plan, image, -1, &box);
        if (a.code != CAY_OK)
                fail_msg("%s", a.text);
        text = rig_tell(&box, "list /");
        assert_true(strstr(text, "proc\n") && strstr(text, "dev\n") && strstr(text, "workspace\n") &&
                    strstr(text, "tmp\n"));
        assert_null(strstr(text, "usr"));
        assert_string_equal(rig_tell(&box, "stat /workspace"), "dir 777 1001 1001");
        assert_string_equal(rig_tell(&box, "stat /tmp"), "dir 1777 0 0");
        assert_string_equal(rig_tell(&box, "write /workspace/a text"), "ok");
        rig_box_close(&box);
        rig_stop(&rig);
        print_tree(image, ".", is, sizeof(is));
        assert_string_equal(is, was);
        close(image);
}

/* An image with files of its own: they show with the box's ids, and what is written stays in the layer. */
static void test_image_is_below(void **state)
{
        struct wire_plan plan = rig_plan("below");
        int image = rig_image("below");
        struct wire_answer a;
        struct rig_box box;
        char text[16];

        assert_int_equal(mkdirat(image, "data", 0777), 0);
        assert_int_equal(fchmodat(image, "data", 0777, 0), 0);
        assert_int_equal(sys_make_file(image, "data/file", 0666, "image", 5), 0);
        assert_int_equal(fchmodat(image, "data/file", 0666, 0), 0);
        assert_int_equal(symlinkat("/data/file", image, "inside"), 0);
        assert_int_equal(symlinkat("/etc/passwd", image, "outside"), 0);
        rig_start(&rig, NULL);
        a = rig_make(&rig, &plan, image, -1, &box);
        if (a.code != CAY_OK)
                fail_msg("%s", a.text);
        assert_string_equal(rig_tell(&box, "stat /data/file"), "file 666 0 0");
        assert_string_equal(rig_tell(&box, "read /inside"), "image");
        assert_string_equal(rig_tell(&box, "read /outside"), "error: No such file or directory");
        assert_string_equal(rig_tell(&box, "write /data/file box"), "ok");
        assert_string_equal(rig_tell(&box, "read /data/file"), "box");
        assert_int_equal(sys_read_file(image, "data/file", text, sizeof(text)), 5);
        assert_string_equal(text, "image");
        rig_box_close(&box);
        rig_stop(&rig);
        close(image);
}

/* The host's own root as an image: one mount, without what is mounted below it. */
static void test_host_root(void **state)
{
        struct wire_plan plan = rig_plan("root");
        int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct wire_answer a;
        struct rig_box box;

        rig_start(&rig, NULL);
        a = rig_make(&rig, &plan, root, -1, &box);
        if (a.code == CAY_OK) { /* some roots cannot be a lower layer */
                assert_string_equal(rig_tell(&box, "read /etc/shadow"), "error: Permission denied");
                assert_string_equal(rig_tell(&box, "list /sys"), "");
                assert_non_null(strstr(rig_tell(&box, "stat /proc/1"), "dir"));
        } else {
                assert_true(a.text[0]);
        }
        rig_box_close(&box);
        rig_stop(&rig);
        close(root);
}

/* Folders that are no images at all. */
static void test_kernel_folders(void **state)
{
        static const char *const folders[] = { "/proc", "/proc/self", "/proc/self/fd",
                                               "/sys",  "/dev",       "/sys/fs/cgroup/unified" };

        rig_start(&rig, NULL);
        for (unsigned i = 0; i < CAY_COUNT(folders); i++) {
                struct wire_plan plan = rig_plan("kernel");
                int fd = open(folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                struct wire_answer a;
                struct rig_box box;

                if (fd < 0)
                        continue;
                a = rig_make(&rig, &plan, fd, -1, &box);
                if (a.code != CAY_OK)
                        assert_true(a.text[0]);
                rig_box_close(&box);
                a = rig_ask_box(&rig, WIRE_box_drop, "kernel");
                assert_int_equal(a.code, CAY_OK);
                /* As a workspace: shown or refused, never more. */
                a = rig_make(&rig, &plan, -1, fd, &box);
                if (a.code != CAY_OK)
                        assert_true(a.text[0]);
                rig_box_close(&box);
                a = rig_ask_box(&rig, WIRE_box_drop, "kernel");
                assert_int_equal(a.code, CAY_OK);
                close(fd);
        }
        rig_stop(&rig);
}

/* An image that is removed while its box lives. */
static void test_image_removed(void **state)
{
        struct wire_plan plan = rig_plan("removed");
        int image = rig_image("removed");
        struct wire_answer a;
        struct rig_box box;
        char path[128];

        rig_start(&rig, NULL);
        snprintf(path, sizeof(path), "%s/removed", rig_folder());
        assert_int_equal(rmdir(path), 0);
        a = rig_make(&rig, &plan, image, -1, &box); /* it has no name any more: a clear error, or a box */
        if (a.code != CAY_OK)
                assert_true(a.text[0]);
        rig_box_close(&box);
        rig_stop(&rig);
        close(image);
}

#define rigged(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                rigged(test_hostile_places), rigged(test_empty_image),    rigged(test_image_is_below),
                rigged(test_host_root),      rigged(test_kernel_folders), rigged(test_image_removed),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
