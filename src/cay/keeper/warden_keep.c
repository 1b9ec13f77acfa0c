/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's warden: its start, and what it is told over the keeper's socket (links/helper/message.h). */
#include <fcntl.h>
#include <sys/socket.h>

#include "cay/keeper/ceiling.h"
#include "cay/keeper/serve_priv.h"
#include "cay/keeper/spawn.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/message.h"

static int tell(struct keeper *k, uint32_t type, uint32_t nr, int fd)
{
        const struct wire_keeper say = { .magic = WIRE_MAGIC, .size = sizeof(say), .type = type, .nr = nr };

        return (int)sys_send_fds(k->warden.sock, &say, sizeof(say), &fd, 1, MSG_NOSIGNAL);
}

int cay_warden_keep_tell_registry(struct keeper *k)
{
        return tell(k, WIRE_KEEPER_REGISTRY, 0, cay_registry_keep_folder(&k->registry));
}

static int tell_ceiling(struct keeper *k)
{
        struct wire_keeper_ceiling say = { .magic = WIRE_MAGIC,
                                           .size = sizeof(say),
                                           .type = WIRE_KEEPER_CEILING };
        struct cay_machine machine;

        cay_machine_look(&machine, k->place.data_fd);
        cay_ceiling_make(k->options->config, &machine, &say.ceiling);
        return (int)sys_send_fds(k->warden.sock, &say, sizeof(say), NULL, 0, MSG_NOSIGNAL);
}

static int tell_margin(struct keeper *k)
{
        const uint64_t mib = k->options->config->disk_reserve >> 20;
        const struct wire_keeper say = { .magic = WIRE_MAGIC,
                                         .size = sizeof(say),
                                         .type = WIRE_KEEPER_MARGIN,
                                         .nr = mib < UINT32_MAX ? (uint32_t)mib : UINT32_MAX };

        return (int)sys_send_fds(k->warden.sock, &say, sizeof(say), NULL, 0, MSG_NOSIGNAL);
}

/*
 * What it has to know of clients' folders and of the operator's maxima: from us, since the front is not to be believed. It hears this before
 * it hears a front.
 */
static int introduce(struct keeper *k, struct cay_error *err)
{
        int r = tell_ceiling(k);

        if (r >= 0)
                r = tell(k, WIRE_KEEPER_DOOR, 0, k->place.unix_fd);
        for (unsigned i = 0; i < k->place.root_count && r >= 0; i++)
                if (k->place.root_fds[i] >= 0)
                        r = tell(k, WIRE_KEEPER_ROOT, i, k->place.root_fds[i]);
        if (r >= 0 && cay_registry_keep_folder(&k->registry) >= 0)
                r = cay_warden_keep_tell_registry(k);
        if (r >= 0)
                r = tell_margin(k);
        if (r >= 0)
                r = cay_upgrade_watch(k);
        return r < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, r, "instruct the warden") : 0;
}

int cay_warden_keep_start(struct keeper *k, struct cay_error *err)
{
        char *argv[] = { (char *)"cay-warden", (char *)"keep", NULL };
        const struct cay_spawn s = { .dir = k->options->program_dir,
                                     .program = "cay-warden",
                                     .argv = argv,
                                     .fds = &k->place.layers_fd,
                                     .fd_count = 1,
                                     .mask = &k->signals.before };

        if (cay_helper_start(&k->warden, &s, err) == 0 && introduce(k, err) == 0)
                return 0;
        cay_warden_keep_let_go(k);
        return -1;
}

void cay_warden_keep_let_go(struct keeper *k)
{
        cay_watch_remove(&k->warden_watch);
        cay_helper_close(&k->warden);
}

int cay_warden_keep_link(struct keeper *k, int *ret, struct cay_error *err)
{
        if (k->plan.rows[CAY_KEEP_NATIVE].runs)
                return cay_helper_link(&k->warden, "the warden", ret, err);
        *ret = sys_open_at(AT_FDCWD, "/dev/null", O_RDONLY, 0);
        return *ret < 0 ? cay_fail_sys(err, CAY_INTERNAL, *ret, "open /dev/null") : 0;
}
