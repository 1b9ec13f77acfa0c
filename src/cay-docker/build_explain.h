/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker's error of a build, with what to do where the Dockerfile needs BuildKit: Docker itself advises to
 * enable that, which a client of Cay cannot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool docker_build_lacks_buildkit(const char *error);
/* The error as it is, or shortened and explained; always ends. ret must not be error. */
void docker_build_explain(const char *error, char *ret, size_t size);
