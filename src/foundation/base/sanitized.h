/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sanitizer is compiled in: its runtime makes calls that no filter of ours allows. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAY_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CAY_IS_SANITIZED 1
#endif
#endif
#ifndef CAY_IS_SANITIZED
#define CAY_IS_SANITIZED 0
#endif
