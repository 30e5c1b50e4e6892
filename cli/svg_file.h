/* svg_file.h - plots into the file of --svg */
#ifndef TAMIS_CLI_SVG_FILE_H
#define TAMIS_CLI_SVG_FILE_H

#include "plot.h"

/* Dies if --svg was given (not NULL) and names no file. */
void svg_file_check(const char *name);

/* Draws the plots into the file.  Dies if it cannot be written. */
void svg_file_write(struct plot *plots, size_t count, const char *path);

#endif
