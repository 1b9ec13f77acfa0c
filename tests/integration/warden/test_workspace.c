/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front that lies: it speaks the warden link as a taken-over one would, and asks for folders that nobody
 * has allowed. Every lie is refused with its reason, and nothing is made. Each kind of truth is told once
 * too, or the refusals would prove nothing.
 */
#include "integration/warden/rig.h"

#include <grp.h>
#include <sys/mount.h>
#include <sys/un.h>

#include "foundation/sys/unix_socket.h"

#define CLIENT 31234u /* nobody on this machine, likewise below */
#define OTHER 31235u

static struct rig rig;
static int keeper = -1, listener = -1;
static char listener_path[100];

struct client {
        pid_t pid;
        int sock; /* accepted: what a front has of it */
};

/* Somebody who connects to the daemon's socket, and stays. */
static struct client connect_as(uid_t uid)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        struct client c;

        snprintf(at.sun_path, sizeof(at.sun_path), "%s", listener_path);
        fflush(NULL);
        c.pid = fork();
        assert_true(c.pid >= 0);
        if (c.pid == 0) {
                int sock = socket(AF_UNIX, SOCK_STREAM, 0);

                if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
                    connect(sock, (struct sockaddr *)&at, sizeof(at)) < 0)
                        _exit(1);
                for (;;)
                        pause();
        }
        c.sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        assert_true(c.sock >= 0);
        return c;
}

static void disconnect(struct client *c)
{
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
        close(c->sock);
}

static int folder_of(const char *name, uid_t uid, mode_t mode)
{
        char path[160];

        snprintf(path, sizeof(path), "%s/%s", rig_folder(), name);
        if (mkdir(path, 0700) < 0)
                assert_int_equal(errno, EEXIST);
        assert_int_equal(chown(path, uid, uid), 0);
        assert_int_equal(chmod(path, mode), 0);
        return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void begin(void)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        int root = folder_of("root", 0, 0755);

        keeper = rig_start_kept(&rig);
        snprintf(listener_path, sizeof(listener_path), "%s/listener.sock", rig_folder());
        snprintf(at.sun_path, sizeof(at.sun_path), "%s", listener_path);
        unlink(listener_path);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(listener, 8), 0);
        assert_int_equal(chmod(listener_path, 0666), 0);
        rig_say(keeper, WIRE_KEEPER_LISTENER, 0, listener);
        rig_say(keeper, WIRE_KEEPER_ROOT, 3, root);
        close(root);
}

static void end(void)
{
        struct wire_request req = rig_request(&rig, WIRE_box_list);
        struct wire_answer a = rig_ask(&rig, &req, NULL, 0);

        assert_int_equal(a.code, CAY_OK);
        assert_string_equal(a.list.id,
                            ""); /* whatever was refused made nothing, whatever was made is dropped */
        close(listener);
        close(keeper);
        assert_true(rig_ends(&rig));
        rig_stop(&rig);
}

/* fds: beside the link's. */
static struct wire_answer ask(uint32_t flags, const char *below, uint32_t root, const int *more,
                              unsigned count, struct rig_box *box)
{
        struct wire_request req = rig_request(&rig, WIRE_box_make);
        struct wire_answer a;
        int links[2], fds[SYS_FDS_MAX];

        req.plan = rig_plan("lie");
        req.plan.flags |= flags;
        req.plan.workspace_root = root;
        if (below)
                snprintf(req.plan.workspace_below, sizeof(req.plan.workspace_below), "%s", below);
        else
                memset(req.plan.workspace_below, 'a', sizeof(req.plan.workspace_below)); /* no end */
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        fds[0] = links[1];
        for (unsigned i = 0; i < count; i++)
                fds[1 + i] = more[i];
        a = rig_ask(&rig, &req, fds, 1 + count);
        close(links[1]);
        if (box && a.code == CAY_OK) {
                *box = (struct rig_box){ .id = "lie", .link = links[0] };
                return a;
        }
        close(links[0]);
        if (a.code == CAY_OK)
                rig_must(rig_ask_box(&rig, WIRE_box_drop, "lie"));
        return a;
}

static void refused(struct wire_answer a, const char *word)
{
        if (a.code == CAY_OK || !strstr(a.text, word))
                fail_msg("wanted a refusal with '%s', got %u: %s", word, a.code, a.text);
        assert_int_equal(rig_ask_box(&rig, WIRE_box_stat, "lie").code, CAY_NOT_FOUND);
}

static void allowed(struct wire_answer a)
{
        if (a.code != CAY_OK)
                fail_msg("refused: %s", a.text);
}

static struct wire_answer by_path(const char *below, uint32_t root, uint32_t mode)
{
        return ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_BELOW | mode, below, root, NULL, 0, NULL);
}

