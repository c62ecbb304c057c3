# Empty dependencies file for kernels_avx2.
# This may be replaced when dependencies are built.
