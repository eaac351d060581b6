#pragma once

/// Before a loop over registers: unrolled whatever the optimizer thinks of its size, so that an
/// array indexed by it lives in registers.
#if defined(__clang__)
#define WEFT_UNROLL _Pragma("unroll")
#else
#define WEFT_UNROLL _Pragma("GCC unroll 32")
#endif
