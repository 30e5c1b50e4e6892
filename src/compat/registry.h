/* registry.h - the systems whose filters tamis reads and writes
 *
 * A system is a folder of src/compat.  It contains everything specific to the system: its hash
 * functions, its probe rules (as families), its codecs with their sizing, and the container
 * files that hold its filters.  What several systems share is in src/compat/common.
 *
 * A new system is a folder with a `const struct tamis__system tamis__system_NAME`, and its row in
 * registry.c.  tests/unit/test_registry.c checks that names and numbers are unique. */
#ifndef TAMIS_COMPAT_REGISTRY_H
#define TAMIS_COMPAT_REGISTRY_H

#include "compat/container.h"
#include "filter/codec.h"

/* Lists end with NULL.  `id` of a hash and `layout` of a family are in .tamis files: frozen. */
struct tamis__system {
    const struct tamis__codec *codecs[9];
    const struct tamis__family *families[4];
    const struct tamis__compat_hash *hashes[4];
    const struct tamis__container_format *container; /* NULL: none */
};

/* The systems in order; NULL at the end. */
const struct tamis__system *tamis__system_at(size_t index);

/* The codecs of all systems in order; NULL at the end. */
const struct tamis__codec *tamis__compat_codec_at(size_t index);
/* The container formats of all systems in order; NULL at the end. */
const struct tamis__container_format *tamis__container_format_at(size_t index);

/* What the header of a .tamis file names; NULL if there is none. */
const struct tamis__family *tamis__compat_family_of(tamis_kind kind, uint32_t layout);
const struct tamis__compat_hash *tamis__compat_hash_of(unsigned id);

/* ---- codec_defaults.c: the codecs' functions, with the defaults of those that are NULL */

enum tamis__detection tamis__compat_detect(const struct tamis__codec *codec, const uint8_t *bytes,
                                           uint64_t length);
/* `format` may have parameters after a colon, and may be NULL. */
tamis_status tamis__compat_decode(const uint8_t *bytes, uint64_t length,
                                  const struct tamis__settings *settings, const char *format,
                                  tamis_filter **out);
tamis_status tamis__compat_make(const struct tamis__spec *spec, struct tamis__contents *contents);
const char *tamis__compat_reason(const struct tamis__codec *codec, const tamis_filter *f);

/* For the codecs: contents with the codec's family and hash, else empty. */
struct tamis__contents tamis__compat_contents(const struct tamis__codec *codec);
/* E_TRUNCATED or E_TRAILING, or OK if there are as many bytes as expected. */
tamis_status tamis__length_status(uint64_t length, uint64_t expected);

#endif
