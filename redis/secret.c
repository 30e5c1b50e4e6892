/* secret.c - see secret.h */
#include "secret.h"

#include "redis_module.h"
#include "wire.h"

void secret_new(uint8_t secret[TAMIS_SECRET_BYTES]) {
    static uint8_t of_server[TAMIS_SECRET_BYTES];
    static uint64_t number;
    if (number == 0) RedisModule_GetRandomBytes(of_server, sizeof of_server);
    for (unsigned i = 0; i < TAMIS_SECRET_BYTES; i += 8) {
        uint8_t counter[8];
        wire_store(counter, ++number, sizeof counter);
        wire_store(secret + i, tamis_hash_secret(of_server, counter, sizeof counter), 8);
    }
}
