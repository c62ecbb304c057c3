# Empty dependencies file for kernels_avx512.
# This may be replaced when dependencies are built.
