/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user of this machine allows a daemon: read from the user's file before the daemon's first byte is,
 * and never widened by the daemon. Without a file: sandboxes, isolated, and no folder.
 *
 *      sandboxes allow                 # or: ask, deny
 *      commands isolated               # or: user: without isolation, as this user
 *      folder /home/me/project rw ask  # ro, cow or rw; allow or ask
 *      most memory 4g                  # of each sandbox: memory, cpus, pids, disk; or sandboxes: at once
 *
 * A folder is the folder named and all below it; the longest name that fits decides. "cow": commands may
 * write, and the folder stays as it is. Folders are opened when the file is read: what is moved to their
 * place later is not reached. Paths below them are resolved without links, and never above them.
 *
 * A rule that asks needs a yes in the agent's terminal. A yes for always is remembered, for that rule as it
 * is written and for that daemon; a rule that is changed asks again.
 */
#pragma once

#include "domain/model/spec.h"
#include "foundation/base/error.h"

#define AGENT_RULES_MAX 32u /* folders */
#define AGENT_RULES_FILE 16384u
#define AGENT_RULE_TEXT 1280u

enum agent_verdict { AGENT_DENY, AGENT_ALLOW, AGENT_PROMPT };

struct agent_folder {
        char path[1024]; /* absolute, without a slash at the end */
        int fd;          /* O_PATH */
        enum cay_workspace_mode most;
        enum agent_verdict verdict; /* ALLOW, PROMPT */
};

struct agent_most { /* 0: any */
        uint64_t memory_bytes, cpu_milli, pids, disk_bytes, sandboxes;
};

struct agent_rules {
        enum agent_verdict sandboxes;
        bool as_user;
        struct agent_folder folders[AGENT_RULES_MAX];
        unsigned folder_count;
        struct agent_most most;
        char remembered[AGENT_RULES_FILE]; /* lines: rules with a yes for always */
        int store;                         /* the file of those; -1: they are kept in memory */
};

struct agent_wish {         /* of a daemon, about one sandbox */
        const char *folder; /* absolute path; "": none */
        enum cay_workspace_mode mode;
};

void agent_rules_init(struct agent_rules *r); /* the defaults */
/* Reads a file's text; err has the line. Opens its folders. */
int agent_rules_parse(struct agent_rules *r, const char *text, struct cay_error *err);
/* path NULL: file `rules` in dir, which need not be there. store: what is remembered, an open file; taken. */
int agent_rules_load(struct agent_rules *r, int dir, const char *path, int store, struct cay_error *err);
void agent_rules_done(struct agent_rules *r);

/* ALLOW; PROMPT: the question is ret_question; DENY: err says which rule is missing. */
enum agent_verdict agent_rules_judge(const struct agent_rules *r, const struct agent_wish *wish,
                                     char ret_question[AGENT_RULE_TEXT], struct cay_error *err);
/*
 * Whether another sandbox with these limits may be made, where there are so many. -1: err says which rule
 * forbids it.
 */
int agent_rules_check_limits(const struct agent_rules *r, const struct cay_limits *limits, unsigned sandboxes,
                             struct cay_error *err);
bool agent_rules_has_most(const struct agent_rules *r);
/* The wish's questions need not be asked again. */
int agent_rules_remember(struct agent_rules *r, const struct agent_wish *wish, struct cay_error *err);
/*
 * Where the wish's folder is, for the warden, which has the rules' folders and opens it: the rule's number
 * from 1, and the path below its folder. 0: none was wanted, or none fits.
 */
unsigned agent_rules_place(const struct agent_rules *r, const struct agent_wish *wish,
                           const char **ret_below);
/* Answers that another process remembered meanwhile. */
int agent_rules_reload(struct agent_rules *r, struct cay_error *err);
