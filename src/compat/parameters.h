/* parameters.h - "NAME=VALUE,NAME,...": parameters of a compatible format */
#ifndef TAMIS_COMPAT_PARAMETERS_H
#define TAMIS_COMPAT_PARAMETERS_H

#include "filter/codec.h"

/* Are all names in `known` ("bits,ribbon"; NULL: none)? */
bool tamis__parameters_known(const char *parameters, const char *known);
/* Is it there? */
bool tamis__parameter(const char *parameters, const char *name);
/* Its value, a decimal number: `value` is left as it is if it is not there; false if it is no
 * number of at most 15 digits. */
bool tamis__parameter_number(const char *parameters, const char *name, double *value);

#endif
