/* SPDX-License-Identifier: Apache-2.0 */
/* The box, its link, and what its processes use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "isolated/leftovers.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "engines/engine_table.h"
#include "integration/link_cut/box_side.h"
#include "integration/link_cut/rig.h"

#define PROGRAM "link_cut"
#define WIRE_BYTES_MAX 300000u /* how far a stream that breaks by itself gets */

#define TEST_MS 200000u

#ifdef __SANITIZE_ADDRESS__
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

static struct cay_leftovers *before;

bool rig_is_sanitized(void)
{
        return IS_SANITIZED;
}

const char *rig_program(void)
{
        return "/workspace/" PROGRAM;
}

static const struct cay_engine_ops *native(void)
{
        return cay_engine_ops(CAY_ENGINE_native);
}

/* A folder with this program in it, to be mapped into the box. */
static void make_workspace(struct rig *r)
{
        char path[128];
        struct stat st;
        int from, to;
        off_t at = 0;

        cay_str_copy(r->workspace, sizeof(r->workspace), "/tmp/cay-link-cut-XXXXXX");
        assert_non_null(mkdtemp(r->workspace));
        assert_int_equal(chmod(r->workspace, 0755), 0);
        snprintf(path, sizeof(path), "%s/" PROGRAM, r->workspace);
        from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        assert_true(from >= 0 && to >= 0 && fstat(from, &st) == 0);
        while (at < st.st_size)
                assert_true(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
        close(from);
        assert_int_equal(fchmod(to, 0755), 0);
        close(to);
        r->workspace_fd = open(r->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(r->workspace_fd >= 0);
}

static void remove_workspace(struct rig *r)
{
        char path[128];

        if (r->workspace[0] == '\0')
                return;
        snprintf(path, sizeof(path), "%s/" PROGRAM, r->workspace);
        unlink(path);
        rmdir(r->workspace);
        if (r->workspace_fd >= 0)
                close(r->workspace_fd);
}

/* Of the processes below `parent`, the one that runs cay-warden or cay-init. */
static pid_t find_child(pid_t parent, const char *name)
{
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        pid_t found = 0;

        assert_non_null(dir);
        while ((entry = readdir(dir)) != NULL) {
                char path[300], text[512] = "";
                const char *open_at, *close_at;
                int fd, its = 0;

                snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
                fd = entry->d_name[0] > '0' && entry->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC)
                                                                       : -1;
                if (fd < 0)
                        continue;
                if (read(fd, text, sizeof(text) - 1) < 0)
                        text[0] = '\0';
                close(fd);
                open_at = strchr(text, '(');
                close_at = strrchr(text, ')');
                if (open_at == NULL || close_at == NULL || sscanf(close_at + 1, " %*c %d", &its) != 1)
                        continue;
                if (its == parent && strncmp(open_at + 1, name, strlen(name)) == 0)
                        found = (pid_t)strtol(entry->d_name, NULL, 10);
        }
        closedir(dir);
        return found;
}

struct usage rig_usage(const struct rig *r, unsigned process)
{
        struct usage u = { 0 };
        struct dirent *entry;
        char path[64], line[256];
        FILE *f;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/status", (int)r->pids[process]);
        f = fopen(path, "re");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f) != NULL)
                if (strncmp(line, "VmRSS:", 6) == 0)
                        u.memory_kb = strtoull(line + 6, NULL, 10);
        fclose(f);
        assert_true(u.memory_kb > 0);
        snprintf(path, sizeof(path), "/proc/%d/fd", (int)r->pids[process]);
        dir = opendir(path);
        assert_non_null(dir);
        while ((entry = readdir(dir)) != NULL)
                u.fds += entry->d_name[0] != '.';
        closedir(dir);
        return u;
}

static void note_loss(struct rig *r)
{
        r->cuts += r->is_attached;
        r->is_attached = false;
}

static void on_lost(struct cay_box_client *c, int reason)
{
        struct rig *r = cay_box_client_ctx(c);

        r->lost_reason = reason;
        note_loss(r);
}

static void on_welcome(struct cay_box_client *c, const struct cay_box_welcome *w)
{
        struct rig *r = cay_box_client_ctx(c);

        r->welcome = *w;
        r->welcomes++;
}

void rig_round(struct rig *r)
{
        if (cay_clock_ms() >= r->until_ms)
                fail_msg("not done in time: %u cuts, last loss %d", r->cuts, r->lost_reason);
        assert_int_equal(cay_loop_round(r->loop, 10), 0);
        if (r->fault != NULL)
                fail_msg("%s", r->fault);
        /* What a hostile peer or a broken codec would show as; a cut never does. */
        assert_int_not_equal(r->lost_reason, -EPROTO);
}

void rig_rounds(struct rig *r, unsigned ms)
{
        uint64_t end = cay_clock_ms() + ms;

        while (cay_clock_ms() < end)
                rig_round(r);
}

void rig_wait(struct rig *r, const bool *flag)
{
        while (!*flag)
                rig_round(r);
}

static void no_news(struct cay_job *job)
{
}

static void wait_job(struct rig *r, struct cay_job *job)
{
        rig_wait(r, &job->done);
        rig_round(r);
        if (job->err.code != CAY_OK)
                fail_msg("the engine: %s", job->err.msg);
}

