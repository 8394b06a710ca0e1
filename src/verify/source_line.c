/* See source_line.h; libdw reads the debug information. */
#include "verify/source_line.h"

#include "base/arena.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <string.h>
#include <unistd.h>

struct source_lines {
    struct arena *arena;
    Dwfl *dwfl;
};

struct source_lines *source_lines_new(struct arena *arena)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo};
    struct source_lines *lines = ARENA_NEW(arena, struct source_lines);
    lines->arena = arena;
    lines->dwfl = dwfl_begin(&callbacks);
    if (lines->dwfl && (dwfl_linux_proc_report(lines->dwfl, getpid()) != 0 ||
                        dwfl_report_end(lines->dwfl, NULL, NULL) != 0)) {
        dwfl_end(lines->dwfl);
        lines->dwfl = NULL;
    }
    return lines;
}

void source_lines_free(struct source_lines *lines)
{
    if (lines->dwfl)
        dwfl_end(lines->dwfl);
}

static const char *copy(struct source_lines *lines, const char *text)
{
    return text ? arena_strdup(lines->arena, text) : NULL;
}

/* Compilers need not say which unit an address is in (clang does not), so they are asked one by one. */
static const char *find_line(Dwfl_Module *module, Dwarf_Addr address, int *number)
{
    Dwarf_Addr bias;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));) {
        if (dwarf_haspc(unit, address - bias) <= 0)
            continue;
        Dwarf_Line *line = dwarf_getsrc_die(unit, address - bias);
        return line && dwarf_lineno(line, number) == 0 ? dwarf_linesrc(line, NULL, NULL) : NULL;
    }
    return NULL;
}

/* Wherever it was compiled: Remora's files are known by their folders. */
static bool is_library(const char *path)
{
    static const char *const folders[] = {"src/tower/", "src/fabric/", "src/job/", "src/verify/",
                                          "include/remora/"};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strstr(path, folders[i]))
            return true;
    return false;
}

static struct source_line line_of(struct source_lines *lines, Dwarf_Addr address)
{
    struct source_line result = {0};
    Dwfl_Module *module = lines->dwfl ? dwfl_addrmodule(lines->dwfl, address) : NULL;
    if (!module)
        return result;
    result.function = copy(lines, dwfl_module_addrname(module, address));
    int number = 0;
    const char *file = find_line(module, address, &number);
    if (file) {
        const char *slash = strrchr(file, '/');
        result.file = copy(lines, slash ? slash + 1 : file);
        result.line = (unsigned)number;
        result.is_library = is_library(file);
    }
    return result;
}

struct source_line source_line_of_call(struct source_lines *lines, const void *return_address)
{
    return line_of(lines, (Dwarf_Addr)(uintptr_t)return_address - 1);
}

struct source_line source_line_of_function(struct source_lines *lines, const void *function)
{
    return line_of(lines, (Dwarf_Addr)(uintptr_t)function);
}
