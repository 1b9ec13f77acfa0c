/* SPDX-License-Identifier: Apache-2.0 */
/* A front for tests of the real warden. */
#include "rig.h"

#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>

#include "isolated/leftovers.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

static char folder[64];
static struct cay_leftovers *before;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

const char *rig_folder(void)
{
        return folder;
}

static void copy_program(const char *from, const char *name)
{
        static char bytes[1 << 16];
        char path[4096];
        cay_auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
        cay_auto_close int out = -1;
        ssize_t n;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        assert_true(in >= 0 && out >= 0);
        while ((n = read(in, bytes, sizeof(bytes))) > 0)
                assert_int_equal(sys_write_all(out, bytes, (size_t)n), 0);
}

int rig_group_set_up(void **state)
{
        const char *build = getenv("CAY_BUILD_DIR");
        char path[4096];

        if (geteuid() != 0) {
                fprintf(stderr, "skipped: the warden needs root\n");
                exit(77);
        }
        if (!build) {
                fprintf(stderr, "skipped: CAY_BUILD_DIR is not set\n");
                exit(77);
        }
        snprintf(folder, sizeof(folder), "/tmp/cay-rig-XXXXXX");
        assert_non_null(mkdtemp(folder));
        assert_int_equal(chmod(folder, 0755), 0);
        snprintf(path, sizeof(path), "%s/cay-warden", build);
        copy_program(path, "cay-warden");
        snprintf(path, sizeof(path), "%s/tests/integration/fake_init", build);
        copy_program(path, "cay-init");
        return 0;
}

int rig_group_tear_down(void **state)
{
        return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

int rig_set_up(void **state)
{
        before = cay_leftovers_take();
        return 0;
}

int rig_tear_down(void **state)
{
        unsigned left = cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS);

        cay_leftovers_free(before);
        before = NULL;
        if (left > 0)
                fprintf(stderr, "%u differences on the machine after the test\n", left);
        return left == 0 ? 0 : -1;
}

void rig_own_mounts(void)
{
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                _exit(126);
}

static void start(struct rig *rig, void (*prepare)(void), int keeper)
{
        char path[128];
        char *argv[] = { "cay-warden", keeper >= 0 ? "keep" : NULL, NULL };
        char *env[] = { NULL, NULL };
        char kill_spec[80];
        int socks[2];

        *rig = (struct rig){ .sock = -1 };
        snprintf(path, sizeof(path), "%s/cay-warden", folder);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        fflush(NULL);
        rig->pid = fork();
        assert_true(rig->pid >= 0);
        if (rig->pid == 0) {
                if (prepare)
                        prepare();
                if (keeper >= 0) /* out of the way of both places */
                        keeper = fcntl(keeper, F_DUPFD, 100);
                if (socks[1] == HELPER_FRONT_FD)
                        fcntl(socks[1], F_SETFD, 0);
                else
                        dup2(socks[1], HELPER_FRONT_FD);
                if (keeper >= 0)
                        dup2(keeper, HELPER_KEEPER_FD);
                sys_close_range(keeper >= 0 ? HELPER_KEEPER_FD + 1 : HELPER_FRONT_FD + 1, ~0u, 0);
                if (getenv("CAY_TEST_KILL")) { /* set by prepare */
                        snprintf(kill_spec, sizeof(kill_spec), "CAY_TEST_KILL=%s", getenv("CAY_TEST_KILL"));
                        env[0] = kill_spec;
                }
                execve(path, argv, env);
                _exit(127);
        }
        close(socks[1]);
        rig->sock = socks[0];
}

void rig_start_raw(struct rig *rig, void (*prepare)(void))
{
        start(rig, prepare, -1);
}

static void greet(struct rig *rig)
{
        struct wire_request req = rig_request(rig, WIRE_hello);
        struct wire_answer a;

        req.hello.version = WIRE_VERSION;
        a = rig_ask(rig, &req, NULL, 0);
        if (a.code != CAY_OK)
                fail_msg("hello: %s", a.text);
        assert_int_equal(a.hello.version, WIRE_VERSION);
        rig->can_hold = a.hello.can_hold;
}

int rig_start_kept(struct rig *rig)
{
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        start(rig, NULL, ends[1]);
        close(ends[1]);
        greet(rig);
        return ends[0];
}

