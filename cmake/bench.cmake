# Every bench/NAME.cpp as a program bench_NAME. oneDNN is the peer that products are compared with, never a part of heed.
# (Debian's dnnl-config.cmake insists on OpenCL, which a CPU does not need.)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)  # what oneDNN runs on
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  add_executable(bench_${name} ${source})
  target_link_libraries(bench_${name} PRIVATE heed_library heed_cli heed_flags ${DNNL_LIBRARY} OpenMP::OpenMP_CXX)
  target_include_directories(bench_${name} SYSTEM PRIVATE ${DNNL_INCLUDE_DIR})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endforeach()
