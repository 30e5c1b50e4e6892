/* policy.c - a program that uses the installed policy for LevelDB: prints the version */
#include <stdio.h>
#include <tamis_leveldb.h>

int main(void) {
    tamis_leveldb_options want = TAMIS_LEVELDB_INIT;
    leveldb_filterpolicy_t *policy;
    want.fpr = 0.01;
    if (tamis_leveldb_policy(&want, &policy) != TAMIS_OK) return 1;
    leveldb_filterpolicy_destroy(policy);
    puts(tamis_version());
}