void rig_say(int keeper, uint32_t type, uint32_t nr, int fd)
{
        struct wire_keeper say = { WIRE_KEEPER_MAGIC, sizeof(say), type, nr };

        assert_int_equal(sys_send_fds(keeper, &say, sizeof(say), &fd, fd >= 0, 0), sizeof(say));
}

struct wire_kept rig_hear(int keeper)
{
        struct pollfd p = { .fd = keeper, .events = POLLIN };
        struct wire_kept a = { 0 };

        assert_int_equal(poll(&p, 1, RIG_WAIT_MS), 1);
        assert_int_equal(recv(keeper, &a, sizeof(a), 0), sizeof(a));
        assert_int_equal(a.magic, WIRE_KEEPER_MAGIC);
        return a;
}

void rig_next_front(struct rig *rig, int keeper)
{
        int socks[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks), 0);
        rig_say(keeper, WIRE_KEEPER_FRONT, 0, socks[1]);
        close(socks[1]);
        if (rig->sock >= 0)
                close(rig->sock);
        rig->sock = socks[0];
        greet(rig);
}

void rig_start(struct rig *rig, void (*prepare)(void))
{
        rig_start_raw(rig, prepare);
        greet(rig);
}

bool rig_ends(struct rig *rig)
{
        for (int i = 0; i < RIG_WAIT_MS / 5; i++) {
                struct timespec t = { .tv_nsec = 5000000 };

                if (waitpid(rig->pid, NULL, WNOHANG) == rig->pid) {
                        rig->pid = -1;
                        return true;
                }
                nanosleep(&t, NULL);
        }
        return false;
}

void rig_stop(struct rig *rig)
{
        if (rig->sock >= 0)
                close(rig->sock);
        rig->sock = -1;
        if (rig->pid > 0 && !rig_ends(rig)) {
                rig_kill(rig);
                fail_msg("the warden did not end");
        }
}

void rig_abandon(struct rig *rig)
{
        if (rig->sock >= 0)
                close(rig->sock);
        rig->sock = -1;
        if (rig->pid > 0 && !rig_ends(rig))
                rig_kill(rig);
}

void rig_kill(struct rig *rig)
{
        if (rig->pid > 0) {
                kill(rig->pid, SIGKILL);
                waitpid(rig->pid, NULL, 0);
        }
        rig->pid = -1;
        if (rig->sock >= 0)
                close(rig->sock);
        rig->sock = -1;
}

struct wire_request rig_request(struct rig *rig, uint32_t type)
{
        struct wire_request req;

        memset(&req, 0, sizeof(req));
        req.magic = WIRE_MAGIC;
        req.size = sizeof(req);
        req.type = type;
        req.seq = ++rig->seq;
        return req;
}

void rig_send(struct rig *rig, const struct wire_request *req, const int *fds, unsigned count)
{
        assert_int_equal(sys_send_fds(rig->sock, req, sizeof(*req), fds, count, 0), sizeof(*req));
}

bool rig_receive(struct rig *rig, struct wire_answer *a, int ms)
{
        struct pollfd p = { .fd = rig->sock, .events = POLLIN };
        ssize_t n;

        if (poll(&p, 1, ms) != 1)
                return false;
        n = recv(rig->sock, a, sizeof(*a), 0);
        if (n <= 0)
                return false;
        assert_int_equal(n, sizeof(*a));
        assert_int_equal(a->magic, WIRE_MAGIC);
        assert_int_equal(a->size, sizeof(*a));
        assert_non_null(memchr(a->text, 0, sizeof(a->text)));
        return true;
}

struct wire_answer rig_ask(struct rig *rig, struct wire_request *req, const int *fds, unsigned count)
{
        struct wire_answer a;

        rig_send(rig, req, fds, count);
        while (rig_receive(rig, &a, RIG_WAIT_MS))
                if (a.seq == req->seq) {
                        assert_int_equal(a.type, req->type);
                        return a;
                }
        fail_msg("no answer to %s", helper_request_name(&wire_protocol, req->type));
        return a;
}

struct wire_answer rig_ask_box(struct rig *rig, uint32_t type, const char *id)
{
        struct wire_request req = rig_request(rig, type);

        snprintf(req.box.id, sizeof(req.box.id), "%s", id);
        return rig_ask(rig, &req, NULL, 0);
}

bool rig_news(struct rig *rig, const char *id, int ms)
{
        struct wire_answer a;

        while (rig_receive(rig, &a, ms))
                if (a.type == WIRE_box_gone && a.seq == 0 && strcmp(a.box.id, id) == 0)
                        return true;
        return false;
}

