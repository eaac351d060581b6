#pragma once

namespace weft::bench {

/// The server's process: a Server over the real pipeline and a LetterDevice, driven by lines on
/// standard input. It writes its port first, then one line for each:
///
///   period MICROSECONDS   of a step from now on                   -> ok
///   usage                 -> seconds in user mode, in the kernel, tokens given, KiB of RssAnon
///   raw SECONDS MESSAGE   sends it on all connections: raw_sender.h  -> messages sent
///
/// and ends with its input. Returns the process's status.
int serve_letters(int io_threads);

/// How many rows the device has.
inline constexpr int kServedRows = 2048;

/// Lets the process open as many files as it may; returns how many that is.
unsigned long raise_file_limit();

}  // namespace weft::bench
