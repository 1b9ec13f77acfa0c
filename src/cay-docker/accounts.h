/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image's /etc/passwd and /etc/group, with the sandbox's user in them. Many programs fail, or show a
 * number, where the user that they run as has no line (whoami, ssh, git, Python's getpass). Both files are
 * read from the container before its start; one that lacks the user goes back with one line more. Pure.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/base/bytes.h"

enum docker_account { DOCKER_ACCOUNT_PASSWD, DOCKER_ACCOUNT_GROUP, DOCKER_ACCOUNT_COUNT };

#define DOCKER_ACCOUNT_MAX (256u * 1024) /* of a file; a larger one is left as it is */

const char *docker_account_path(enum docker_account which); /* absolute */
/*
 * The file in an archive with one member, as Docker gives it. false: it is no plain file, or too large. The
 * view is into tar.
 */
bool docker_account_read(const void *tar, size_t len, struct cay_view *ret);
bool docker_account_has_user(struct cay_view text);
/* The text, with a line for the user behind it. 0 or -errno. */
int docker_account_put(enum docker_account which, struct cay_view text, struct cay_buf *out);
