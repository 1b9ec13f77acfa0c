/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of system calls on cay-init itself; the theory is in seccomp_init.def. */
#include "cay-init/init_filter.h"

#include <errno.h>

#include "cay-init/init.h"
#include "seccomp_init.h"
#include "foundation/sys/seccomp.h"

void cay_init_filter(struct cay_init *init)
{
        int r;

        if (init->is_filtered)
                return;
        init->is_filtered = true;
        /* Not isolated: commands have no filter, and may do what their user may. */
        if (!cay_init_is_isolated(init) || !cay_init_has_layer(init, CAY_LAYER_SECCOMP) ||
            !cay_init_has_layer(init, CAY_LAYER_INIT_SECCOMP))
                return;
        r = sys_seccomp_enter(cay_seccomp_init_code, CAY_SECCOMP_INIT_CODE_LEN);
        if (r == -EACCES && !cay_init_has_layer(init, CAY_LAYER_NNP))
                return; /* without no_new_privs (a test disables it) only root may */
        if (r < 0)
                init->leaving = true;
}
