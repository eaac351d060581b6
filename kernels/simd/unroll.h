#pragma once

/// Put before a loop over registers: the compiler unrolls it whatever its size, so an array indexed
/// by its variable stays in registers.
#if defined(__clang__)
#define WEFT_UNROLL _Pragma("unroll")
#else
#define WEFT_UNROLL _Pragma("GCC unroll 32")
#endif
