/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs `cay run --json` for a test and takes its answer apart. The CLI is CAY_BUILD_DIR/cay; the attacker's
 * program is copied once to a folder of its own, so that no path of the build shows inside.
 */
#ifndef CAY_ATTACK_RUN_H
#define CAY_ATTACK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ATTACK_WORDS_MAX 64

struct attack_result {
        int status; /* as waitpid says; -1: had to be killed at the deadline */
        unsigned elapsed_ms;
        long peak_kib;   /* of cay itself and what it waited for */
        char *json;      /* owned: all of stdout */
        char *errors;    /* owned: all of stderr */
        char line[1024]; /* first line of the command's stdout */
        char cause[32];  /* "" when there is none */
};

/*
 * CAY_TEST_AS=UID: cay is started as that user instead of root, from copies of the programs that everybody
 * can read. CAY_TEST_AS=UID:range: with a range of ids of their own in /etc/subuid and /etc/subgid (in a
 * mount namespace of the test's).
 */
unsigned attack_user(void); /* 0: root */
bool attack_user_has_range(void);

/*
 * Prepares the folders; to be called once, before anything else. Needs root and a test_hooks build: says so
 * if not.
 */
void attack_setup(void);
void attack_teardown(void);

const char *attack_build_dir(void);
const char *attack_probe_dir(void); /* holds "probe", read-only for boxes; the folder is nobody's */
const char *attack_probe_path(void);

/*
 * A fresh folder owned by uid and gid `owner`, with a copy of the probe in it. Removed by
 * attack_scratch_remove, or with all others by attack_scratch_remove_all, which every test's teardown calls:
 * a failed test leaves by a jump.
 */
void attack_scratch(char ret_dir[64], unsigned owner);
void attack_scratch_remove(const char *dir);
void attack_scratch_remove_all(void);

/* Splits `text` at blanks into words, up to the first NULL; words point into `room`. Returns how many. */
size_t attack_words(const char *text, char *room, size_t room_size, const char **ret_words, size_t max);

/*
 * cay run --json WORD…; stdin_path NULL: /dev/null. Never returns without a result: a cay that can't be
 * started fails the test. deadline_ms is how long to wait before cay itself is killed.
 */
struct attack_result attack_run(const char *const *words, const char *stdin_path, unsigned deadline_ms);
void attack_result_free(struct attack_result *r);

/* The same in two steps, for boxes that run side by side. */
struct attack_child {
        pid_t pid;
        int out, err;
        unsigned started_ms;
};
struct attack_child attack_start(const char *const *words, const char *stdin_path);
struct attack_result attack_finish(struct attack_child *c, unsigned deadline_ms);
unsigned attack_now_ms(void);

/* Pid on this machine of a probe that runs in a box and whose command line has `mark` in it; 0: none. */
pid_t attack_find_process(const char *mark);

/* JSON. All return false when there is no such thing; text is unescaped and cut to the buffer. */
bool attack_json_is_valid(const char *json);
bool attack_json_text(const char *json, const char *key, char *buf, size_t size); /* top level */
bool attack_json_number(const char *json, const char *key, double *ret);
bool attack_json_has_word(const char *json, const char *key,
                          const char *word); /* array of texts, or of objects by name */

#endif
