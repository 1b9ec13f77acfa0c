/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that are more than one op and its answer, in the order in which clients list them. Texts are for a
 * model that has never seen Cay: what it does, when to use it, what comes back.
 */
#include "dialects/mcp/tools.h"

static const struct cay_field own_text = { .name = "", .kind = CAY_FIELD_TEXT };
static const struct cay_field own_bool = { .name = "", .kind = CAY_FIELD_BOOL };
static const struct cay_field own_offset = { .name = "", .kind = CAY_FIELD_U64, .max = INT64_MAX };
static const struct cay_field own_line = { .name = "", .kind = CAY_FIELD_U64, .min = 1, .max = INT32_MAX };
static const struct cay_field own_wait = { .name = "", .kind = CAY_FIELD_U64, .max = 600 };
static const struct cay_field own_object = { .name = "", .kind = CAY_FIELD_OBJECT };
static const struct cay_field own_limit = { .name = "", .kind = CAY_FIELD_U64, .min = 1, .max = 1024 * 1024 };

#define TIMEOUT                                                                                              \
        {                                                                                                    \
                "timeout", "timeout", "Seconds until it is killed.", NULL, false,                            \
                        "timeout_s timeout_seconds timeoutSeconds"                                           \
        }
#define WAIT                                                                                                 \
        {                                                                                                    \
                "wait_s", NULL, "Seconds to wait; default 45. Then it goes on: exec_poll.", &own_wait,       \
                        false, NULL                                                                          \
        }
#define CONFIRM                                                                                              \
        {                                                                                                    \
                "confirm_token", "confirm", "After needs_confirm: the token, once the person has agreed.",   \
                        NULL, false, "confirm"                                                               \
        }
#define CWD                                                                                                  \
        {                                                                                                    \
                "cwd", "workdir", "Folder to run in; default the workspace.", NULL, false,                   \
                        "workdir working_dir working_directory workingDirectory"                             \
        }
#define ENV                                                                                                  \
        {                                                                                                    \
                "env", "env", "Environment variables.", NULL, false, "envs environment"                      \
        }
#define STDIN                                                                                                \
        {                                                                                                    \
                "stdin", "stdin", "Standard input.", NULL, false, "input"                                    \
        }
#define BACKGROUND                                                                                           \
        {                                                                                                    \
                "background", NULL, "Answer at once with an exec_id: for servers.", &own_bool, false,        \
                        "run_in_background"                                                                  \
        }
#define LANGUAGE                                                                                             \
        {                                                                                                    \
                "language", "language", "python (default), javascript, shell or bash.", NULL, false,         \
                        "lang languageId"                                                                    \
        }
#define WHERE                                                                                                \
        {                                                                                                    \
                "path", "path", "Where to look; default the workspace.", NULL, false, CAY_TOOL_PATH_WORDS    \
        }
#define A_FILE                                                                                               \
        {                                                                                                    \
                "path", "path", "The file; relative: below the workspace.", NULL, true, CAY_TOOL_PATH_WORDS  \
        }

static const struct cay_tool_param no_params[] = { { .name = NULL } };

static const struct cay_tool_param start_params[] = {
        { "container", "template", "Template (container_list); default: by language.", NULL, false,
          "template image container_name" },
        { "code", "code", "Program to run in it.", NULL, false, NULL },
        LANGUAGE,
        { "command", "command", "A shell line to run instead of code.", NULL, false, "cmd" },
        { "keep", NULL, "Leave it running afterwards for container_exec.", &own_bool, false, NULL },
        { "name", "name", "A name of your own: then it stays when the session ends.", NULL, false, NULL },
        ENV,
        TIMEOUT,
        CONFIRM,
        { .name = NULL },
};

static const struct cay_tool_param command_params[] = {
        { "command", "command", "A line for /bin/sh.", NULL, true, "cmd commands line script" },
        CWD,
        ENV,
        STDIN,
        TIMEOUT,
        WAIT,
        BACKGROUND,
        { .name = NULL },
};

static const struct cay_tool_param inside_params[] = {
        { "command", "command", "A line for /bin/sh.", NULL, true, "cmd commands line script" },
        CWD,
        TIMEOUT,
        WAIT,
        BACKGROUND,
        { .name = NULL },
};

static const struct cay_tool_param code_params[] = {
        { "code", "code", "The program text.", NULL, true, "script source" },
        LANGUAGE,
        CWD,
        ENV,
        TIMEOUT,
        WAIT,
        { "template", "template", "Without sandbox_id: what the fresh sandbox is made from.", NULL, false,
          NULL },
        { "from_message", "from_message",
          "Without sandbox_id: the person's message; destructive code then needs their word.", NULL, false,
          NULL },
        CONFIRM,
        { .name = NULL },
};

