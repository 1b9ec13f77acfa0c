/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every tool, in the order in which clients list them: something harmless first. Texts are for a model that has never seen Cay: what it
 * does, when to use it, what comes back.
 */
#include "dialect/mcp/tools.h"

static const struct cay_field own_text = { .name = "", .kind = CAY_FIELD_TEXT };
static const struct cay_field own_bool = { .name = "", .kind = CAY_FIELD_BOOL };
static const struct cay_field own_offset = { .name = "", .kind = CAY_FIELD_U64, .max = INT64_MAX };
static const struct cay_field own_wait = { .name = "", .kind = CAY_FIELD_U64, .max = 600 };
static const struct cay_field own_limit = { .name = "", .kind = CAY_FIELD_U64, .min = 1, .max = 1024 * 1024 };

#define TIMEOUT                                                                                              \
        {                                                                                                    \
                "timeout", "timeout",                                                                        \
                        "Seconds after which the command is killed. Default: the sandbox's own limit.",      \
                        NULL, false, "timeout_s timeout_seconds timeoutSeconds"                              \
        }
#define WAIT                                                                                                 \
        {                                                                                                    \
                "wait_s", NULL,                                                                              \
                        "Seconds to wait for the end before answering with what there is so far and an "     \
                        "exec_id for "                                                                       \
                        "exec_poll; default 50. The command goes on.",                                       \
                        &own_wait, false, NULL                                                               \
        }
#define CONFIRM                                                                                              \
        {                                                                                                    \
                "confirm_token", "confirm",                                                                  \
                        "Only after a result with needs_confirm: the token from it, once the person has "    \
                        "agreed.",                                                                           \
                        NULL, false, "confirm"                                                               \
        }
#define CWD                                                                                                  \
        {                                                                                                    \
                "cwd", "workdir", "Folder to run in; default: the workspace.", NULL, false,                  \
                        "workdir working_dir working_directory workingDirectory"                             \
        }
#define ENV                                                                                                  \
        {                                                                                                    \
                "env", "env", "Environment variables on top of the sandbox's own.", NULL, false,             \
                        "envs environment"                                                                   \
        }
#define STDIN                                                                                                \
        {                                                                                                    \
                "stdin", "stdin", "Text that the command reads on standard input.", NULL, false, "input"     \
        }
#define BACKGROUND                                                                                           \
        {                                                                                                    \
                "background", NULL,                                                                          \
                        "Answer at once with an exec_id and let it run: for servers and long jobs. "         \
                        "exec_poll reads its "                                                               \
                        "output.",                                                                           \
                        &own_bool, false, "run_in_background"                                                \
        }
#define EXEC_ID                                                                                              \
        {                                                                                                    \
                "exec_id", "exec", "The exec_id that run_command, run_code or container_exec gave.", NULL,   \
                        true, "execution_id exec"                                                            \
        }
#define PATH_WORDS "file_path filepath filename file folder directory dir"

static const struct cay_mcp_param no_params[] = { { .name = NULL } };

