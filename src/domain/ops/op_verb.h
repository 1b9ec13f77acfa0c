/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An op as a verb of the command line: what its row adds to fields, route and result. tools/gen_cli writes
 * the verb from it at build time; its options are the op's fields that are no words. A verb that does more
 * than one call has its row in cay/cli/verbs.c.
 */
#pragma once

struct cay_op_verb {
        const char *name;  /* "network log"; the first word has a line in cay/cli/commands.def */
        const char *words; /* fields that are words and no options: "id exec?", "id+" (cay/cli/verb.h) */
        const char *about; /* help, in lines of at most 90; NULL: the op's doc */
        /*
         * What people see of the answer: "entries: NR=number AT=at" is a table of the list `entries`, with
         * heads and members; "sent=up_bytes open_now=connections" a record ("_" in a head is a blank). How a
         * value looks follows from its row in the result; "AGE=started_at/age" says it (an enum cay_cell of
         * cay/cli/table.h). NULL: every member that is no object, by its name.
         */
        const char *shows;
        const char *flat;    /* an object whose members are options by themselves; NULL: none */
        const char *letters; /* "follow:f": short options; NULL: none */
        const char *renames; /* "labels:label": what a repeatable option is called; NULL: as the field */
};

/* For a row: .verb = CAY_OP_VERB("network log", "id"). */
#define CAY_OP_VERB(...)                                                                                     \
        &(const struct cay_op_verb)                                                                          \
        {                                                                                                    \
                __VA_ARGS__                                                                                  \
        }
