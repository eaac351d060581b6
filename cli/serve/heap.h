#pragma once

/// How this process takes memory from the system and gives it back. The program sets this, because
/// a library must not change an application's malloc. With another C library than glibc the
/// functions do nothing.
namespace weft::cli {

/// Returns the memory of a large block, such as a request's body, to the system as soon as it is
/// freed. To be called before there are threads.
void return_large_blocks();

/// Gives free memory of all threads back to the system; takes about a millisecond.
void return_free_memory();

}  // namespace weft::cli
