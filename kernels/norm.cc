#include "weft/kernels/norm.h"
