# Congestion controls: each bpf/lfp_*.bpf.c becomes an object that is embedded in rttcp itself, so that there is no file
# to look for.
# Without clang or libbpf rttcp is built without them, and says so when it is asked for one.
set(CC_DIR ${CMAKE_CURRENT_SOURCE_DIR}/cc)
set(CC_NAMES cpeak fast hstcp htcp scalable xys xys_tx_start)
find_program(CC_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19)
find_program(CC_STRIP NAMES llvm-strip llvm-strip-14 llvm-strip-15 llvm-strip-16 llvm-strip-17 llvm-strip-18
             llvm-strip-19)
pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.0)

if(CC_CLANG AND CC_STRIP AND LIBBPF_FOUND)
  enable_language(ASM)
  set(CC_OBJECTS)
  file(GLOB CC_HEADERS CONFIGURE_DEPENDS ${CC_DIR}/algo/*.h ${CC_DIR}/bpf/*.h ${CC_DIR}/tcp_glue.h)
  foreach(name ${CC_NAMES})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/cc/lfp_${name}.o)
    string(REPLACE _tx_start "" program ${name})
    set(defines)
    if(NOT program STREQUAL name) # for kernels that report a start of transmission by a separate callback
      set(defines -DLFP_HAS_TX_START=1)
    endif()
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/cc
      COMMAND ${CC_CLANG} -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_${CMAKE_SYSTEM_PROCESSOR}
              -Wall -Wextra -Werror -Wno-unused-parameter ${LIBBPF_CFLAGS} ${defines}
              -c ${CC_DIR}/bpf/lfp_${program}.bpf.c -o ${object}
      COMMAND ${CC_STRIP} -g ${object}
      DEPENDS ${CC_DIR}/bpf/lfp_${program}.bpf.c ${CC_HEADERS} COMMENT "BPF lfp_${name}" VERBATIM)
    list(APPEND CC_OBJECTS ${object})
  endforeach()
  set_source_files_properties(cc/src/objects.S PROPERTIES OBJECT_DEPENDS "${CC_OBJECTS}"
                              COMPILE_OPTIONS "-I${CMAKE_CURRENT_BINARY_DIR}/cc")
  set(CC_LINK link.c objects.S)
  set(CC_USES PkgConfig::LIBBPF)
else()
  message(STATUS "clang, llvm-strip or libbpf-dev not found: rttcp is built without its congestion controls")
  set(CC_LINK link_none.c)
  set(CC_USES)
endif()
lfp_room(rttcp_cc FOLDER cc/src
  SOURCES builtin.c catalog.c holder.c ledger.c loader.c ${CC_LINK}
  USES rttcp_report ${CC_USES})
