# Empty dependencies file for torchpe.
# This may be replaced when dependencies are built.
