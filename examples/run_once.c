/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_once RUN-ID WORKSPACE SECONDS MEGABYTES COMMAND: one shell command in a sandbox, its output here, its
 * end in one line.
 *
 *         cc run_once.c $(pkg-config --cflags --libs cay) -o run_once
 *         ./run_once task-123 /tmp/workspace 30 256 'echo hello'
 *
 * Exits with the command's status; 125 when there was no run.
 */
#include <cay.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(struct cay_task *task, int code)
{
        fprintf(stderr, "run_once: %s: %s\n", cay_error_word(code), cay_task_error(task));
        cay_task_free(task);
        return 125;
}

static void show(const struct cay_result *result)
{
        size_t len;
        const void *bytes = cay_result_output(result, CAY_STDOUT, &len);

        fwrite(bytes, 1, len, stdout);
        bytes = cay_result_output(result, CAY_STDERR, &len);
        fwrite(bytes, 1, len, stderr);
        fprintf(stderr, "run_once: %s: %s: %s; %llu ms, peak %llu KiB\n", cay_result_id(result),
                cay_result_cause(result), cay_result_text(result),
                (unsigned long long)cay_result_number(result, CAY_NUMBER_TOTAL_US) / 1000,
                (unsigned long long)cay_result_number(result, CAY_NUMBER_MEMORY_PEAK_BYTES) / 1024);
}

int main(int argc, char **argv)
{
        const char *command[] = { "/bin/sh", "-c", NULL, NULL };
        struct cay_result *result = NULL;
        struct cay_task *task;
        char memory[32];
        int status, code;

        if (argc != 6) {
                fprintf(stderr, "usage: run_once RUN-ID WORKSPACE SECONDS MEGABYTES COMMAND\n");
                return 2;
        }
        task = cay_task_new();
        if (task == NULL) {
                perror("run_once");
                return 125;
        }
        command[2] = argv[5];
        snprintf(memory, sizeof(memory), "%.16sm", argv[4]);
        code = cay_task_set_id(task, argv[1]);
        if (code == 0)
                code = cay_task_set_workspace(task, argv[2], CAY_WORKSPACE_READ_WRITE);
        if (code == 0)
                code = cay_task_set_limit(task, "wall_time", argv[3]);
        if (code == 0)
                code = cay_task_set_limit(task, "memory", memory);
        if (code == 0)
                code = cay_task_set_command(task, command);
        if (code == 0)
                code = cay_task_run(task, &result);
        if (code != 0)
                return fail(task, code);

        show(result);
        status = cay_result_status(result);
        cay_result_free(result);
        cay_task_free(task);
        return status;
}