static struct wire_answer by_folder(int folder, int peer, uint32_t mode)
{
        const int fds[] = { folder, peer };

        return ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_PEER | mode, "", 0, fds, 2, NULL);
}

static void test_below(void **state)
{
        const char *folder = rig_folder();
        char path[200];
        int own, file, root;

        begin();
        root = folder_of("root", 0, 0755);
        own = folder_of("root/own", CLIENT, 0700);
        close(folder_of("root/own/deep", CLIENT, 0700));
        close(folder_of("root/roots", 0, 0755));
        close(folder_of("outside", CLIENT, 0755));
        file = openat(root, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(file >= 0);
        close(file);
        assert_true(symlinkat("../outside", root, "link") == 0 || errno == EEXIST);
        assert_true(symlinkat("own", root, "inner") == 0 || errno == EEXIST);

        allowed(by_path("own", 3, WIRE_PLAN_WORKSPACE_RW));
        allowed(by_path("own/deep", 3, WIRE_PLAN_WORKSPACE_RW));
        allowed(by_path("own", 3, WIRE_PLAN_WORKSPACE_COW));
        allowed(by_path("roots", 3, 0));
        allowed(by_path(".", 3, 0));
        refused(by_path("roots", 3, WIRE_PLAN_WORKSPACE_RW), "root's");
        refused(by_path("..", 3, 0), "leaves its root");
        refused(by_path("../outside", 3, 0), "leaves its root");
        refused(by_path("own/../../outside", 3, 0), "leaves its root");
        refused(by_path("link", 3, 0), "link");
        refused(by_path("inner", 3, 0), "link");
        refused(by_path("inner/deep", 3, 0), "link");
        snprintf(path, sizeof(path), "%s/root/own", folder);
        refused(by_path(path, 3, 0), "leaves its root");
        refused(by_path("/", 3, 0), "leaves its root");
        refused(by_path("file", 3, 0), "open 'file'");
        refused(by_path("nowhere", 3, 0), "open 'nowhere'");
        refused(by_path("", 3, 0), "empty or has no end");
        refused(by_path(NULL, 3, 0), "empty or has no end");
        refused(by_path("own", 0, 0), "no root 0");
        refused(by_path("own", 4, 0), "no root 4");
        refused(by_path("own", WIRE_ROOTS, 0), "no root");
        refused(by_path("own", UINT32_MAX, 0), "no root");
        close(own);
        close(root);
        end();
}

static void test_descriptors(void **state)
{
        struct client me, you, root;
        int mine, yours, open_to_all, roots, named, path;

        begin();
        me = connect_as(CLIENT);
        you = connect_as(OTHER);
        root = connect_as(0);
        mine = folder_of("mine", CLIENT, 0700);
        yours = folder_of("yours", OTHER, 0700);
        open_to_all = folder_of("open", OTHER, 0755);
        roots = folder_of("roots", 0, 0755);
        path = open(rig_folder(), O_PATH | O_DIRECTORY | O_CLOEXEC);
        named = openat(path, "mine", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(mine >= 0 && yours >= 0 && open_to_all >= 0 && roots >= 0 && named >= 0);

        allowed(by_folder(mine, me.sock, WIRE_PLAN_WORKSPACE_RW));
        allowed(by_folder(mine, me.sock, WIRE_PLAN_WORKSPACE_COW));
        allowed(by_folder(mine, me.sock, 0));
        allowed(by_folder(mine, root.sock, WIRE_PLAN_WORKSPACE_RW));
        allowed(by_folder(open_to_all, me.sock, 0));
        allowed(by_folder(open_to_all, me.sock, WIRE_PLAN_WORKSPACE_COW));
        allowed(by_folder(roots, me.sock, 0));
        /* somebody else's */
        refused(by_folder(yours, me.sock, WIRE_PLAN_WORKSPACE_RW), "may not read");
        refused(by_folder(yours, me.sock, 0), "may not read");
        refused(by_folder(mine, you.sock, 0), "may not read");
        refused(by_folder(open_to_all, me.sock, WIRE_PLAN_WORKSPACE_RW), "belongs to uid");
        /* root's are nobody's to write to, not even root's */
        refused(by_folder(roots, me.sock, WIRE_PLAN_WORKSPACE_RW), "belongs to uid 0");
        refused(by_folder(roots, root.sock, WIRE_PLAN_WORKSPACE_RW), "root's");
        /* a name is no right */
        refused(by_folder(named, me.sock, 0), "for reading");
        refused(by_folder(named, root.sock, WIRE_PLAN_WORKSPACE_RW), "for reading");
        kill(me.pid, SIGKILL);
        waitpid(me.pid, NULL, 0);
        refused(by_folder(mine, me.sock, 0), "has gone");
        close(me.sock);
        disconnect(&you);
        disconnect(&root);
        close(mine);
        close(yours);
        close(open_to_all);
        close(roots);
        close(named);
        close(path);
        end();
}

/* What stands in for a client. */
static void test_no_client(void **state)
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        struct client me;
        int mine, pair[2], own, outward, inward, pipe_ends[2], packet[2];

        begin();
        me = connect_as(CLIENT);
        mine = folder_of("mine", CLIENT, 0755);
        allowed(by_folder(mine, me.sock, 0));
        refused(ask(WIRE_PLAN_WORKSPACE, "", 0, &mine, 1, NULL), "only with the connection");
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        refused(by_folder(mine, pair[0], 0), "not made to the daemon's socket");
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packet), 0);
        refused(by_folder(mine, packet[0], 0), "not a client's connection");
        refused(by_folder(mine, rig.sock, 0), "not a client's connection");
        refused(by_folder(mine, listener, 0), "has gone"); /* a listening socket's peer is its own maker */

        /*
         * A socket of the front's own by the same name, somewhere else: names can be had below another root.
         */
        snprintf(at.sun_path, sizeof(at.sun_path), "%s/away.sock", rig_folder());
        unlink(at.sun_path);
        own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(own, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(own, 1), 0);
        outward = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(outward, (struct sockaddr *)&at, sizeof(at)), 0);
        inward = accept4(own, NULL, NULL, SOCK_CLOEXEC);
        refused(by_folder(mine, outward, 0),
                "not made to the daemon's socket"); /* its peer is whoever listens */
        refused(by_folder(mine, inward, 0), "not made to the daemon's socket");

        /* The client's own end of a connection to the daemon: its peer is the daemon, which is root. */
        close(outward);
        snprintf(at.sun_path, sizeof(at.sun_path), "%s", listener_path);
        outward = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(outward, (struct sockaddr *)&at, sizeof(at)), 0);
        refused(by_folder(mine, outward, 0), "not made to the daemon's socket");

        assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
        refused(by_folder(mine, pipe_ends[0], 0), "not what it says");
        refused(by_folder(mine, mine, 0), "not what it says");
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        close(pair[0]);
        close(pair[1]);
        close(packet[0]);
        close(packet[1]);
        close(outward);
        close(inward);
        close(own);
        close(mine);
        disconnect(&me);
        end();
}

