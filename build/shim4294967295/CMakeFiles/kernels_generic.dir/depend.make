# Empty dependencies file for kernels_generic.
# This may be replaced when dependencies are built.