static const struct cay_tool_param create_params[] = {
        { "name", "name", "A name of your own (a-z, 0-9, -): then it stays when this session ends.", NULL,
          false, NULL },
        { "template", "template", "From container_list. Default: this machine's own programs.", NULL, false,
          "image snapshot" },
        ENV,
        { "memory", "memory_limit", "Like \"512m\" or \"2g\".", NULL, false, "memory_limit" },
        { "cpus", "cpu_limit", "Like \"0.5\" or \"2\".", NULL, false, "cpu cpu_limit" },
        { "timeout", "timeout", "Seconds until it is destroyed.", NULL, false, "timeout_s timeout_seconds" },
        { "checkpoint", "checkpoint", "Makes a step before each command, for sandbox_undo.", NULL, false,
          NULL },
        { "record", "record", "Keeps what it is asked, for sandbox_replay.", NULL, false, NULL },
        CONFIRM,
        { .name = NULL },
};

static const struct cay_tool_param poll_params[] = {
        CAY_TOOL_EXEC_ID,
        { "offset", "from", "next_offset of the last result. Default: the beginning.", NULL, false,
          "cursor from" },
        { "wait_s", NULL, "Seconds to wait for its end; default 45, 0 only looks.", &own_wait, false,
          "timeout_s" },
        { .name = NULL },
};

