file(REMOVE_RECURSE
  "/work/main/lib/libtorchpe.pdb"
  "/work/main/lib/libtorchpe.so"
  "CMakeFiles/torchpe.dir/attention.cc.o"
  "CMakeFiles/torchpe.dir/attention.cc.o.d"
  "CMakeFiles/torchpe.dir/handles.cc.o"
  "CMakeFiles/torchpe.dir/handles.cc.o.d"
  "CMakeFiles/torchpe.dir/linear.cc.o"
  "CMakeFiles/torchpe.dir/linear.cc.o.d"
  "CMakeFiles/torchpe.dir/norm.cc.o"
  "CMakeFiles/torchpe.dir/norm.cc.o.d"
  "CMakeFiles/torchpe.dir/ops.cc.o"
  "CMakeFiles/torchpe.dir/ops.cc.o.d"
  "CMakeFiles/torchpe.dir/optim.cc.o"
  "CMakeFiles/torchpe.dir/optim.cc.o.d"
  "CMakeFiles/torchpe.dir/system.cc.o"
  "CMakeFiles/torchpe.dir/system.cc.o.d"
)

# Per-language clean rules from dependency scanning.
foreach(lang CXX)
  include(CMakeFiles/torchpe.dir/cmake_clean_${lang}.cmake OPTIONAL)
endforeach()
