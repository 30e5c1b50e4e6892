/* create.c - entry points: from options to a filter, copies and conversions
 *
 *     options -> spec + settings -> contents -> filter
 *
 * The spec is the checked request.  Sizing turns it into contents: a family's sizing for our kinds,
 * the codec's for a compatible format.  object.c makes the filter. */
#include <math.h>
#include <string.h>

#include "api/api.h"
#include "compat/parameters.h"
#include "compat/registry.h"
#include "file/codecs.h"
#include "file/native.h"
#include "file/touched.h"
#include "file/update.h"
#include "plan/plan.h"

/* -------------------------------------------------------------------- options */

tamis_status tamis__options_read(const tamis_options *options, tamis_options *copy) {
    memset(copy, 0, sizeof *copy);
    if (options == NULL || options->struct_size < offsetof(tamis_options, seed)) {
        return TAMIS_E_ARGUMENT;
    }
    const size_t known = options->struct_size < sizeof *copy ? options->struct_size : sizeof *copy;
    memcpy(copy, options, known);
    copy->struct_size = sizeof *copy;
    const bool half_allocator = (copy->allocator.alloc == NULL) != (copy->allocator.free == NULL);
    const bool known_hasher = copy->hasher == TAMIS_HASH_NONE || copy->hasher == TAMIS_HASH_XXH3 ||
                              (copy->hasher == TAMIS_HASH_SIP24 && copy->secret != NULL);
    const bool known_form = (copy->form.flags & ~(uint32_t)TAMIS__KEY_FLAGS) == 0 &&
                            copy->form.type <= TAMIS_KEY_F64 &&
                            copy->form.separator_length <= TAMIS_SEPARATOR_MAX;
    return half_allocator || !known_hasher || !known_form ? TAMIS_E_ARGUMENT : TAMIS_OK;
}

bool tamis__is_compat(const tamis_options *o) {
    return o->format != NULL && strcmp(o->format, tamis__native.name) != 0;
}

static void read_settings(const tamis_options *o, struct tamis__settings *settings) {
    *settings = (struct tamis__settings){
        .allocator = o->allocator, .form = o->form, .shared = o->shared, .portable = o->portable};
    settings->form.reserved = 0;
    for (int i = o->form.separator_length; i < TAMIS_SEPARATOR_MAX; i++) {
        settings->form.separator[i] = 0;
    }
}

static tamis_status read_compat(const tamis_options *o, const struct tamis__codec **codec,
                                struct tamis__spec *spec) {
    *codec = tamis__codec_find(o->format);
    if (*codec == NULL) return TAMIS_E_ARGUMENT;
    if ((*codec)->make == NULL || o->shared || o->secret != NULL || o->bytes != 0) {
        return TAMIS_E_UNSUPPORTED;
    }
    if (o->kind != TAMIS_AUTO || o->hasher != TAMIS_HASH_XXH3) return TAMIS_E_ARGUMENT;
    if (o->fpr != 0 && !(o->fpr > 0 && o->fpr < 1)) return TAMIS_E_FPR;
    const char *colon = strchr(o->format, ':');
    *spec = (struct tamis__spec){.capacity = o->capacity,
                                 .fpr = o->fpr,
                                 .bits = o->bits,
                                 .seed = o->seed,
                                 .codec = *codec,
                                 .parameters = colon == NULL ? "" : colon + 1};
    return tamis__parameters_known(spec->parameters, (*codec)->parameters) ? TAMIS_OK
                                                                           : TAMIS_E_ARGUMENT;
}

tamis_status tamis__spec_read(const tamis_options *o, struct tamis__spec *spec,
                              struct tamis__settings *settings) {
    read_settings(o, settings);
    if (tamis__is_compat(o)) return read_compat(o, &settings->codec, spec);
    const tamis_status status = tamis__plan_spec(o, tamis__native_room(o->bytes), spec);
    if (status != TAMIS_OK) return status;
    const tamis_hasher id = o->hasher == TAMIS_HASH_NONE ? TAMIS_HASH_NONE : TAMIS_HASH_XXH3;
    tamis__hashing_init(&spec->hashing, id, o->seed, o->secret);
    return TAMIS_OK;
}

/* ------------------------------------------------------------------- contents */

/* If the caller fixed the bits, the promised rate is that of the filter at capacity, with the same
 * margin that our own sizes have. */
static double promised_fpr(const struct tamis__family *family, const struct tamis__spec *spec,
                           const struct tamis__shape *shape) {
    if (spec->bits == 0) return spec->fpr;
    const double keys = (double)spec->capacity;
    const double fpr = family->fpr(shape, keys + TAMIS__SIGMAS * sqrt(keys));
    return fpr > 0 && fpr < 1 ? fpr : spec->fpr;
}

