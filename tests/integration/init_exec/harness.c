/* SPDX-License-Identifier: Apache-2.0 */
/* See harness.h. */
#include "integration/init_exec/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "patience.h"
#include "foundation/sys/caps.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

#define RUN_KEEP_MAX (8u * 1024 * 1024)
#define HOST_FIRST 300000u /* host ids of the isolated box */

uint64_t now_ms(void)
{
        return cay_clock_ms();
}

bool is_alive(pid_t pid)
{
        char path[64], text[512], *at;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        if (sys_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0)
                return false;
        at = strrchr(text, ')');
        return at && at[2] != 'Z' && at[2] != 'X';
}

static void on_lost(struct cay_box_client *c, int reason)
{
        struct box *b = cay_box_client_ctx(c);

        b->lost = 1;
        b->lost_reason = reason;
}

static void on_pong(struct cay_box_client *c, uint64_t token)
{
        struct box *b = cay_box_client_ctx(c);

        b->pongs += token == 0x0102030405060708ull;
}

/* After a failed test: what it could not remove any more. */
static void sweep(void)
{
        char command[256];

        snprintf(command, sizeof(command),
                 "for d in /sys/fs/cgroup/cay-test-%d-* /sys/fs/cgroup/unified/cay-test-%d-*; do "
                 "test -d $d && { echo 1 > $d/cgroup.kill; sleep 0.05; rmdir $d/*/ $d; }; done 2>/dev/null",
                 (int)getpid(), (int)getpid());
        if (system(command) < 0)
                return;
}

/* A node of our own below the hybrid or unified mount. */
static void make_cgroup(struct box *b)
{
        static const char *const places[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
        static unsigned serial;

        if (serial == 0)
                atexit(sweep);
        b->cgroup = -1;
        for (unsigned i = 0; i < CAY_COUNT(places) && b->cgroup < 0; i++) {
                char path[160];

                snprintf(path, sizeof(path), "%s/cgroup.controllers", places[i]);
                if (access(path, F_OK) < 0)
                        continue;
                snprintf(b->cgroup_path, sizeof(b->cgroup_path), "%s/cay-test-%d-%u", places[i],
                         (int)getpid(), ++serial);
                if (mkdir(b->cgroup_path, 0755) == 0)
                        b->cgroup = open(b->cgroup_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
        if (b->cgroup < 0) {
                print_message("no cgroup2 here, or no right to make a node: skipped\n");
                skip();
        }
}

static void die(const char *what)
{
        fprintf(stderr, "harness: %s: %s\n", what, strerror(errno));
        _exit(99);
}

static void write_map(pid_t pid, const char *file, const char *text)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
        if (sys_write_file(AT_FDCWD, path, text) < 0)
                die(path);
}

/* In the new namespaces, as their root: what the warden does, in short. The root stays the machine's own. */
static void isolate(void)
{
        const uint64_t keep =
                SYS_CAP(CAP_SETUID) | SYS_CAP(CAP_SETGID) | SYS_CAP(CAP_KILL) | SYS_CAP(CAP_SETPCAP);

        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                die("private mounts");
        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
                die("mount proc");
        if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                  "newinstance,ptmxmode=0666,mode=0620") < 0)
                die("mount devpts");
        if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=1777") < 0)
                die("mount tmp");
        if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || sys_setgroups(0, NULL) < 0)
                die("groups");
        if (sys_setresgid(BOX_INIT_UID, BOX_INIT_UID, BOX_INIT_UID) < 0)
                die("gid");
        if (sys_setresuid(BOX_INIT_UID, BOX_INIT_UID, BOX_INIT_UID) < 0)
                die("uid");
        if (sys_caps_set(keep, keep, keep) < 0 || sys_caps_ambient(keep) < 0)
                die("capabilities");
}

static int open_program(void)
{
        const char *dir = getenv("CAY_BUILD_DIR");
        char path[512];
        int fd;

        snprintf(path, sizeof(path), "%s/cay-init", dir ? dir : ".");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                die(path);
        return fcntl(fd, F_DUPFD_CLOEXEC, 100);
}

/* Descriptor 2 stays the test's own: that is where a sanitizer would report. */
static void exec_init(int program, int control)
{
        char *argv[] = { "cay-init", NULL }, *env[] = { NULL };
        int null = open("/dev/null", O_RDWR);

        control = fcntl(control, F_DUPFD_CLOEXEC, 100);
        dup2(null, 0);
        dup2(null, 1);
        dup2(control, CAY_INIT_CONTROL_FD);
        sys_close_range(4, 99, 0);
        sys_execveat(program, "", argv, env, AT_EMPTY_PATH);
        die("execveat");
}

