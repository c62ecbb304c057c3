file(REMOVE_RECURSE
  "CMakeFiles/kernels_avx2.dir/kernels.cc.o"
  "CMakeFiles/kernels_avx2.dir/kernels.cc.o.d"
)

# Per-language clean rules from dependency scanning.
foreach(lang CXX)
  include(CMakeFiles/kernels_avx2.dir/cmake_clean_${lang}.cmake OPTIONAL)
endforeach()
