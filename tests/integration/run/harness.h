/* SPDX-License-Identifier: Apache-2.0 */
/* Starts `cay` as a user would, feeds it, and collects both streams and the status. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_WORDS_MAX 64

struct run {             /* static memory: the last one's streams are valid until the next is collected */
        int status;      /* exit status; 1000 + n: ended by signal n */
        char *out, *err; /* NUL behind the last byte */
        size_t out_len, err_len;
        unsigned ms;
        unsigned first_out_ms; /* when the first byte of stdout came */
};

struct started {
        pid_t pid;
        int in, out, err; /* our ends; -1: not ours */
        uint64_t start_ms;
};

struct run_setup {
        const char *input; /* NULL: /dev/null */
        size_t input_len;  /* 0: strlen(input) */
        int stdin_fd;      /* > 0: given as it is */
        bool hold_input;   /* a pipe that stays open and empty */
        const char *env;   /* one more NAME=VALUE for cay itself */
        int extra_fd;      /* > 0: left open in cay, as a careless caller would */
};

/* words: what comes behind "cay", NULL-terminated. */
struct started run_start(const struct run_setup *setup, const char *const *words);
struct run run_finish(struct started *s, unsigned deadline_ms);
struct run run_cay(const struct run_setup *setup, const char *const *words);

const char *run_build_dir(void);
uint64_t run_now_ms(void);
bool run_wait_readable(int fd, unsigned ms);
bool run_json_is_valid(const struct run *r); /* stdout is one JSON text, by Python's word */
bool run_has(const char *text, const char *part);
bool run_has_static_init(void); /* sanitizer builds have a dynamic one, which needs the image's libraries */
pid_t run_child_of(pid_t parent, const char *name); /* a process by its name; 0: none */

/* Around every test: what is on the machine before, and that nothing more is there after. */
int run_setup_test(void **state);
int run_teardown_test(void **state);
unsigned run_left(void);  /* what is there now and was not before the test */
void run_need_root(void); /* skips the test otherwise */

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define CAY(...) run_cay(NULL, WORDS("run", __VA_ARGS__))
#define SH(...) run_cay(NULL, WORDS("run", "--", "/bin/sh", "-c", __VA_ARGS__))
