/* SPDX-License-Identifier: Apache-2.0 */
/* Parses small files of a host: /etc/os-release, /etc/subuid, a program's capabilities. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/banned.h"

/* PRETTY_NAME without its quotes, or NAME; false (and "") if there is neither. */
bool cay_doctor_os_release(const char *text, char *ret, size_t size);

/* The largest range of ids of a user, by name ("": none) or number: its size (0: none) and first id. */
uint64_t cay_doctor_id_ranges(const char *text, const char *user, unsigned uid, uint64_t *ret_first);

/*
 * Finds a range of `count` unused ids above those of people: in none of these texts, which may be NULL. ids:
 * lines of "name:first:count"; people: lines of "name:x:id". Returns its first id; 0: none.
 */
struct cay_doctor_id_texts {
        const char *ids[2];    /* /etc/subuid, /etc/subgid */
        const char *people[2]; /* /etc/passwd, /etc/group */
};

uint64_t cay_doctor_free_range(const struct cay_doctor_id_texts *texts, uint64_t count);

/* Whether the value of a security.capability attribute gives `cap` to whoever runs the file. */
bool cay_doctor_file_has_cap(const void *value, size_t len, unsigned cap);

/* Replaces all but printable ASCII: these texts come from files and go to terminals. */
void cay_doctor_make_plain(char *text);
