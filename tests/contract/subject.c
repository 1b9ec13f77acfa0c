/* SPDX-License-Identifier: Apache-2.0 */
/* The engine that a test is about: opened before it, closed after it, and what is left then. */
#include "contract/contract.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "engines/native/native.h"
#include "engines/process/process_link.h"
#include "engines/process/scratch.h"
#include "fake/fake_engine.h"

static unsigned count_entries(const char *path, const char *prefix)
{
        DIR *dir = opendir(path);
        struct dirent *entry;
        unsigned count = 0;

        if (dir == NULL)
                return 0;
        while ((entry = readdir(dir)) != NULL)
                count += entry->d_name[0] != '.' && cay_str_starts(entry->d_name, prefix);
        closedir(dir);
        return count;
}

static unsigned count_children(void)
{
        unsigned count = 0;
        DIR *dir = opendir("/proc");
        struct dirent *entry;

        assert_non_null(dir);
        while ((entry = readdir(dir)) != NULL) {
                char path[300], text[512];
                int fd, parent = 0;
                ssize_t n;
                const char *at;

                if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
                        continue;
                snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
                if (fd >= 0)
                        close(fd);
                text[n > 0 ? n : 0] = '\0';
                at = strrchr(text, ')');
                if (at != NULL && sscanf(at + 1, " %*c %d", &parent) == 1 && parent == getpid())
                        count++;
        }
        closedir(dir);
        return count;
}

struct leftovers look(void)
{
        return (struct leftovers){
                .fds = count_entries("/proc/self/fd", ""),
                .children = count_children(),
                .scratch = count_entries("/tmp", "cay-process-") + count_entries(CAY_SCRATCH_IDS_AT, ""),
        };
}

static void on_gone(void *ctx, const char *id)
{
        cay_str_copy(((struct subject *)ctx)->gone, CAY_NAME_MAX + 1, id);
}

static void open_engine(struct subject *s)
{
        const struct cay_engine_env env = { .loop = s->loop, .program_dir = getenv("CAY_BUILD_DIR") };
        struct cay_error err = { 0 };

        if (s->kind->ops->open(&env, &s->engine, &err) < 0)
                fail_msg("open: %s", err.msg);
}

/* What `cay serve` does: a helper that we keep, a warden with a folder for layers, and a link to it. */
static int start_helper(struct subject *s, const char *program, const char *word, int dir)
{
        int link[2], keep[2], parked[3];
        char path[256];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keep), 0);
        snprintf(path, sizeof(path), "%s/%s", getenv("CAY_BUILD_DIR"), program);
        fflush(NULL);
        s->helper = fork();
        assert_true(s->helper >= 0);
        if (s->helper == 0) {
                parked[0] = fcntl(link[1], F_DUPFD, 100);
                parked[1] = fcntl(keep[1], F_DUPFD, 100);
                parked[2] = fcntl(dir, F_DUPFD, 100);
                for (int i = 0; i < 3; i++)
                        dup2(parked[i], 3 + i);
                for (int fd = 6; fd < 200; fd++)
                        close(fd);
                setsid();
                execl(path, program, word, NULL);
                _exit(127);
        }
        close(link[1]);
        close(keep[1]);
        s->keeper = keep[0];
        return link[0];
}

static void open_process_engine(struct subject *s)
{
        const struct cay_engine_env env = { .loop = s->loop };
        int link = start_helper(s, "cay-process", getenv("CAY_BUILD_DIR"), STDIN_FILENO);
        struct cay_error err = { 0 };

        if (cay_engine_process_open_link_take(&env, link, &s->engine, &err) < 0)
                fail_msg("open: %s", err.msg);
}

static void open_kept_engine(struct subject *s)
{
        const struct cay_engine_env env = { .loop = s->loop };
        struct cay_error err = { 0 };
        int dir;

        if (s->kind->ops == &cay_engine_process_link_ops) {
                open_process_engine(s);
                return;
        }

        cay_str_copy(s->layers, sizeof(s->layers), "/tmp/contract-XXXXXX");
        assert_non_null(mkdtemp(s->layers));
        dir = open(s->layers, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dir >= 0);
        if (cay_engine_native_open_link_take(&env, start_helper(s, "cay-warden", "keep", dir), &s->engine,
                                             &err) < 0)
                fail_msg("open: %s", err.msg);
        close(dir);
}

/* Its folder holds nothing but what is ready for the next one: everything else was destroyed. */
static unsigned close_helper(struct subject *s)
{
        unsigned left = s->layers[0] ? count_entries(s->layers, "") : 0;
        char command[64];
        int status = -1;

        close(s->keeper);
        waitpid(s->helper, &status, 0);
        assert_int_equal(status, 0);
        if (!s->layers[0])
                return left;
        snprintf(command, sizeof(command), "rm -r %s", s->layers);
        assert_int_equal(system(command), 0);
        return left;
}

static bool is_skipped(const struct kind *kind)
{
        return kind->needs_root && geteuid() != 0;
}

int setup(void **state)
{
        static struct subject s;
        const struct kind *kind = *state;

        fake_plan_reset();
        s = (struct subject){ .kind = kind, .before = look() };
        *state = &s;
        if (is_skipped(kind))
                return 0;
        s.loop = cay_loop_new();
        assert_non_null(s.loop);
        fake_plan.can_keep = kind->is_fake;
        if (kind->has_agent)
                open_remote_engine(&s);
        else if (kind->has_keeper)
                open_kept_engine(&s);
        else
                open_engine(&s);
        s.kind->ops->on_gone(s.engine, on_gone, &s);
        return 0;
}

int teardown(void **state)
{
        struct subject *s = *state;
        struct leftovers after;

        if (s->loop == NULL)
                return 0;
        for (unsigned i = 0; i < BOXES_MAX; i++)
                if (s->boxes[i] != NULL)
                        detach(s->boxes[i]);
        if (s->rig)
                close_remote_engine(s);
        else
                s->kind->ops->close(s->engine);
        cay_loop_round(s->loop, 0);
        cay_loop_free(s->loop);
        if (s->helper > 0 && close_helper(s) > 0) {
                print_error("layers were left\n");
                return -1;
        }
        after = look();
        /* Fewer scratch folders than before is no fault: opening the engine sweeps what others left. */
        if (after.fds != s->before.fds || after.children != s->before.children ||
            after.scratch > s->before.scratch) {
                print_error("left: %d descriptors, %d children, %d scratch folders\n",
                            (int)(after.fds - s->before.fds), (int)(after.children - s->before.children),
                            (int)(after.scratch - s->before.scratch));
                return -1;
        }
        return fake_engine_boxes() == 0 ? 0 : -1;
}

struct subject *subject(void **state)
{
        struct subject *s = *state;

        if (s->loop == NULL) {
                print_message("the %s engine needs root\n", s->kind->ops->name);
                skip();
        }
        return s;
}

void wait_for(struct subject *s, const bool *flag)
{
        uint64_t end = cay_clock_ms() + WAIT_MS;

        while (!*flag && cay_clock_ms() < end)
                assert_int_equal(cay_loop_round(s->loop, 20), 0);
        assert_true(*flag);
}