static const struct cay_mcp_param list_params[] = {
        { "task", "task", "Only the template that suits these words, by its triggers.", NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param start_params[] = {
        { "container", "template",
          "Template to start from, as container_list names it. Default: by the code's "
          "language.",
          NULL, false, "template image container_name" },
        { "code", "code", "Program text to run in it. Left out: the container is started and stays.", NULL,
          false, NULL },
        { "language", "language", "Of the code: python (default), javascript, shell or bash.", NULL, false,
          "lang" },
        { "command", "command", "A shell line to run instead of code.", NULL, false, "cmd" },
        { "keep", NULL,
          "Leave it running afterwards for container_exec. Default: false with code or command.", &own_bool,
          false, NULL },
        { "name", "name", "A name of your own: a named container stays when the session ends.", NULL, false,
          NULL },
        ENV,
        TIMEOUT,
        CONFIRM,
        { .name = NULL },
};

static const struct cay_mcp_param command_params[] = {
        { "command", "command", "A line for /bin/sh, as one would type it: pipes, && and so on work.", NULL,
          true, "cmd commands line script" },
        CWD,
        ENV,
        STDIN,
        TIMEOUT,
        WAIT,
        BACKGROUND,
        { .name = NULL },
};

static const struct cay_mcp_param code_params[] = {
        { "code", "code", "The program text.", NULL, true, "script source" },
        { "language", "language", "python (default), javascript, shell or bash.", NULL, false,
          "lang languageId" },
        CWD,
        ENV,
        TIMEOUT,
        WAIT,
        { "template", "template", "Without sandbox_id: the template for the fresh sandbox (container_list).",
          NULL, false, NULL },
        CONFIRM,
        { .name = NULL },
};

static const struct cay_mcp_param create_params[] = {
        { "name", "name",
          "A name of your own (a-z, 0-9, -). A named sandbox stays when this session ends; one without a "
          "name "
          "is destroyed then.",
          NULL, false, NULL },
        { "template", "template",
          "What it is made from (container_list). Default: this machine's own programs.", NULL, false,
          "image" },
        ENV,
        { "memory", "memory_limit", "Memory limit, like \"512m\" or \"2g\".", NULL, false, "memory_limit" },
        { "cpus", "cpu_limit", "Processors, like \"0.5\" or \"2\".", NULL, false, "cpu cpu_limit" },
        { "timeout", "timeout", "Seconds until it is destroyed by itself.", NULL, false,
          "timeout_s timeout_seconds" },
        CONFIRM,
        { .name = NULL },
};

static const struct cay_mcp_param boxes_params[] = {
        { "limit", "limit", "At most so many; default 100.", NULL, false, NULL },
        { "cursor", "cursor", "The `next` of the page before.", NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param poll_params[] = {
        EXEC_ID,
        { "offset", "from", "Where to read on: next_offset of the last result. Default: the beginning.", NULL,
          false, "cursor from" },
        { "wait_s", NULL, "Seconds to wait for its end; default 50, 0 only looks.", &own_wait, false,
          "timeout_s" },
        { .name = NULL },
};

static const struct cay_mcp_param input_params[] = {
        EXEC_ID,
        { "text", NULL, "What to type; add \\n for Enter.", &own_text, true, "input data stdin" },
        { "close", "eof", "Nothing more comes after this (end of file).", NULL, false, "eof" },
        { .name = NULL },
};

static const struct cay_mcp_param signal_params[] = {
        EXEC_ID,
        { "signal", "signal", "TERM, INT, KILL, HUP… or a number.", NULL, true, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param read_params[] = {
        { "path", "path", "The file; a relative path is below the workspace.", NULL, true, PATH_WORDS },
        { "offset", NULL, "First byte to read; next_offset of the last result.", &own_offset, false, NULL },
        { "limit", NULL, "At most so many bytes; default 65536.", &own_limit, false, "length max_bytes" },
        { .name = NULL },
};

static const struct cay_mcp_param write_params[] = {
        { "path", "path", "The file; a relative path is below the workspace.", NULL, true, PATH_WORDS },
        { "content", NULL, "What to write.", &own_text, true, "contents data text file_text" },
        { "encoding", NULL, "utf-8 (default), or base64 for bytes that are no text.", &own_text, false,
          NULL },
        { "append", "append", "Write behind what is there instead of replacing it.", NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param edit_params[] = {
        { "path", "path", "The file.", NULL, true, PATH_WORDS },
        { "old_string", NULL,
          "Text that is there exactly once (unless replace_all): include enough around it.", &own_text, true,
          "old_str old_text" },
        { "new_string", NULL, "What takes its place.", &own_text, true, "new_str new_text" },
        { "replace_all", NULL, "Replace every occurrence.", &own_bool, false, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param dir_params[] = {
        { "path", "path", "The folder, \".\" for the workspace.", NULL, true, PATH_WORDS },
        { "recursive", "recursive", "Everything below it.", NULL, false, NULL },
        { "offset", "offset", "Leave out so many entries at the start.", NULL, false, NULL },
        { "limit", "limit", "At most so many; default 1000.", NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param move_params[] = {
        { "path", "path", "What to move.", NULL, true, "source from old_path src" },
        { "to", "to", "Its new path.", NULL, true, "destination new_path dst dest" },
        { .name = NULL },
};

static const struct cay_mcp_param delete_params[] = {
        { "path", "path", "What to delete.", NULL, true, PATH_WORDS },
        { "recursive", "recursive", "A folder with all that is in it.", NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param port_params[] = {
        { "port", "port", "A TCP port that something in the sandbox listens on.", NULL, true, NULL },
        { .name = NULL },
};

static const struct cay_mcp_param intent_params[] = {
        { "message", "message", "The chat message, with its code blocks.", NULL, true, "text prompt" },
        { .name = NULL },
};

#define SANDBOX_PICKS                                                                                        \
        "sandbox_id name template status cause cause_text advice created_at expires_in_ms execs_running"

const struct cay_mcp_tool cay_mcp_tools[] = {
        { "container_list", "List templates",
          "Lists the templates that containers (sandboxes) can be started from: name, description, whether "
          "it "
          "works on this machine, network, limits, and whether a person must confirm its use. Changes "
          "nothing.",
          "template_list", CAY_TOOL_READS | CAY_TOOL_FLEET, list_params, cay_mcp_run_simple,
          "templates name description available why triggers network needs_confirm has_system" },
        { "container_start", "Start a container",
          "Starts a container from a template and runs code (or a command) in it. Returns stdout, stderr, "
          "exit_code and the container_id. Unless keep is true the container is removed when the code has "
          "ended. Without code and command it is started and stays for container_exec.",
          "code_run", CAY_TOOL_FLEET | CAY_TOOL_LONG, start_params, cay_mcp_run_start, NULL,
          &cay_mcp_start_shape },
        { "container_exec", "Run in a container",
          "Runs a shell line in a container that container_start left running. The same as run_command with "
          "its container_id as sandbox_id.",
          "exec_run", CAY_TOOL_FLEET | CAY_TOOL_IN_SANDBOX | CAY_TOOL_LONG, command_params,
          cay_mcp_run_command, NULL, &cay_mcp_container_exec_shape },
        { "container_stop", "Remove a container",
          "Stops a container and removes it with all that is in it. Cannot be undone.", "sandbox_destroy",
          CAY_TOOL_FLEET | CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS | CAY_TOOL_REPEATS, no_params,
          cay_mcp_run_destroy, "sandbox_id status" },
        { "run_code", "Run code",
          "Runs a program text and returns stdout, stderr and exit_code; images that it saves into the "
          "workspace (png, jpeg, gif, webp) come back as images. A program that ran and failed has an "
          "exit_code other than 0: that is no tool error.",
          "code_run", CAY_TOOL_IN_SANDBOX | CAY_TOOL_MAY_MAKE | CAY_TOOL_LONG, code_params, cay_mcp_run_code,
          NULL, &cay_mcp_exec_shape },
        { "run_command", "Run a command",
          "Runs a shell line in a sandbox and returns stdout, stderr and exit_code. Long output is cut in "
          "the "
          "middle; next_offset says where exec_poll can read on. What takes longer than wait_s goes on in "
          "the "
          "background and comes back as exec_id.",
          "exec_run", CAY_TOOL_IN_SANDBOX | CAY_TOOL_MAY_MAKE | CAY_TOOL_LONG, command_params,
          cay_mcp_run_command, NULL, &cay_mcp_exec_shape },
        { "exec_poll", "Wait for a command",
          "Waits for a command that is still running, or reads more of the output of one that ended: from "
          "offset on. Returns its new output, its state, and next_offset.",
          "exec_attach", CAY_TOOL_IN_SANDBOX | CAY_TOOL_READS, poll_params, cay_mcp_run_poll, NULL,
          &cay_mcp_exec_shape },
        { "exec_input", "Type into a command",
          "Gives text to the standard input of a command that runs in the background.", "exec_input",
          CAY_TOOL_IN_SANDBOX, input_params, cay_mcp_run_input, NULL },
        { "exec_signal", "Signal a command", "Sends a signal to a running command, KILL to end it at once.",
          "exec_signal", CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS, signal_params, cay_mcp_run_simple,
          "exec_id status exit_code signal" },
        { "read_file", "Read a file",
          "Reads a file of a sandbox: text as text, images as images, other bytes as base64. A long file "
          "comes "
          "in pieces: next_offset says where to read on.",
          "file_read", CAY_TOOL_IN_SANDBOX | CAY_TOOL_READS, read_params, cay_mcp_run_read, NULL,
          &cay_mcp_read_shape },
        { "write_file", "Write a file",
          "Writes a file in a sandbox; it is replaced if it is there, and missing folders above it are made.",
          "file_write", CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS | CAY_TOOL_REPEATS, write_params,
          cay_mcp_run_write, NULL },
        { "edit_file", "Edit a file",
          "Replaces one piece of text in a file by another. Fails without a change when old_string is not "
          "there, or is there more than once.",
          "file_write", CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS, edit_params, cay_mcp_run_edit, NULL },
        { "list_files", "List files", "Lists a folder of a sandbox: names, types, sizes.", "file_list",
          CAY_TOOL_IN_SANDBOX | CAY_TOOL_READS, dir_params, cay_mcp_run_simple,
          "path entries name type size modified_at more" },
        { "move_path", "Move a file", "Moves or renames a file or folder in a sandbox.", "file_move",
          CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS, move_params, cay_mcp_run_simple, NULL },
        { "delete_path", "Delete a file", "Deletes a file or folder in a sandbox. Cannot be undone.",
          "file_remove", CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS, delete_params, cay_mcp_run_simple, NULL },
        { "port_url", "Link to a port",
          "Makes a link that a person's browser can open to reach a server in the sandbox (web page, app). "
          "Start the server first, with run_command and background.",
          "port_link", CAY_TOOL_IN_SANDBOX, port_params, cay_mcp_run_simple, NULL },
        { "intent_detect", "What a message asks for",
          "Says whether a chat message asks for its code to be run, in which template, and why. Runs "
          "nothing.",
          "intent_detect", CAY_TOOL_READS | CAY_TOOL_FLEET, intent_params, cay_mcp_run_simple,
          "decision execute confidence reason obstacle code text language template name needs_confirm" },
        { "sandbox_create", "Make a sandbox",
          "Makes a sandbox: an isolated place with its own files and processes. Returns its sandbox_id, "
          "which "
          "run_code, run_command and the file tools take. Files and processes stay between calls until it is "
          "destroyed or its time is over.",
          "sandbox_create", CAY_TOOL_FLEET, create_params, cay_mcp_run_create, SANDBOX_PICKS },
        { "sandbox_list", "List sandboxes", "Lists your sandboxes and their states.", "sandbox_list",
          CAY_TOOL_FLEET | CAY_TOOL_READS, boxes_params, cay_mcp_run_simple,
          "sandboxes next " SANDBOX_PICKS },
        { "sandbox_info", "Show a sandbox",
          "Shows a sandbox: state, why it ended (cause, advice), limits, how long it still lives.",
          "sandbox_get", CAY_TOOL_IN_SANDBOX | CAY_TOOL_READS, no_params, cay_mcp_run_simple, NULL },
        { "sandbox_destroy", "Destroy a sandbox",
          "Destroys a sandbox with all its files and processes. Cannot be undone.", "sandbox_destroy",
          CAY_TOOL_FLEET | CAY_TOOL_IN_SANDBOX | CAY_TOOL_DESTROYS | CAY_TOOL_REPEATS, no_params,
          cay_mcp_run_destroy, "sandbox_id status" },
};

const unsigned cay_mcp_tool_count = CAY_COUNT(cay_mcp_tools);