static pid_t fork_isolated(int control)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        char go = 0;
        int gate[2];
        pid_t pid;

        if (pipe2(gate, O_CLOEXEC) < 0)
                die("pipe");
        args.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
        pid = sys_clone3(&args);
        if (pid == 0) {
                int program = open_program();

                close(gate[1]);
                if (read(gate[0], &go, 1) != 1)
                        _exit(98);
                isolate();
                exec_init(program, control);
        }
        close(gate[0]);
        if (pid > 0) {
                char map[64];

                snprintf(map, sizeof(map), "0 %u 65536\n", HOST_FIRST);
                write_map(pid, "uid_map", map);
                write_map(pid, "gid_map", map);
                if (write(gate[1], "x", 1) != 1)
                        die("gate");
        }
        close(gate[1]);
        return pid;
}

static void give_cgroup(const struct box *b)
{
        uid_t owner = HOST_FIRST + BOX_INIT_UID;
        char text[16];

        if (b->way == BOX_ISOLATED) {
                assert_return_code(fchownat(b->cgroup, ".", owner, owner, 0), errno);
                assert_return_code(fchownat(b->cgroup, "cgroup.procs", owner, owner, 0), errno);
        }
        snprintf(text, sizeof(text), "%d", (int)b->pid);
        if (b->way == BOX_ISOLATED)
                assert_int_equal(sys_write_file(b->cgroup, "cgroup.procs", text), 0);
}

static void send_config(struct box *b, int link)
{
        int fds[8];
        unsigned count = 0;

        fds[count++] = link;
        b->config.fds = 1u << CAY_INIT_FD_LINK;
        if (b->cgroup >= 0) {
                fds[count++] = b->cgroup;
                b->config.fds |= 1u << CAY_INIT_FD_CGROUP2;
        }
        for (int i = 0; i < 3; i++) {
                if (b->files[i] < 0)
                        continue;
                fds[count++] = b->files[i];
                b->config.fds |= 1u << (CAY_INIT_FD_MEMINFO + i);
        }
        assert_int_equal(sys_send_fds(b->control, &b->config, sizeof(b->config), fds, count, MSG_NOSIGNAL),
                         sizeof(b->config));
}

void box_start_with(struct box *b, enum box_way way, uint32_t test_off)
{
        static const struct cay_box_client_events events = { .on_lost = on_lost, .on_pong = on_pong };
        int control[2], link[2];

        *b = (struct box){ .way = way, .cgroup = -1, .files = { -1, -1, -1 } };
        if (way != BOX_PLAIN)
                make_cgroup(b);
        if (way == BOX_ISOLATED) {
                for (int i = 0; i < 3; i++)
                        b->files[i] = memfd_create("proc", MFD_CLOEXEC);
        }
        b->config = (struct cay_init_config){
                .magic = CAY_INIT_MAGIC,
                .size = sizeof(b->config),
                .flags = way == BOX_ISOLATED ? CAY_INIT_ISOLATED : 0,
                .uid = BOX_USER,
                .gid = BOX_USER,
                .cpus = 2,
                .test_off = test_off,
                .memory_bytes = 256u << 20,
                .boot_wall_s = 1700000000,
        };
        for (unsigned i = 0; i < sizeof(b->config.secret); i++)
                b->config.secret[i] = (uint8_t)(i * 7 + 1);
        assert_return_code(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), errno);
        assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), errno);
        b->control = control[0];
        b->pid = way == BOX_ISOLATED ? fork_isolated(control[1]) : fork();
        assert_true(b->pid >= 0);
        if (b->pid == 0)
                exec_init(open_program(), control[1]);
        close(control[1]);
        if (b->cgroup >= 0)
                give_cgroup(b);
        send_config(b, link[1]);
        close(link[1]);
        b->loop = cay_loop_new();
        assert_non_null(b->loop);
        b->client = cay_box_client_new(b->loop, b->config.secret, &events, b);
        assert_non_null(b->client);
        assert_int_equal(cay_box_client_attach_take(b->client, link[0]), 0);
}

void box_start(struct box *b, enum box_way way)
{
        box_start_with(b, way, 0);
}

void box_round(struct box *b, int max_ms)
{
        assert_int_equal(cay_loop_round(b->loop, max_ms), 0);
}

int box_raw_link(struct box *b)
{
        struct cay_init_relink relink = { .magic = CAY_INIT_MAGIC, .size = sizeof(relink) };
        int link[2];

        assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), errno);
        assert_int_equal(sys_send_fds(b->control, &relink, sizeof(relink), &link[1], 1, MSG_NOSIGNAL),
                         sizeof(relink));
        close(link[1]);
        return link[0];
}

void box_relink(struct box *b)
{
        cay_box_client_drop(b->client);
        b->lost = 0;
        assert_int_equal(cay_box_client_attach_take(b->client, box_raw_link(b)), 0);
}

