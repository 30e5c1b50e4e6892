# Records which directories an installation creates, for cmake/uninstall.cmake.  Included before the
# first installation rule, so that the record precedes the files.  tests/install/run fails if a
# destination is missing here.
set(destinations
    ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR} ${CMAKE_INSTALL_LIBDIR}/cmake/tamis
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_LIBDIR}/redis/modules
    ${CMAKE_INSTALL_DOCDIR} ${CMAKE_INSTALL_MANDIR}/man1 ${CMAKE_INSTALL_MANDIR}/man3
    ${CMAKE_INSTALL_MANDIR}/man5 ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    ${CMAKE_INSTALL_DATADIR}/zsh/site-functions ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
    ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(CODE "
    foreach(directory ${destinations})
        get_filename_component(directory \"\${directory}\" ABSOLUTE BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
        while(NOT EXISTS \"\$ENV{DESTDIR}\${directory}\")
            file(APPEND \"${PROJECT_BINARY_DIR}/install_directories.txt\" \"\${directory}\\n\")
            get_filename_component(directory \"\${directory}\" DIRECTORY)
        endwhile()
    endforeach()")
