/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of exec_run, for ops that run a command as one of their steps. */
#pragma once

#include "domain/ops/op.h"

#define CAY_EXEC_STDIN_MAX (1024u * 1024)
#define CAY_EXEC_OUTPUT_MAX (8u * 1024 * 1024)

struct cay_exec_args {
        const char *id;
        struct cay_field_texts command;
        const char *workdir, *cwd, *user, *term, *execution_id, *input;
        struct cay_field_map env;
        bool background, stream, has_stdin, tty, output_cut, checkpoint;
        uint64_t rows, cols, timeout_ms, cpu_time_ms, output_bytes, max_output;
        /*
         * Set by internal callers: the answer's execution_id, which is claimed already; NULL: as the client
         * says.
         */
        const char *claimed_id;
};

extern const struct cay_op cay_op_exec_run;

/*
 * Rows of the fields that mean the same wherever a command is run; `m` is the struct cay_exec_args in `type`.
 */
/* clang-format off */
#define CAY_EXEC_FIELDS(type, m)                                                                                                 \
        { "workdir", CAY_FIELD_TEXT, offsetof(type, m.workdir), 0, "working directory; default: the workspace", .max = 4095 },    \
        { "cwd", CAY_FIELD_TEXT, offsetof(type, m.cwd), 0, "the same as workdir", .max = 4095 },                                 \
        { "user", CAY_FIELD_TEXT, offsetof(type, m.user), 0, "user: a name, a uid, or uid:gid", .max = 255 },                          \
        { "stdin", CAY_FIELD_TEXT, offsetof(type, m.input), 0, "input of the command", .max = CAY_EXEC_STDIN_MAX },       \
        { "open_stdin", CAY_FIELD_BOOL, offsetof(type, m.has_stdin), 0,                                                          \
          "input follows later (exec_input, a WebSocket); without this and stdin there is no input" },                              \
        { "timeout", CAY_FIELD_DURATION, offsetof(type, m.timeout_ms), 0, "end it after this time" },                         \
        { "cpu_time", CAY_FIELD_DURATION, offsetof(type, m.cpu_time_ms), 0, "end it after this much processor time" },                \
        { "output_limit", CAY_FIELD_SIZE, offsetof(type, m.output_bytes), 0, "limit of its output in bytes" },                        \
        { "output_cut", CAY_FIELD_BOOL, offsetof(type, m.output_cut), 0,                                                         \
          "at the output limit, drop the rest instead of ending the command" },                                                                  \
        { "stream", CAY_FIELD_BOOL, offsetof(type, m.stream), 0, "answer with a stream of events" },                             \
        { "max_output", CAY_FIELD_SIZE, offsetof(type, m.max_output), 0,                                                         \
          "most bytes of stdout and of stderr in the answer (default 1m); read the rest by cursor",         \
          .min = 1, .max = CAY_EXEC_OUTPUT_MAX }
/* clang-format on */
