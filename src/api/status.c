/* status.c - entry points: names and texts of the statuses, and the version */
#include "tamis.h"

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

const char *tamis_version(void) {
    return TEXT(TAMIS_VERSION_MAJOR) "." TEXT(TAMIS_VERSION_MINOR) "." TEXT(TAMIS_VERSION_PATCH);
}

const char *tamis_status_name(tamis_status status) {
    switch (status) {
#define X(name, value, text) \
    case TAMIS_##name:       \
        return #name;
        TAMIS_STATUS_MAP(X)
#undef X
    }
    return "?";
}

const char *tamis_status_text(tamis_status status) {
    switch (status) {
#define X(name, value, text) \
    case TAMIS_##name:       \
        return text;
        TAMIS_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}
