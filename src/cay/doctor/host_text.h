/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of a host, as text: /etc/os-release, /etc/subuid, a program's capabilities. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/banned.h"

/* PRETTY_NAME without its quotes, or NAME; false (and "") when there is neither. */
bool cay_doctor_os_release(const char *text, char *ret, size_t size);

/* The largest range of ids given to a user, by name ("" for none) or number: how many (0: none), and from where on. */
uint64_t cay_doctor_id_ranges(const char *text, const char *user, unsigned uid, uint64_t *ret_first);

/*
 * A range of `count` ids that nobody has, above those of people: in none of these texts, NULL or short ones too. ids: "name:first:count" lines;
 * people: "name:x:id" lines. Its first id; 0: none was found.
 */
struct cay_doctor_id_texts {
        const char *ids[2];    /* /etc/subuid, /etc/subgid */
        const char *people[2]; /* /etc/passwd, /etc/group */
};

uint64_t cay_doctor_free_range(const struct cay_doctor_id_texts *texts, uint64_t count);

/* Whether the value of a security.capability attribute gives `cap` to who runs the file. */
bool cay_doctor_file_has_cap(const void *value, size_t len, unsigned cap);

/* Replaces what is no printable ASCII: these texts come from files, and go to terminals. */
void cay_doctor_make_plain(char *text);
