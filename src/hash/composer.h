/* composer.h - composite keys over any of our hashes */
#ifndef TAMIS_HASH_COMPOSER_H
#define TAMIS_HASH_COMPOSER_H

#include "hash/hash.h"

tamis_status tamis__composer_create(const struct tamis__hashing *hashing, const tamis_allocator *a,
                                    tamis_composer **out);

#endif
