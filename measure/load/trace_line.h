#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string_view>

namespace weft::measure {

/// The content of one line of a trace.
struct TraceLine {
  std::int64_t at = 0;  ///< nanoseconds, counted from one moment for all lines of a trace
  std::int32_t prompt = 0;
  std::int32_t output = 0;
};

/// The first line of Azure's format.
inline constexpr std::string_view kAzureHead = "TIMESTAMP,ContextTokens,GeneratedTokens";

/// Reads a line such as 2023-11-16 18:17:03.9799600,4808,10 into `read`; the fraction may be
/// missing, and "+00:00" may follow the time. Returns the line's mistake; empty when there is none.
[[nodiscard]] std::string_view read_azure_line(std::string_view line, TraceLine& read);

/// Reads Mooncake's lines. Keeps its buffers from line to line. Owner only.
class MooncakeReader {
 public:
  /// Reads {"timestamp": 40, "input_length": 23769, "output_length": 3, "hash_ids": [...]}. The
  /// result is like read_azure_line()'s.
  [[nodiscard]] std::string_view read(std::string_view line, TraceLine& read);

 private:
  simdjson::dom::parser parser_;
};

}  // namespace weft::measure