/* Folders that are none, or not anybody's to map. */
static void test_no_folder(void **state)
{
        struct client root;
        int fd, some;

        begin();
        root = connect_as(0);
        some = folder_of("mine", CLIENT, 0755);
        fd = openat(some, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        refused(by_folder(fd, root.sock, 0), "not what it says");
        close(fd);
        static const struct {
                const char *path, *word;
        } places[] = {
                { "/", "root directory" },
                { "/proc/self/root", "root directory" },
                { "/proc", "kernel's own" },
                { "/proc/self", "kernel's own" },
                { "/proc/1", "kernel's own" },
                { "/sys", "kernel's own" },
                { "/proc/self/ns/..", "kernel's own" },
        };
        for (unsigned i = 0; i < CAY_COUNT(places); i++) {
                fd = open(places[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(fd >= 0);
                refused(by_folder(fd, root.sock, 0), places[i].word);
                refused(by_folder(fd, root.sock, WIRE_PLAN_WORKSPACE_RW), places[i].word);
                close(fd);
        }
        static const char *const system[] = { "/etc", "/usr", "/usr/bin", "/var", "/run", "/dev" };
        for (unsigned i = 0; i < CAY_COUNT(system); i++) {
                fd = open(system[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(fd >= 0);
                refused(by_folder(fd, root.sock, WIRE_PLAN_WORKSPACE_RW), "root's");
                close(fd);
        }
        /* as the root of a box: all that is root's would be the box's root's */
        refused(ask(WIRE_PLAN_ROOTFS, "", 0, &some, 1, NULL), "no rootfs");
        close(some);
        disconnect(&root);
        end();
}

/* Plans that do not fit together. */
static void test_plans(void **state)
{
        struct client me;
        int mine, fds[3];

        begin();
        me = connect_as(CLIENT);
        mine = folder_of("mine", CLIENT, 0755);
        fds[0] = mine;
        fds[1] = me.sock;
        fds[2] = mine;
        refused(ask(WIRE_PLAN_WORKSPACE_PEER, "", 0, &me.sock, 1, NULL), "whose the workspace is");
        refused(ask(WIRE_PLAN_WORKSPACE_BELOW, "x", 3, NULL, 0, NULL), "whose the workspace is");
        refused(ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_PEER | WIRE_PLAN_WORKSPACE_BELOW, ".", 3,
                    &me.sock, 1, NULL),
                "whose the workspace is");
        refused(ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_PEER, "", 0, &mine, 1, NULL),
                "not what it says");
        refused(ask(WIRE_PLAN_WORKSPACE, "", 0, NULL, 0, NULL), "not what it says");
        refused(ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_PEER, "", 0, fds, 3, NULL), "not what it says");
        refused(ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_BELOW, ".", 3, &mine, 1, NULL),
                "not what it says");
        disconnect(&me);
        close(mine);
        end();
}

/* `cay run`: its warden has no keeper, and its caller is trusted with what it could open. */
static void test_without_keeper(void **state)
{
        struct wire_plan plan = rig_plan("run");
        struct rig_box box;
        int mine = folder_of("mine", CLIENT, 0755);

        rig_start(&rig, NULL);
        plan.flags |= WIRE_PLAN_WORKSPACE_RW;
        rig_must(rig_make(&rig, &plan, -1, mine, &box));
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "run"));
        rig_box_close(&box);
        refused(ask(WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_BELOW, ".", 0, NULL, 0, NULL),
                "whose the workspace");
        close(mine);
        rig_stop(&rig);
}

