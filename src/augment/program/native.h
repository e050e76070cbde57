/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native: a function of the user's that changes a canvas in place (sluice/augment.h).
 *
 * Purpose: recipes are copied by value, and each copy needs the function's user data: so they share
 * one sl_native, which counts its owners. Programs borrow it from their recipe.
 *
 * Threads: hold and release from any thread; everything else is constant. The last release calls
 * the user's free function.
 */
#ifndef SL_NATIVE_H
#define SL_NATIVE_H

#include <sluice/augment.h>

#include <stdatomic.h>

enum { SL_NATIVE_NAME_BYTES = 64 };

typedef struct sl_native {
    sluice_native_function function;
    void *user_data;
    void (*free_user_data)(void *user_data); /* NULL: nothing to do */
    char name[SL_NATIVE_NAME_BYTES];
    atomic_uint owners;
} sl_native;

/* Copies the first four members of `from`, with one owner; NULL: no memory. */
sl_native *sl_native_new(const sl_native *from);
void sl_native_hold(sl_native *native);
/* Releases an owner's hold; NULL is a no-op. */
void sl_native_release(sl_native *native);

#endif
