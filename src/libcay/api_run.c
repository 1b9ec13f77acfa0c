/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay_task_run: a run from beginning to end in the calling thread, with a loop of its own.
 *
 * Theory of operation. Whatever may end a run before its time (another thread, a signal handler, the output
 * function, no memory for output) writes to the task's eventfd, which the loop watches: the run is stopped
 * from there and nowhere else, never inside a call of its own. What is left in the eventfd at the end was
 * meant for this run and is taken out.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "libcay/api_priv.h"
#include "foundation/loop/loop.h"

struct blocking {
        struct cay_task *task;
        struct cay_result *result;
        struct cay_loop *loop;
        struct cay_run *run;
        struct cay_watch cancel;
        bool quiet; /* the output function wants no more */
        struct cay_error failure;
};

void cay_task_cancel(struct cay_task *task)
{
        const uint64_t one = 1;
        int saved_errno = errno;

        if (write(task->cancel_fd, &one, sizeof(one)) < 0) {
                /* Full: it has been asked for often enough. */
        }
        errno = saved_errno;
}

static void take_cancels(struct cay_task *task)
{
        uint64_t count;

        while (read(task->cancel_fd, &count, sizeof(count)) < 0 && errno == EINTR)
                ;
}

static void on_cancel(struct cay_watch *w, uint32_t events)
{
        struct blocking *blocking = cay_container_of(w, struct blocking, cancel);

        take_cancels(blocking->task);
        cay_run_stop(blocking->run, SIGTERM);
}

static size_t on_output(void *ctx, int stream, const void *bytes, size_t len)
{
        struct blocking *blocking = ctx;
        struct cay_task *task = blocking->task;

        if (blocking->quiet)
                return len;
        if (task->on_output != NULL) {
                blocking->quiet = task->on_output(task->output_ctx, stream, bytes, len) != 0;
        } else if (cay_buf_put(&blocking->result->kept[stream - 1], bytes, len) < 0) {
                blocking->quiet = true;
                cay_fail(&blocking->failure, CAY_INTERNAL, "no memory for the output");
        }
        if (blocking->quiet)
                cay_task_cancel(task);
        return len;
}

static void on_done(void *ctx, const struct cay_run_result *result, const struct cay_error *err)
{
        struct blocking *blocking = ctx;

        blocking->result->run = *result;
        if (blocking->failure.code == CAY_OK)
                blocking->failure = *err;
        cay_loop_stop(blocking->loop);
}

static int run_blocking(struct blocking *blocking, const struct cay_run_options *options,
                        struct cay_error *err)
{
        int r;

        blocking->loop = cay_loop_new();
        if (blocking->loop == NULL)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an event loop");
        r = cay_watch_add(blocking->loop, &blocking->cancel, blocking->task->cancel_fd, EPOLLIN, on_cancel);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "watch for a cancel");
        if (cay_run_begin(blocking->loop, options, &blocking->run, err) < 0)
                return -1;
        r = cay_loop_run(blocking->loop);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "run the event loop");
        if (blocking->failure.code != CAY_OK) {
                *err = blocking->failure;
                return -1;
        }
        return 0;
}

/* The engine goes with the run; it has the last word about what is left. */
static void end(struct blocking *blocking)
{
        struct cay_run_result *result = &blocking->result->run;

        cay_watch_remove(&blocking->cancel);
        if (cay_run_free(cay_take(blocking->run)) < 0 && result->cleanup.code == CAY_OK) {
                cay_fail(&result->cleanup, CAY_UNAVAILABLE,
                         "the engine ended before it had cleaned up; the next run continues the clean-up");
                result->status = 125;
        }
        cay_loop_free(cay_take(blocking->loop));
        take_cancels(blocking->task);
}

static int prepare(struct cay_task *task, struct cay_run_options *options, char *dir, size_t dir_size,
                   struct cay_error *err)
{
        *options = task->options;
        if (options->argv == NULL)
                return cay_fail(err, CAY_INVALID, "command: none is set");
        if (task->on_output == NULL && options->spec.limits.output_bytes > CAY_TASK_KEPT_MAX)
                return cay_fail(err, CAY_INVALID,
                                "output: at most 256 MiB without an output function: it is kept in memory");
        if (task->input_fd >= 0 && lseek(task->input_fd, 0, SEEK_SET) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "stdin: go to its start");
        if (options->program_dir != NULL)
                return 0;
        if (cay_program_dir_find(dir, dir_size, err) < 0)
                return -1;
        options->program_dir = dir;
        return 0;
}

static int run_task(struct cay_task *task, struct cay_result *result)
{
        struct blocking blocking = { .task = task, .result = result };
        struct cay_run_options options;
        char dir[PATH_MAX];
        int r;

        if (prepare(task, &options, dir, sizeof(dir), &task->err) < 0)
                return -1;
        for (unsigned i = 0; i < CAY_COUNT(result->kept); i++)
                cay_buf_init(&result->kept[i], options.spec.limits.output_bytes);
        options.on_output = on_output;
        options.on_done = on_done;
        options.ctx = &blocking;
        r = run_blocking(&blocking, &options, &task->err);
        end(&blocking);
        if (r == 0)
                cay_result_describe(result);
        return r;
}

int cay_task_run(struct cay_task *task, struct cay_result **ret)
{
        struct cay_result *result;
        int r;

        *ret = NULL;
        if (__atomic_exchange_n(&task->running, true, __ATOMIC_ACQ_REL))
                return CAY_E_CONFLICT; /* without a text: the task is another thread's now */
        result = calloc(1, sizeof(*result));
        r = result != NULL ? run_task(task, result) : cay_fail(&task->err, CAY_INTERNAL, "no memory");
        if (r == 0)
                *ret = result;
        else
                cay_result_free(result);
        __atomic_store_n(&task->running, false, __ATOMIC_RELEASE);
        return r < 0 ? (int)task->err.code : 0;
}
