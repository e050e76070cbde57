/* SPDX-License-Identifier: Apache-2.0 */
/* curl_absent: the engine of a build without libcurl's headers: every request fails with
 * UNSUPPORTED. */
#include "curl_library.h"
#include "engine.h"
#include "error.h"
#include "memory.h"

static sluice_status refuse_remote(sluice_error *error)
{
    return sl_error_set(error, SLUICE_UNSUPPORTED, "remote",
                        "this sluice was built without libcurl, so it reads no object stores: "
                        "build it with libcurl4-openssl-dev installed");
}

sluice_status sl_curl_library(const sl_curl_calls **calls, sluice_error *error)
{
    *calls = NULL;
    return refuse_remote(error);
}

// NOLINTBEGIN(readability-non-const-parameter): as the other file has them
sluice_status sl_hmac_sha256(const void *key, size_t key_bytes, const void *data, size_t bytes,
                             unsigned char mac[32], sluice_error *error)
{
    (void)key;
    (void)key_bytes;
    (void)data;
    (void)bytes;
    (void)mac;
    return refuse_remote(error);
}

sluice_status sl_sha256(const void *data, size_t bytes, unsigned char hash[32], sluice_error *error)
{
    (void)data;
    (void)bytes;
    (void)hash;
    return refuse_remote(error);
}
// NOLINTEND(readability-non-const-parameter)

sluice_status sl_engine_start(sl_exchange *exchange, sluice_error *error)
{
    (void)exchange;
    return refuse_remote(error);
}

void sl_engine_cancel(sl_exchange *exchange)
{
    (void)exchange;
}

sluice_status sl_engine_run(sl_exchange *exchange, sluice_error *error)
{
    (void)exchange;
    return refuse_remote(error);
}

void sl_exchange_free(sl_exchange *exchange)
{
    sl_free(exchange->location);
    exchange->location = NULL;
}

sluice_status sl_engine_after(sl_engine_timer *timer, uint64_t after_ns, sluice_error *error)
{
    (void)timer;
    (void)after_ns;
    return refuse_remote(error);
}

bool sl_engine_forget(sl_engine_timer *timer)
{
    (void)timer;
    return false;
}

uint32_t sl_engine_threads(void)
{
    return 0;
}

void sl_engine_set_threads(uint32_t least, uint32_t most)
{
    (void)least;
    (void)most;
}

void sl_engine_set_idle(uint64_t idle_ns)
{
    (void)idle_ns;
}