/*
 * `cay agent`: the folders of its user's rules, whoever owns them, and no others, whatever its front passes.
 */
static void test_own_roots(void **state)
{
        struct client me;
        int mine;

        begin();
        me = connect_as(CLIENT);
        mine = folder_of("mine", CLIENT, 0755);
        refused(by_path(".", 3, WIRE_PLAN_WORKSPACE_RW), "root's");
        rig_say(keeper, WIRE_KEEPER_OWN_ROOTS, 0, -1);
        allowed(by_path(".", 3, WIRE_PLAN_WORKSPACE_RW));
        allowed(by_path(".", 3, 0));
        refused(by_path("..", 3, 0), "leaves its root");
        refused(by_path(".", 0, 0), "there is no root");
        refused(ask(WIRE_PLAN_WORKSPACE, "", 0, &mine, 1, NULL), "only with the connection");
        allowed(by_folder(mine, me.sock, 0)); /* a client of the listener is judged as ever */
        disconnect(&me);
        close(mine);
        end();
}

/*
 * As whom: the owner's client is the owner inside; for anybody else it is nobody's, and shows what all may
 * read.
 */
static void test_as_whom(void **state)
{
        static const uint32_t with_peer = WIRE_PLAN_WORKSPACE | WIRE_PLAN_WORKSPACE_PEER;
        struct client me, you;
        struct rig_box box;
        int mine, fds[2], fd;

        begin();
        me = connect_as(CLIENT);
        you = connect_as(OTHER);
        mine = folder_of("mine", CLIENT, 0755);
        fd = openat(mine, "secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0 && write(fd, "own", 3) == 3 && fchown(fd, CLIENT, CLIENT) == 0);
        close(fd);
        fds[0] = mine;
        fds[1] = me.sock;
        allowed(ask(with_peer, "", 0, fds, 2, &box));
        assert_string_equal(rig_tell(&box, "stat /workspace/secret"), "file 600 1001 1001");
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "lie"));
        rig_box_close(&box);
        fds[1] = you.sock;
        allowed(ask(with_peer, "", 0, fds, 2, &box));
        assert_string_equal(rig_tell(&box, "stat /workspace/secret"), "file 600 65534 65534");
        rig_must(rig_ask_box(&rig, WIRE_box_drop, "lie"));
        rig_box_close(&box);
        disconnect(&me);
        disconnect(&you);
        close(mine);
        end();
}

/* The keeper says each root once, and nothing but what it may. */
static void test_keeper_words(void **state)
{
        static const struct {
                uint32_t type, nr;
                bool with_fd;
        } wrong[] = {
                { WIRE_KEEPER_ROOT, 3, true },
                { WIRE_KEEPER_ROOT, WIRE_ROOTS, true },
                { WIRE_KEEPER_ROOT, 1, false },
                { WIRE_KEEPER_LISTENER, 0, false },
                { WIRE_KEEPER_UPGRADE + 1, 0, false },
                { WIRE_KEEPER_CHECK, 0, true },
                { 0, 0, true },
        };

        for (unsigned i = 0; i < CAY_COUNT(wrong); i++) {
                int some = folder_of("mine", CLIENT, 0755);

                begin();
                rig_say(keeper, wrong[i].type, wrong[i].nr, wrong[i].with_fd ? some : -1);
                assert_true(rig_ends(&rig));
                close(some);
                close(keeper);
                close(listener);
                rig_stop(&rig);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_below, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_descriptors, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_no_client, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_no_folder, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_plans, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_without_keeper, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_own_roots, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_as_whom, rig_set_up, rig_tear_down),
                cmocka_unit_test_setup_teardown(test_keeper_words, rig_set_up, rig_tear_down),
        };

        return cmocka_run_group_tests(tests, rig_group_set_up, rig_group_tear_down);
}
