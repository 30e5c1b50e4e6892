# Removes the files of the last `cmake --install` of a build (in install_manifest.txt) and the
# directories that it created (in install_directories.txt), if they are empty.
#
#   cmake -D build=BUILD -P cmake/uninstall.cmake
if(NOT EXISTS "${build}/install_manifest.txt")
    message(FATAL_ERROR "nothing to uninstall: ${build}/install_manifest.txt does not exist")
endif()

file(STRINGS "${build}/install_manifest.txt" files)
foreach(file ${files})
    set(file "$ENV{DESTDIR}${file}")
    file(REMOVE "${file}")
    if(EXISTS "${file}" OR IS_SYMLINK "${file}")
        message(FATAL_ERROR "cannot remove ${file}: run it as the user who installed it")
    endif()
    message(STATUS "Removed ${file}")
endforeach()

set(directories "")
if(EXISTS "${build}/install_directories.txt")
    file(STRINGS "${build}/install_directories.txt" directories)
endif()
list(REMOVE_DUPLICATES directories)
list(SORT directories ORDER DESCENDING) # a directory before its parent
foreach(directory ${directories})
    set(directory "$ENV{DESTDIR}${directory}")
    file(GLOB entries "${directory}/*" "${directory}/.*")
    list(FILTER entries EXCLUDE REGEX "/\\.\\.?$")
    if(IS_DIRECTORY "${directory}" AND NOT entries)
        file(REMOVE_RECURSE "${directory}")
        message(STATUS "Removed ${directory}")
    endif()
endforeach()
file(REMOVE "${build}/install_manifest.txt" "${build}/install_directories.txt")
