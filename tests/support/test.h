/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test: cmocka, and the headers that it wants before it.
 */
#ifndef SL_TEST_H
#define SL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
