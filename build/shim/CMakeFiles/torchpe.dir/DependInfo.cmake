
# Consider dependencies only in project.
set(CMAKE_DEPENDS_IN_PROJECT_ONLY OFF)

# The set of languages for which implicit dependencies are needed:
set(CMAKE_DEPENDS_LANGUAGES
  )

# The set of dependency files which are needed:
set(CMAKE_DEPENDS_DEPENDENCY_FILES
  "/work/main/torchpe/internal/ctorch/shim/attention.cc" "CMakeFiles/torchpe.dir/attention.cc.o" "gcc" "CMakeFiles/torchpe.dir/attention.cc.o.d"
  "/work/main/torchpe/internal/ctorch/shim/handles.cc" "CMakeFiles/torchpe.dir/handles.cc.o" "gcc" "CMakeFiles/torchpe.dir/handles.cc.o.d"
  "/work/main/torchpe/internal/ctorch/shim/linear.cc" "CMakeFiles/torchpe.dir/linear.cc.o" "gcc" "CMakeFiles/torchpe.dir/linear.cc.o.d"
  "/work/main/torchpe/internal/ctorch/shim/norm.cc" "CMakeFiles/torchpe.dir/norm.cc.o" "gcc" "CMakeFiles/torchpe.dir/norm.cc.o.d"
  "/work/main/torchpe/internal/ctorch/shim/ops.cc" "CMakeFiles/torchpe.dir/ops.cc.o" "gcc" "CMakeFiles/torchpe.dir/ops.cc.o.d"
  "/work/main/torchpe/internal/ctorch/shim/optim.cc" "CMakeFiles/torchpe.dir/optim.cc.o" "gcc" "CMakeFiles/torchpe.dir/optim.cc.o.d"
  "/work/main/torchpe/internal/ctorch/shim/system.cc" "CMakeFiles/torchpe.dir/system.cc.o" "gcc" "CMakeFiles/torchpe.dir/system.cc.o.d"
  )

# Targets to which this target links.
set(CMAKE_TARGET_LINKED_INFO_FILES
  )

# Fortran module output directory.
set(CMAKE_Fortran_TARGET_MODULE_DIR "")
