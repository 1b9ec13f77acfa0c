/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that bench compares: for each the command line that runs /bin/true in a fresh box, what must
 * be made before (runc's bundle, Docker's image), and how to start and wait for it without a shell.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum {
        RIVAL_SPAWN,
        RIVAL_FLOOR,
        RIVAL_CAY,
        RIVAL_BUBBLEWRAP,
        RIVAL_BARE,
        RIVAL_RUNC,
        RIVAL_DOCKER,
        RIVALS_COUNT
};

enum { RIVAL_ARGS_MAX = 320 };

struct rival {
        const char *name;           /* as shown in the table */
        char *argv[RIVAL_ARGS_MAX]; /* borrowed literals, or strings in `text` */
        char *text[3];              /* owned */
        char *folder;               /* owned: a temporary folder, removed by close; NULL: none */
        const char **marks; /* names whose cgroups, mounts and processes must be gone before each turn */
        bool is_reference;  /* the ratios are taken against this row */
        bool has_image;     /* close removes the Docker image */
};

const char *rivals_name(int which); /* as --only spells it */

/* 0, or -1 after printing why the row is left out. close() also accepts a half-opened one. */
int rivals_open(int which, const char *build, struct rival *rival);
void rivals_close(struct rival *rival);

/* Starts argv with /dev/null as stdin and stdout; 0 or -errno. */
int rivals_spawn(char *const argv[], pid_t *ret_pid);

/*
 * Waits for pid and then for every orphan that came to us; pid's wait status. *ret_cpu_ms: what all of them
 * took of the processors.
 */
int rivals_wait_all(pid_t pid, double *ret_cpu_ms);

/* `cay run` of another build, to be compared with this one in the same rounds. */
int rivals_open_other(const char *build, struct rival *rival);

void rivals_print_machine(int runs);
void rivals_print_command(const struct rival *rival);
