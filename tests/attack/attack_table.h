/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attacks as a table (attacks.def): one row per promise, with the layers that keep it. test_attacks runs
 * each row as it is, then with layers switched off. Editing a row is all it takes when a layer moves.
 */
#ifndef CAY_ATTACK_TABLE_H
#define CAY_ATTACK_TABLE_H

enum attack_place {
        PLACE_RO,    /* probe in a read-only workspace: /workspace/probe */
        PLACE_RW,    /* in a read-write workspace that belongs to an ordinary user */
        PLACE_LAYER, /* no workspace: the probe comes through standard input and lies in the writable layer */
};

struct attack {
        const char *section; /* of security.md; set by itself, for the rows that follow */
        const char *probe;   /* subcommand and arguments */
        const char *options; /* of cay run; NULL: none */
        enum attack_place place;
        const char *cause;    /* that cay must report; NULL: exited, and the probe says HELD */
        const char *or_cause; /* as good: the probe itself was the victim, and cay says of what */
        const char *hint;     /* that must be among the hints; NULL: any */
        /* system call that must be reported as denied, and is not once the filter is off; NULL: any */
        const char *denied;
        /*
         * Layers that must be off together for the attack to succeed: it must then print BROKE, or LACKS
         * where this kernel lacks what it is about. NULL: no set of our switches opens it; `why` says what
         * holds then.
         */
        const char *breaks;
        /*
         * Sets of layers, separated by blanks, that may each be off and the attack still held: the others
         * hold alone.
         */
        const char *holds;
        const char *why;
        /*
         * Why it is not held for an ordinary user who has one id only, or for whom no cgroup holds limits.
         * NULL: it is.
         */
        const char *one_id, *watched;
};

#endif