int box_wait_gone(struct box *b, int max_ms)
{
        uint64_t until = now_ms() + test_patience((unsigned)max_ms);
        int status = -1;

        if (b->pid == 0)
                return 0;
        while (waitpid(b->pid, &status, WNOHANG) != b->pid) {
                if (now_ms() > until)
                        return -1;
                if (b->client && cay_box_client_is_attached(b->client))
                        box_round(b, 2);
                else
                        usleep(2000);
        }
        b->pid = 0;
        return status;
}

static void remove_cgroup(struct box *b)
{
        uint64_t until = now_ms() + test_patience(10000);

        if (b->cgroup < 0)
                return;
        sys_write_file(b->cgroup, "cgroup.kill", "1");
        for (;;) {
                char command[200];

                /* What init left: nothing, if it was childless; in a box that was cut down, its nodes. */
                snprintf(command, sizeof(command), "rmdir %s/*/ 2>/dev/null", b->cgroup_path);
                if (rmdir(b->cgroup_path) == 0)
                        break;
                if (system(command) != 0)
                        usleep(5000);
                assert_true(now_ms() < until);
        }
        close(b->cgroup);
        b->cgroup = -1;
}

void box_stop(struct box *b)
{
        int status;

        cay_box_client_free(b->client);
        b->client = NULL;
        if (b->control >= 0)
                close(b->control);
        b->control = -1;
        status = box_wait_gone(b, 5000);
        cay_loop_free(b->loop);
        for (int i = 0; i < 3; i++) {
                if (b->files[i] >= 0)
                        close(b->files[i]);
        }
        remove_cgroup(b);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct run *r = cay_container_of(ch, struct run, channel);

        if (stream == CAY_STREAM_OUT) {
                r->out_bytes += len;
                for (size_t i = 0; i < len; i++)
                        r->out_hash = (r->out_hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
        }
        if (r->keep)
                assert_int_equal(cay_buf_put(stream == CAY_STREAM_OUT ? &r->out : &r->err, bytes, len), 0);
        if (!r->stalled)
                cay_box_channel_ack(ch, stream, len);
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        struct run *r = cay_container_of(ch, struct run, channel);

        r->opened = true;
        r->pid = pid;
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct run *r = cay_container_of(ch, struct run, channel);

        r->ended = true;
        r->end = *end;
        memcpy(r->msg, end->msg.ptr, end->msg.len < sizeof(r->msg) ? end->msg.len : sizeof(r->msg) - 1);
}

struct cay_box_open run_default(void)
{
        return (struct cay_box_open){
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW,
                .exec = { .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT, .cwd = { "/", 1 } },
        };
}

void run_open(struct box *b, struct run *r, const struct cay_box_open *open, const char *const *argv,
              const char *const *env)
{
        static const char *const plain_env[] = { "PATH=/usr/bin:/bin", NULL };

        *r = (struct run){ .box = b, .keep = true };
        cay_buf_init(&r->out, RUN_KEEP_MAX);
        cay_buf_init(&r->err, RUN_KEEP_MAX);
        r->channel.on_data = on_data;
        r->channel.on_opened = on_opened;
        r->channel.on_end = on_end;
        assert_int_equal(cay_box_channel_open(b->client, &r->channel, open, argv, env ? env : plain_env), 0);
}

void run_sh(struct box *b, struct run *r, const struct cay_box_open *open, const char *script)
{
        const char *const argv[] = { "sh", "-c", script, NULL };
        struct cay_box_open plain = run_default();

        run_open(b, r, open ? open : &plain, argv, NULL);
}

static void wait_for(struct run *r, const bool *what, const char *text, int max_ms)
{
        uint64_t until = now_ms() + test_patience((unsigned)max_ms);

        while (text ? !strstr(cay_buf_data(&r->out), text) : !*what) {
                if (now_ms() > until)
                        fail_msg("waited %d ms for '%s'; out: '%s' err: '%s' lost %d (%d)", max_ms,
                                 text ? text : "an event", cay_buf_data(&r->out), cay_buf_data(&r->err),
                                 r->box->lost, r->box->lost_reason);
                box_round(r->box, 20);
        }
}

void run_wait(struct run *r, int max_ms)
{
        wait_for(r, &r->ended, NULL, max_ms);
}

void run_wait_opened(struct run *r, int max_ms)
{
        wait_for(r, &r->opened, NULL, max_ms);
}

void run_wait_out(struct run *r, const char *text, int max_ms)
{
        wait_for(r, NULL, text, max_ms);
}

void run_free(struct run *r)
{
        cay_box_channel_close(&r->channel);
        cay_buf_done(&r->out);
        cay_buf_done(&r->err);
}
