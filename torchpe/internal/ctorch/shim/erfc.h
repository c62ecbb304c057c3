// erfc.h: made by scripts/fit_erfc.py; the form is in kernels.cc. Largest error of erfc: 1.3e-09.
#pragma once
#define ERFC_P 0.4f
#define ERFC_1 0.225040261f
#define ERFC_2 0.235755689f
#define ERFC_3 0.141279593f
#define ERFC_4 0.4086016f
#define ERFC_5 -0.379306938f
#define ERFC_6 0.693751833f
#define ERFC_7 -0.401150962f
#define ERFC_8 0.0760289227f
