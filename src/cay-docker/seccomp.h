/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of a container's system calls, as Docker takes it: made from the rows that native boxes are held
 * by (cay-init/seccomp_policy.def), so both engines hold the same.
 *
 * Theory of operation. Docker's filter lies around everything in the container, cay-init's own around each
 * command; a call has to pass both. Rows that look at arguments pass here: the inner filter looks at them. A
 * few calls that cay-init itself needs, to confine commands, pass here and not there. What has no row is
 * answered EPERM. In a container without init there is no inner filter: then this one looks at the arguments
 * as well (seccomp_args.h), and nothing passes for an init's sake.
 */
#pragma once

#include "foundation/base/buf.h"

/* "seccomp=" and the profile, for SecurityOpt; ends with NUL. 0 or -errno. */
int docker_seccomp_put(struct cay_buf *out, bool has_init);
