/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-process: the process engine of a daemon, in a program of its own. Its commands have no isolation, so it
 * runs only where the operator has switched it on; neither the front, which may start nothing, nor the
 * warden, which isolates whatever it starts, has a part in it.
 *
 * Theory of operation. It speaks with one front after the other (links/helper/process_message.h), each handed
 * over by the keeper, and turns their requests into calls of the engine that `cay run --engine process` has.
 * A front says an id, limits and its end of a stream: which program is started, where, and as whom is decided
 * here, so a taken-over front gets nothing that its callers could not ask for. Where the keeper is root, each
 * box has a host id of its own (engines/process/own_id.h), and this program keeps the few capabilities that
 * giving and ending such ids takes. Elsewhere boxes have the id of the user whose daemon it is.
 *
 * Ends. A front's: boxes live on. The keeper's: all boxes are ended, then we are. Our own: each init sees the
 * end of its control socket and ends what it started; whoever got away from that has the box's id, by which
 * the next cay-process finds it. A box's: it is ended with everything in it, also while there is no front,
 * which then finds that it is not there.
 */
#pragma once

#define PROCESS_BOXES_MAX 1024u

struct process_options {
        const char *program_dir; /* where cay-init is */
        int front, keeper;       /* taken */
        const char *ids_at;      /* an id for each box, and where their folders are: needs root; NULL: none */
};

/* Serves until the keeper is gone. 0: everything was ended. */
int process_broker_run(const struct process_options *o);
int process_main(int argc, char **argv);