tamis_status tamis__spec_size(const struct tamis__spec *spec, const struct tamis__codec *codec,
                              struct tamis__contents *contents) {
    if (codec != NULL) return tamis__compat_make(spec, contents);
    const struct tamis__family *family = tamis__family_of(spec->kind);
    *contents = (struct tamis__contents){
        .family = family, .hashing = spec->hashing, .capacity = spec->capacity};
    const tamis_status status = family->shape(spec, &contents->shape);
    if (status == TAMIS_OK) contents->fpr = promised_fpr(family, spec, &contents->shape);
    return status;
}

tamis_status tamis__spec_create(const struct tamis__spec *spec,
                                const struct tamis__settings *settings, tamis_filter **out) {
    struct tamis__contents contents;
    const tamis_status status = tamis__spec_size(spec, settings->codec, &contents);
    return status == TAMIS_OK ? tamis__filter_make(&contents, settings, out) : status;
}

bool tamis__spec_is_static(const struct tamis__spec *spec, const struct tamis__codec *codec) {
    return codec != NULL ? codec->build != NULL
                         : (tamis__family_of(spec->kind)->caps & TAMIS_IS_STATIC) != 0;
}

tamis_status tamis_create(const tamis_options *options, tamis_filter **out) {
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    tamis_options o;
    struct tamis__spec spec;
    struct tamis__settings settings;
    tamis_status status = tamis__options_read(options, &o);
    if (status == TAMIS_OK) status = tamis__spec_read(&o, &spec, &settings);
    if (status != TAMIS_OK) return status;
    if (tamis__spec_is_static(&spec, settings.codec)) return TAMIS_E_STATIC;
    return tamis__spec_create(&spec, &settings, out);
}

/* --------------------------------------------------------------------- copies */

/* Contents with the shape of a copy of the filter, and memory for its table and `extra_bytes`. */
static tamis_status start_copy(const tamis_filter *f, const struct tamis__family *family,
                               const struct tamis__shape *shape, uint64_t extra_bytes,
                               struct tamis__contents *copy) {
    *copy = (struct tamis__contents){.family = family,
                                     .shape = *shape,
                                     .hashing = f->hashing,
                                     .capacity = f->capacity,
                                     .fpr = f->fpr,
                                     .adds = f->adds,
                                     .extra_bytes = extra_bytes};
    const tamis_status status = tamis__filter_trust(f);
    if (status != TAMIS_OK) return status;
    copy->made = tamis__table_alloc(&f->settings.allocator, shape->table_bytes + extra_bytes);
    return copy->made == NULL ? TAMIS_E_NOMEM : TAMIS_OK;
}

tamis_status tamis_clone(const tamis_filter *filter, tamis_filter **out) {
    struct tamis__contents copy;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    if (filter->settings.pages != NULL) return tamis__filter_copy(filter, out);
    const struct tamis__family *family = filter->family;
    const tamis_status status =
        start_copy(filter, family, &filter->shape, filter->extra_bytes, &copy);
    if (status != TAMIS_OK) return status;
    const size_t bytes = (size_t)copy.shape.table_bytes;
    if (family->export_table != NULL) {
        family->export_table(filter, copy.made);
    } else {
        memcpy(copy.made, filter->table, bytes);
    }
    if (filter->extra_bytes != 0) {
        copy.extra = memcpy(copy.made + bytes, filter->extra, (size_t)filter->extra_bytes);
    }
    const tamis_status made = tamis__filter_make(&copy, &filter->settings, out);
    if (made == TAMIS_OK) (*out)->seal = filter->seal; /* verified when the copy is encoded */
    return made;
}

tamis_status tamis_convert(const tamis_filter *filter, tamis_kind kind, tamis_filter **out) {
    struct tamis__contents copy;
    struct tamis__shape shape;
    if (out == NULL) return TAMIS_E_ARGUMENT;
    *out = NULL;
    if (filter == NULL) return TAMIS_E_ARGUMENT;
    const struct tamis__family *family = tamis__family_of(kind);
    if (family == NULL) return TAMIS_E_KIND;
    if (kind == filter->family->kind) return tamis_clone(filter, out);
    if (filter->family->convert_shape == NULL) return TAMIS_E_CONVERT;
    tamis_status status = filter->family->convert_shape(filter, kind, &shape);
    if (status == TAMIS_OK) status = start_copy(filter, family, &shape, 0, &copy);
    if (status != TAMIS_OK) return status;
    filter->family->convert_table(filter, copy.made);
    status = tamis__filter_make(&copy, &filter->settings, out);
    if (status == TAMIS_OK) status = tamis__seal_verify(filter);
    if (status != TAMIS_OK) {
        tamis__filter_free(*out);
        *out = NULL;
    }
    return status;
}

void tamis_free(tamis_filter *filter) {
    if (filter == NULL) return;
    struct tamis__update *update = filter->update;
    struct tamis__touched *touched = filter->touched;
    tamis__filter_free(filter);
    tamis__touched_free(touched);
    tamis__update_free(update);
}
