# Compiler settings that hold for every target, and the switches that the presets set.
option(LFP_TESTS "build C tests and fuzz targets" OFF)
option(LFP_SANITIZE "build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(LFP_COST "build fuzz targets that count what an input costs (tests/fuzz/cost.c)" OFF)
option(LFP_FUZZ "build fuzz targets with libFuzzer (needs clang); otherwise they only replay the corpus" OFF)

# An editable installation and each preset compile the same sources: where ccache is installed, once.
if(NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
  find_program(LFP_CCACHE ccache)
  if(LFP_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${LFP_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${LFP_CCACHE})
  endif()
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17) # one file of lft_ref around a library that C has no match for
set(CMAKE_CXX_STANDARD_REQUIRED ON)
add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Werror -Wshadow -Wpointer-arith -fno-common -g
                    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)

# The product keeps its assertions: an assert names a bug of ours, and a wrong number is worse than a stop.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

# Strangers send to these programs. The sanitizers find more, and some exclude these options. The compiler is asked for
# each, since -fcf-protection is x86's and clang lacks some. tests/py/project/test_hardening.py reads the programs.
if(NOT LFP_SANITIZE)
  include(CheckCCompilerFlag)
  include(CheckCSourceCompiles)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "LFP_HAS${flag}" has)
    check_c_compiler_flag("-Werror ${flag}" ${has})
    if(${has})
      add_compile_options(${flag})
      add_link_options(${flag}) # the linker compiles, too, where it optimises the program as a whole
    endif()
  endforeach()
  # 3 counts what malloc gave and not only what has a fixed size; glibc warns where the compiler cannot.
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("#include <string.h>\nint main(void) { return 0; }" LFP_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(fortify $<IF:$<BOOL:${LFP_FORTIFY_3}>,3,2>)
  add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
                      $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${fortify}>)
  set(in_module $<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>)
  add_compile_options($<IF:${in_module},-fPIC,-fPIE>)
  add_link_options($<$<NOT:${in_module}>:-pie> -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

add_link_options(LINKER:--as-needed) # a tool that enters no sandbox needs no libseccomp

if(LFP_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(LFP_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  add_link_options(-fsanitize=address,undefined)
  # gcc says so by itself; clang before 21 does not
  add_compile_definitions($<$<C_COMPILER_ID:Clang>:__SANITIZE_ADDRESS__=1>)
endif()

if(LFP_COST)
  add_compile_options(-fsanitize-coverage=trace-pc)
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap>=1.10)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd>=1.4)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib>=1.2.11)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma>=5.2)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4>=1.9)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp>=2.5)
find_package(Threads REQUIRED)

# The packet path crosses many small files: let the linker inline across them where nothing is being hunted. Tests use
# the plain half of the objects (Tool.cmake): 160 programs that the linker optimises as a whole take minutes.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LFP_SANITIZE)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT LFP_IPO LANGUAGES C OUTPUT LFP_IPO_WHY)
  if(LFP_IPO)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
    add_compile_options(-ffat-lto-objects)
  endif()
endif()
