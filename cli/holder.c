/* holder.c - see holder.h
 *
 * The kernel reports who holds a lock of a process, but not who holds one of an open file
 * description (tamis) or flock(2).  /proc/PID/fdinfo/FD lists those of each descriptor, for the
 * processes that this user may inspect. */
#define _DEFAULT_SOURCE

#include "holder.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Does it list a lock on the file "MAJOR:MINOR:INODE "? */
static bool lists_lock(const char *fdinfo, const char *file) {
    char line[256];
    bool found = false;
    FILE *from = fopen(fdinfo, "re");
    if (from == NULL) return false;
    while (!found && fgets(line, sizeof line, from) != NULL) {
        found = strncmp(line, "lock:", 5) == 0 && strstr(line, file) != NULL;
    }
    fclose(from);
    return found;
}

static bool process_holds(const char *process, const char *file) {
    char name[600];
    bool found = false;
    snprintf(name, sizeof name, "/proc/%s/fdinfo", process);
    DIR *list = opendir(name);
    if (list == NULL) return false;
    const struct dirent *entry;
    while (!found && (entry = readdir(list)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        snprintf(name, sizeof name, "/proc/%s/fdinfo/%s", process, entry->d_name);
        found = lists_lock(name, file);
    }
    closedir(list);
    return found;
}

static void name_process(const char *process, char holder[HOLDER_MAX]) {
    char name[300], command[32] = "";
    snprintf(name, sizeof name, "/proc/%s/comm", process);
    FILE *from = fopen(name, "re");
    if (from != NULL && fgets(command, sizeof command, from) == NULL) command[0] = '\0';
    if (from != NULL) fclose(from);
    command[strcspn(command, "\n")] = '\0';
    snprintf(holder, HOLDER_MAX, "process %.20s%s%s%s", process, command[0] != '\0' ? " (" : "",
             command, command[0] != '\0' ? ")" : "");
}

/* The process that has a lock of its own on the file; 0: none. */
static long process_of_lock(const char *path) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return 0;
    const bool found = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(descriptor);
    return found && lock.l_pid > 0 ? (long)lock.l_pid : 0;
}

void lock_holder(const char *path, char holder[HOLDER_MAX]) {
    struct stat status;
    char file[80];
    const long process = process_of_lock(path);
    snprintf(holder, HOLDER_MAX, "a process of another user");
    if (process != 0) {
        snprintf(file, sizeof file, "%ld", process);
        name_process(file, holder);
        return;
    }
    DIR *list = stat(path, &status) == 0 ? opendir("/proc") : NULL;
    if (list == NULL) return;
    snprintf(file, sizeof file, " %02x:%02x:%llu ", major(status.st_dev), minor(status.st_dev),
             (unsigned long long)status.st_ino);
    const struct dirent *entry;
    while ((entry = readdir(list)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || atol(entry->d_name) == (long)getpid()) {
            continue;
        }
        if (!process_holds(entry->d_name, file)) continue;
        name_process(entry->d_name, holder);
        break;
    }
    closedir(list);
}
