#pragma once

/// How this process takes memory from the system and gives it back. It is the program's to say: a
/// library leaves malloc as the application has it. With another C library than glibc nothing
/// happens.
namespace weft::cli {

/// Lets the system have back what was one large block, such as a request's body, as soon as it is
/// freed. Before there are threads.
void return_large_blocks();

/// Gives back what is free now, of all threads; takes about a millisecond.
void return_free_memory();

}  // namespace weft::cli
