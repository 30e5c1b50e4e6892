// The header is C++ too: every INIT macro, a filter, a structure filled.
#include <tamis.h>

#include <cstdio>
#include <cstring>

int main() {
    tamis_options want = TAMIS_OPTIONS_INIT;
    tamis_facts facts = TAMIS_FACTS_INIT;
    tamis_sizing sizing = TAMIS_SIZING_INIT;
    tamis_advice advice = TAMIS_ADVICE_INIT;
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *filter = nullptr;

    want.kind = TAMIS_BLOOM;
    want.capacity = 100;
    how.map = true;
    if (tamis_size(&want, &sizing) != TAMIS_OK || tamis_plan(&want, &advice) != TAMIS_OK) return 1;
    if (tamis_open("/there/is/no/such/file", &how, &filter) != TAMIS_E_IO) return 1;
    if (tamis_create(&want, &filter) != TAMIS_OK) return 1;
    const bool described = tamis_info(filter, &facts) == TAMIS_OK && facts.kind == TAMIS_BLOOM;
    tamis_free(filter);
    std::printf("%s\n", tamis_version());
    return described && std::strlen(advice.why) != 0 ? 0 : 1;
}
