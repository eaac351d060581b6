#pragma once

#include <cstddef>

namespace weft {

/// The bounds of one rendering of a chat template. Past them it ends with kTemplateLimit, past the
/// bound of the output with kTemplateOutput.
struct TemplateLimits {
  /// Statements, expressions, calls, elements walked, and 64 bytes of text read character by
  /// character (1024 where they are only counted or compared). The heaviest public templates take
  /// some hundred for a message, so this is thousands of messages; all of it is about a second.
  std::size_t steps = 1'000'000;
  /// Bytes of the rendered prompt: about a million tokens.
  std::size_t output_bytes = std::size_t{4} << 20;
  /// Bytes that a rendering holds at once: values, of which none is freed before the end, what they
  /// are put together in, and the prompt. A prompt that is put together piece by piece counts every
  /// intermediate string. The conversation itself is not copied and does not count.
  std::size_t memory_bytes = std::size_t{64} << 20;
};

namespace jinja {

/// Blocks and parentheses inside each other. People's templates stay below 20.
inline constexpr std::size_t kMaxNesting = 64;
/// Macros that wait for each other. A macro that walks a JSON schema needs the schema's depth.
inline constexpr std::size_t kMaxCalls = 64;
/// Nodes of the tree that are being evaluated at once, over all waiting macros. Each takes two or
/// three frames of some hundred bytes (a few kilobytes under AddressSanitizer), so this stays below
/// the 8 MiB of a thread's stack.
inline constexpr std::size_t kMaxEvaluationDepth = 1000;
/// Lists and objects inside each other when they are compared, printed or read from JSON.
inline constexpr std::size_t kMaxDataDepth = 100;
/// Bytes of a template's source. The longest public ones have some 30 KiB.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;
/// Elements of a range(), as Jinja's sandbox has it.
inline constexpr std::size_t kMaxRange = 100'000;
/// Work for one step, so that none takes much more than a microsecond: bytes that are counted or
/// compared, bytes that are decoded, mapped or searched for a string, names that are looked at.
inline constexpr std::size_t kScannedBytesPerStep = 1024;
inline constexpr std::size_t kReadBytesPerStep = 64;
inline constexpr std::size_t kLooksPerStep = 32;
/// Digits of a number that is formatted: more than the 1074 that a double can have.
inline constexpr int kMaxPrecision = 100'000;
/// Bytes of a name in a template. Names are compared byte by byte at every use.
inline constexpr std::size_t kMaxNameBytes = 1000;
/// Bytes of an error's message, of which a template may make megabytes.
inline constexpr std::size_t kMaxMessageBytes = 4096;

}  // namespace jinja
}  // namespace weft
