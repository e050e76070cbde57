/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_calls: libcurl's functions as pointers, filled by curl_library.c, and those of the OpenSSL
 * that libcurl was linked with, by their prototypes in openssl/ssl.h.
 */
#ifndef SL_CURL_CALLS_H
#define SL_CURL_CALLS_H

#include "curl_library.h"

#include <curl/curl.h>

/* X(member, function) */
#define SL_CURL_FUNCTIONS(X)                         \
    X(global_init, curl_global_init)                 \
    X(getdate, curl_getdate)                         \
    X(easy_init, curl_easy_init)                     \
    X(easy_setopt, curl_easy_setopt)                 \
    X(easy_getinfo, curl_easy_getinfo)               \
    X(easy_cleanup, curl_easy_cleanup)               \
    X(easy_strerror, curl_easy_strerror)             \
    X(share_init, curl_share_init)                   \
    X(share_setopt, curl_share_setopt)               \
    X(share_cleanup, curl_share_cleanup)             \
    X(multi_init, curl_multi_init)                   \
    X(multi_cleanup, curl_multi_cleanup)             \
    X(multi_setopt, curl_multi_setopt)               \
    X(multi_assign, curl_multi_assign)               \
    X(multi_add_handle, curl_multi_add_handle)       \
    X(multi_remove_handle, curl_multi_remove_handle) \
    X(multi_socket_action, curl_multi_socket_action) \
    X(multi_info_read, curl_multi_info_read)

/* Without libcurl's type-checking macros, so that the names are those of functions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

#define SL_CURL_MEMBER(member, function) __typeof__(function) *(member);
typedef struct sl_tls_calls {
    void (*ctx_set_default_read_buffer_len)(void *context, size_t bytes);
    void (*ctx_sess_set_new_cb)(void *context, int (*call)(void *ssl, void *session));
    void *(*get_ssl_ctx)(const void *ssl);
    int (*set_fd)(void *ssl, int fd);
    void (*set_read_ahead)(void *ssl, int yes);
    int (*read)(void *ssl, void *to, int bytes);
    int (*write)(void *ssl, const void *from, int bytes);
    int (*get_error)(const void *ssl, int result);
    void (*clear_error)(void);
} sl_tls_calls;

/* Results of get_error. */
enum { SL_TLS_WANT_READ = 2, SL_TLS_WANT_WRITE = 3, SL_TLS_ZERO_RETURN = 6 };

struct sl_curl_calls {
    SL_CURL_FUNCTIONS(SL_CURL_MEMBER)
    bool has_tls; /* false: libcurl has another TLS, or one whose functions are not found */
    sl_tls_calls tls;
};
#undef SL_CURL_MEMBER

#endif