struct wire_plan rig_plan(const char *id)
{
        struct wire_plan p = { .flags = WIRE_PLAN_ONE_SHOT,
                               .cpu_milli = 500,
                               .memory_bytes = 64 << 20,
                               .pids = 50,
                               .disk_bytes = 8 << 20,
                               .inodes = 1000 };

        snprintf(p.id, sizeof(p.id), "%s", id);
        for (unsigned i = 0; i < sizeof(p.secret); i++)
                p.secret[i] = (uint8_t)(i * 7 + 1);
        return p;
}

static struct wire_answer make(struct rig *rig, const struct wire_plan *plan, int rootfs, int workspace,
                               int network, struct rig_box *box)
{
        struct wire_request req = rig_request(rig, WIRE_box_make);
        struct wire_answer a;
        int links[2], fds[4];
        unsigned count = 0;

        req.plan = *plan;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links), 0);
        fds[count++] = links[1];
        if (rootfs >= 0) {
                req.plan.flags |= WIRE_PLAN_ROOTFS;
                fds[count++] = rootfs;
        }
        if (workspace >= 0) {
                req.plan.flags |= WIRE_PLAN_WORKSPACE;
                fds[count++] = workspace;
        }
        if (network >= 0)
                fds[count++] = network;
        rig_send(rig, &req, fds, count);
        close(links[1]);
        do {
                if (!rig_receive(rig, &a, RIG_WAIT_MS))
                        fail_msg("no answer to box_make '%.63s'", plan->id);
        } while (a.seq != req.seq);
        snprintf(box->id, sizeof(box->id), "%.63s", plan->id);
        box->skipped = a.box.skipped;
        box->link = links[0];
        if (a.code != CAY_OK)
                rig_box_close(box);
        return a;
}

struct wire_answer rig_make(struct rig *rig, const struct wire_plan *plan, int rootfs, int workspace,
                            struct rig_box *box)
{
        return make(rig, plan, rootfs, workspace, -1, box);
}

struct wire_answer rig_make_network(struct rig *rig, const struct wire_plan *plan, int rootfs, int network,
                                    struct rig_box *box)
{
        return make(rig, plan, rootfs, -1, network, box);
}

void rig_must(struct wire_answer a)
{
        if (a.code != CAY_OK)
                fail_msg("%s: %s", helper_request_name(&wire_protocol, a.type), a.text);
}

void rig_refused(struct rig *rig, const struct wire_plan *plan, int rootfs, int workspace, unsigned code,
                 const char *word)
{
        struct rig_box box;
        struct wire_answer a = rig_make(rig, plan, rootfs, workspace, &box);

        rig_box_close(&box);
        if (a.code != code || !strstr(a.text, word))
                fail_msg("wanted %s with '%s', got %s: %s", cay_code_word(code), word, cay_code_word(a.code),
                         a.text);
}

void rig_must_make(struct rig *rig, const char *id, struct rig_box *box)
{
        struct wire_plan p = rig_plan(id);
        struct wire_answer a = rig_make(rig, &p, -1, -1, box);

        if (a.code != CAY_OK)
                fail_msg("box_make: %s", a.text);
        assert_string_equal(a.box.id, id);
}

void rig_box_close(struct rig_box *box)
{
        if (box->link >= 0)
                close(box->link);
        box->link = -1;
}

const char *rig_tell(struct rig_box *box, const char *fmt, ...)
{
        static char text[70000];
        size_t len = 0;
        va_list args;
        int n;

        va_start(args, fmt);
        n = vsnprintf(text, sizeof(text) - 1, fmt, args);
        va_end(args);
        text[n++] = '\n';
        if (send(box->link, text, (size_t)n, MSG_NOSIGNAL) != n)
                return RIG_NOBODY;
        while (len < sizeof(text)) {
                struct pollfd p = { .fd = box->link, .events = POLLIN };
                ssize_t got;

                if (poll(&p, 1, RIG_WAIT_MS) != 1)
                        return RIG_NOBODY;
                got = read(box->link, text + len, sizeof(text) - len);
                if (got <= 0)
                        return RIG_NOBODY;
                len += (size_t)got;
                if (text[len - 1] == 0)
                        return text;
        }
        return RIG_NOBODY;
}

int rig_image(const char *name)
{
        char path[128];
        int fd;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        assert_int_equal(mkdir(path, 0755), 0);
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}