static const struct cay_tool_param input_params[] = {
        CAY_TOOL_EXEC_ID,
        { "text", NULL, "What to type; \\n is Enter.", &own_text, true, "input data stdin" },
        { "close", "eof", "End of file after this.", NULL, false, "eof" },
        { "offset", "offset",
          "Where in all its input this begins; then it can be sent again after a lost answer and is typed "
          "once.",
          NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_tool_param read_params[] = {
        A_FILE,
        { "line", NULL, "First line, from 1.", &own_line, false, "start_line line_start first_line" },
        { "lines", NULL, "How many lines.", &own_line, false, "line_count num_lines" },
        { "offset", NULL, "First byte instead: next_offset.", &own_offset, false, NULL },
        { "limit", NULL, "Most bytes; default 32768.", &own_limit, false, "length max_bytes" },
        { .name = NULL },
};

static const struct cay_tool_param write_params[] = {
        A_FILE,
        { "content", NULL, "What to write.", &own_text, true, "contents data text file_text" },
        { "encoding", NULL, "utf-8 (default) or base64.", &own_text, false, NULL },
        { "append", "append", "Add at the end.", NULL, false, NULL },
        { .name = NULL },
};

static const struct cay_tool_param edit_params[] = {
        A_FILE,
        { "old_string", NULL, "Exact text to replace; must be there once.", &own_text, true,
          "old_str old_text oldText" },
        { "new_string", NULL, "What comes in its place.", &own_text, true, "new_str new_text newText" },
        { "replace_all", NULL, "Replace every occurrence.", &own_bool, false, NULL },
        { .name = NULL },
};

static const struct cay_tool_param dir_params[] = {
        { "path", "path", "Folder; default the workspace.", NULL, false, CAY_TOOL_PATH_WORDS },
        { "recursive", "recursive", "Everything below it.", NULL, false, NULL },
        { "offset", "offset", "Skip so many.", NULL, false, NULL },
        CAY_TOOL_LIMIT("Default 300."),
        { .name = NULL },
};

static const struct cay_tool_param search_params[] = {
        { "pattern", "pattern", "Regular expression for a line.", NULL, true, "regex query" },
        WHERE,
        { "glob", "glob", "Only files like *.py or src/**/*.{c,h}.", NULL, false, "include file_pattern" },
        { "ignore_case", "ignore_case", "Any case.", NULL, false, "case_insensitive" },
        { "literal", "literal", "Plain text, no expression.", NULL, false, "fixed_strings" },
        CAY_TOOL_LIMIT("Default 100."),
        { .name = NULL },
};

static const struct cay_tool_param find_params[] = {
        { "pattern", "pattern", "Glob: *.py, src/**/*.{c,h}.", NULL, true, "glob" },
        WHERE,
        { "offset", "offset", "Skip so many.", NULL, false, NULL },
        CAY_TOOL_LIMIT("Default 300."),
        { .name = NULL },
};

static const struct cay_tool_param more_params[] = {
        { "group", NULL, "Adds and describes its tools. Left out: names the groups.", &own_text, false,
          NULL },
        { "tool", NULL, "Calls this tool, listed or not.", &own_text, false, "name" },
        { "arguments", NULL, "Of that tool.", &own_object, false, NULL },
        { .name = NULL },
};

#define READS CAY_TOOL_READS
#define IN CAY_TOOL_IN_SANDBOX
#define FLEET CAY_TOOL_FLEET
#define RUNS (CAY_TOOL_LONG | CAY_TOOL_DESTROYS | CAY_TOOL_OPEN)

const struct cay_mcp_tool cay_mcp_own_tools[] = {
        { "container_start", "Start a container",
          "Starts a container from a template, runs code or a command in it, and removes it unless keep is "
          "true. "
          "Without "
          "code and command it stays for container_exec.",
          "code_run", FLEET | RUNS, start_params, cay_mcp_run_start, NULL },
        { "container_exec", "Run in a container",
          "run_command in a container that container_start left running.", "exec_run", FLEET | IN | RUNS,
          inside_params, cay_mcp_run_command, NULL },
        { "container_stop", "Remove a container", "Removes a container with all in it.", "sandbox_destroy",
          FLEET | IN | CAY_TOOL_DESTROYS | CAY_TOOL_REPEATS, no_params, cay_mcp_run_destroy,
          "sandbox_id status" },
        { "run_code", "Run code",
          "Runs a program; returns stdout, stderr, exit_code and images that it saves into the workspace. "
          "Each call is a new process: files stay in a sandbox of yours, variables do not.",
          "code_run", IN | CAY_TOOL_MAY_MAKE | RUNS, code_params, cay_mcp_run_code, NULL },
        { "run_command", "Run a command",
          "Runs a shell line; returns stdout, stderr and exit_code. Long output is cut in the middle; what "
          "takes longer "
          "than wait_s goes on: exec_poll reads both.",
          "exec_run", IN | CAY_TOOL_MAY_MAKE | RUNS, command_params, cay_mcp_run_command, NULL },
        { "exec_poll", "Wait for a command",
          "Waits for a running command, or reads more of its output from offset on.", "exec_attach",
          IN | READS, poll_params, cay_mcp_run_poll, NULL },
        { "exec_input", "Type into a command", "Types text into a command that runs in the background.",
          "exec_input", IN | CAY_TOOL_DESTROYS, input_params, cay_mcp_run_input, NULL },
        { "read_file", "Read a file",
          "Reads a file: text, images as images, other bytes as base64; long ones in pieces.", "file_read",
          IN | READS, read_params, cay_mcp_run_read, NULL },
        { "write_file", "Write a file", "Writes or replaces a file; makes missing folders.", "file_write",
          IN | CAY_TOOL_DESTROYS, write_params, cay_mcp_run_write, NULL },
        { "edit_file", "Edit a file",
          "Replaces one exact piece of text in a file; nothing is changed when it is not there once.",
          "file_write", IN | CAY_TOOL_DESTROYS, edit_params, cay_mcp_run_edit, NULL },
        { "search", "Search in files", "Lines of files that match a pattern, as path:line:text.",
          "file_search", IN | READS, search_params, cay_mcp_run_search, NULL },
        { "find", "Find files", "Files and folders by name.", "file_find", IN | READS, find_params,
          cay_mcp_run_list, NULL },
        { "list_files", "List files", "Lists a folder, by name.", "file_list", IN | READS, dir_params,
          cay_mcp_run_list, NULL },
        { "sandbox_create", "Make a sandbox",
          "Makes a sandbox whose files and processes stay between calls; returns its sandbox_id. Without a "
          "name it is "
          "destroyed when it was not used for 30 minutes, or with this session.",
          "sandbox_create", FLEET, create_params, cay_mcp_run_create, CAY_TOOL_SANDBOX_PICKS },
        { "sandbox_destroy", "Destroy a sandbox", "Destroys a sandbox with all in it.", "sandbox_destroy",
          FLEET | IN | CAY_TOOL_DESTROYS | CAY_TOOL_REPEATS, no_params, cay_mcp_run_destroy,
          "sandbox_id status" },
        { "more_tools", "More tools", NULL /* made of the groups' names */, "version_get",
          CAY_TOOL_DESTROYS | CAY_TOOL_OPEN, more_params, cay_mcp_run_more, NULL },
};

const unsigned cay_mcp_own_tool_count = CAY_COUNT(cay_mcp_own_tools);
