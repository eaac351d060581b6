#pragma once

#include <cstddef>

namespace weft {

/// The bounds of one rendering of a chat template. Beyond the bound of the output a rendering ends
/// with kTemplateOutput, beyond any other with kTemplateLimit.
struct TemplateLimits {
  /// The steps of a rendering. Each statement, expression, call and walked element is a step, and
  /// so are 64 bytes of text that is read character by character (1024 bytes that are only counted
  /// or compared). The heaviest public templates take some hundred for a message, so the bound
  /// allows thousands of messages; all steps take about a second.
  std::size_t steps = 1'000'000;
  /// Bytes of the rendered prompt: about a million tokens.
  std::size_t output_bytes = std::size_t{4} << 20;
  /// Bytes that a rendering holds at once: values (none is freed before the end), temporary parts,
  /// and the prompt. A prompt that is joined piece by piece counts every intermediate string. The
  /// conversation itself is not copied and does not count.
  std::size_t memory_bytes = std::size_t{64} << 20;
};

namespace jinja {

/// Nested blocks and parentheses. Real templates stay below 20.
inline constexpr std::size_t kMaxNesting = 64;
/// Nested calls of macros. A macro that walks a JSON schema needs the schema's depth.
inline constexpr std::size_t kMaxCalls = 64;
/// Nodes of the tree that are under evaluation at once, over all nested macros. Each takes two or
/// three frames of some hundred bytes (a few kilobytes under AddressSanitizer), so the sum stays
/// below the 8 MiB of a thread's stack.
inline constexpr std::size_t kMaxEvaluationDepth = 1000;
/// Nesting depth of lists and objects when they are compared, printed or read from JSON.
inline constexpr std::size_t kMaxDataDepth = 100;
/// Bytes of a template's source. The longest public templates have some 30 KiB.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;
/// Elements of a range(), the bound of Jinja's sandbox.
inline constexpr std::size_t kMaxRange = 100'000;
/// Work in one step, so that no step takes much more than a microsecond: bytes that are counted or
/// compared, bytes that are decoded, mapped or searched for a string, and names that are looked at.
inline constexpr std::size_t kScannedBytesPerStep = 1024;
inline constexpr std::size_t kReadBytesPerStep = 64;
inline constexpr std::size_t kLooksPerStep = 32;
/// Digits of a formatted number: more than the 1074 digits that a double can have.
inline constexpr int kMaxPrecision = 100'000;
/// Bytes of a name in a template. Names are compared byte by byte at every use.
inline constexpr std::size_t kMaxNameBytes = 1000;
/// Bytes of an error's message, because a template may make one of megabytes.
inline constexpr std::size_t kMaxMessageBytes = 4096;

}  // namespace jinja
}  // namespace weft