static void attach(struct rig *r)
{
        static const struct cay_box_client_events events = { .on_lost = on_lost, .on_welcome = on_welcome };
        int fd = cay_take_fd(r->box.link_fd);

        assert_true(fd >= 0);
        if (r->client == NULL)
                r->client = cay_box_client_new(r->loop, r->box.secret, &events, r);
        assert_non_null(r->client);
        note_loss(r);
        r->welcomes_before = r->welcomes;
        relay_break(&r->wire);
        if (r->wire_next[RELAY_TO_INIT] != 0) {
                fd = relay_open_take(&r->wire, r->loop, fd, r->wire_next[RELAY_TO_INIT],
                                     r->wire_next[RELAY_TO_FRONT]);
                assert_true(fd >= 0);
        }
        r->wire_next[RELAY_TO_INIT] = r->wire_next[RELAY_TO_FRONT] = 0;
        if (r->spy_fd >= 0)
                close(r->spy_fd);
        r->spy_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        assert_true(r->spy_fd >= 0);
        assert_int_equal(cay_box_client_attach_take(r->client, fd), 0);
        r->is_attached = true;
}

static void relink(struct rig *r)
{
        static struct cay_job job; /* outlives a test that fails while it waits */

        cay_job_init(&job, no_news);
        native()->relink(r->engine, &r->box, &job);
        wait_job(r, &job);
        attach(r);
}

/* The spy keeps the stream open behind the front's back: it must go first. */
static void drop(struct rig *r)
{
        close(cay_take_fd(r->spy_fd));
        note_loss(r);
        cay_box_client_drop(r->client);
}

void rig_cut(struct rig *r, enum cut how)
{
        if (!r->is_attached)
                return;
        switch (how) {
        case CUT_RELINK:
                relink(r);
                break;
        case CUT_BREAK:
                shutdown(r->spy_fd, SHUT_RDWR);
                break;
        case CUT_WIRE:
                r->wire_next[RELAY_TO_INIT] = link_cut_random(&r->random) % WIRE_BYTES_MAX + 1;
                r->wire_next[RELAY_TO_FRONT] = link_cut_random(&r->random) % WIRE_BYTES_MAX + 1;
                drop(r);
                break;
        default:
                drop(r);
                break;
        }
}

void rig_mend(struct rig *r)
{
        if (!r->is_attached)
                relink(r);
}

void rig_settle(struct rig *r)
{
        rig_cut(r, CUT_DROP);
        rig_mend(r);
        rig_await_welcome(r);
}

void rig_await_welcome(struct rig *r)
{
        while (r->welcomes == r->welcomes_before)
                rig_round(r);
}

void rig_await_read(struct rig *r)
{
        assert_true(relay_await_read(r->spy_fd));
}

void rig_through_wire(struct rig *r, uint64_t to_init, uint64_t to_front)
{
        r->wire_next[RELAY_TO_INIT] = to_init;
        r->wire_next[RELAY_TO_FRONT] = to_front;
        relink(r);
}

void rig_restart_front(struct rig *r)
{
        close(cay_take_fd(r->spy_fd));
        cay_box_client_free(cay_take(r->client));
        r->is_attached = false;
        relink(r);
}

void rig_exec(struct rig *r, struct cay_box_channel *ch, unsigned flags, const char *const *argv)
{
        const struct cay_box_open open = {
                .kind = CAY_BOX_EXEC,
                .window = CAY_BOX_WINDOW,
                .exec = { .flags = flags, .uid = CAY_BOX_ID_DEFAULT, .gid = CAY_BOX_ID_DEFAULT },
        };

        assert_int_equal(cay_box_channel_open(r->client, ch, &open, argv, NULL), 0);
}

static void make_box(struct rig *r)
{
        struct cay_spec spec = {
                .rootfs_fd = -1,
                .workspace_fd = r->workspace_fd,
                .limits = { .memory_bytes = 256u << 20, .pids = 50 },
                .may_skip = CAY_LIMIT_MASK_ALL,
        };
        static struct cay_job job;

        snprintf(spec.id, sizeof(spec.id), "link-cut-%d", (int)getpid());
        cay_job_init(&job, no_news);
        native()->create(r->engine, &spec, &r->box, &job);
        wait_job(r, &job);
        attach(r);
}

void rig_prepare(struct rig *r)
{
        memset(r, 0, sizeof(*r));
        r->box.link_fd = r->workspace_fd = r->spy_fd = -1;
        before = cay_leftovers_take();
}

void rig_open(struct rig *r, uint64_t seed)
{
        struct cay_engine_env env = { .program_dir = getenv("CAY_BUILD_DIR") };
        struct cay_error err = { 0 };

        assert_non_null(env.program_dir);
        r->random = seed;
        r->until_ms = cay_clock_ms() + TEST_MS;
        make_workspace(r);
        r->loop = cay_loop_new();
        assert_non_null(r->loop);
        env.loop = r->loop;
        if (native()->open(&env, &r->engine, &err) < 0)
                fail_msg("open: %s", err.msg);
        make_box(r);
        while (r->welcomes == 0)
                rig_round(r);
        r->pids[PROCESS_FRONT] = getpid();
        r->pids[PROCESS_WARDEN] = find_child(getpid(), "cay-warden");
        assert_true(r->pids[PROCESS_WARDEN] > 0);
        r->pids[PROCESS_INIT] = find_child(r->pids[PROCESS_WARDEN], "cay-init");
        assert_true(r->pids[PROCESS_INIT] > 0);
}

int rig_close(struct rig *r)
{
        unsigned left;

        cay_box_client_free(cay_take(r->client));
        relay_break(&r->wire);
        if (r->spy_fd >= 0)
                close(r->spy_fd);
        if (r->box.link_fd >= 0)
                close(r->box.link_fd);
        if (r->engine != NULL)
                native()->close(r->engine);
        if (r->loop != NULL) {
                cay_loop_round(r->loop, 0);
                cay_loop_free(r->loop);
        }
        remove_workspace(r);
        left = cay_leftovers_compare(before, CAY_LEFTOVERS_WAIT_MS);
        cay_leftovers_free(cay_take(before));
        return left == 0 ? 0 : -1;
}
