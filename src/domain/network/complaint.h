/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the output of a program say that it lacks a network? Programs say so in words of their own: the tables
 * of complaint.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The bytes need not be text. */
bool cay_network_complains(const void *bytes, size_t len);
