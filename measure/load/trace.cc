#include "weft/measure/load/trace.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/core/words.h"
#include "weft/measure/load/trace_line.h"
#include "weft/measure/measure_error.h"

namespace weft::measure {
namespace {

// The longest trace that is read. The published traces of a day are a tenth of it.
constexpr std::size_t kMostBytes = 256ULL << 20U;
// The largest factor on a trace's times; a longer load would never be waited for.
constexpr double kMostScale = 1e6;

using Lines = std::vector<TraceLine>;

Error bad_line(std::string_view name, std::size_t line, std::string_view wrong) {
  std::string detail(name);
  detail.append(":").append(std::to_string(line)).append(": ").append(wrong);
  return {MeasureErrc::kBadTrace, std::move(detail)};
}

bool is_blank(std::string_view line) { return next_word(line).empty(); }

/// Reads all lines from `number` on with `read`.
template <class Read>
Result<Lines> read_lines(std::string_view text, std::string_view name, std::size_t number,
                         Read read) {
  Lines lines;
  for (; !text.empty(); ++number) {
    std::string_view line = next_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_blank(line)) continue;
    TraceLine one;
    const std::string_view wrong = read(line, one);
    if (!wrong.empty()) return bad_line(name, number, wrong);
    lines.push_back(one);
  }
  if (lines.empty()) return bad_line(name, number, "it has no requests");
  return lines;
}

Result<Lines> read_any(std::string_view text, std::string_view name) {
  std::string_view rest = text;
  std::string_view head = next_line(rest);
  if (head.ends_with('\r')) head.remove_suffix(1);
  if (head == kAzureHead) return read_lines(rest, name, 2, read_azure_line);
  if (next_word(head).starts_with('{')) {
    MooncakeReader reader;
    return read_lines(text, name, 1, [&reader](std::string_view line, TraceLine& one) {
      return reader.read(line, one);
    });
  }
  return bad_line(name, 1,
                  "this is neither Azure's CSV, which begins with the line \"" +
                      std::string(kAzureHead) + "\", nor Mooncake's JSON lines");
}

/// Returns the mistake in the options; empty when they are valid.
std::string_view wrong_with(const TraceOptions& options) {
  // NaN fails each of these comparisons.
  const bool scales = options.time_scale > 0 && options.time_scale <= kMostScale;
  const bool lasts = options.seconds >= 0;
  if (!scales) return "a trace's time scale is greater than 0 and at most 1000000";
  if (!lasts) return "a trace's seconds are 0 or more";
  if (options.most_prompt < 0 || options.most_output < 0) {
    return "the most tokens of a trace's requests are 0 or more";
  }
  return "";
}

std::int32_t within(std::int32_t tokens, std::int32_t most) {
  return std::max(most > 0 ? std::min(tokens, most) : tokens, 1);
}

std::vector<Arrival> arrivals_of(Lines lines, const TraceOptions& options) {
  std::ranges::stable_sort(lines, {}, &TraceLine::at);
  if (options.requests > 0 && lines.size() > options.requests) lines.resize(options.requests);
  std::vector<Arrival> arrivals;
  arrivals.reserve(lines.size());
  for (const TraceLine& line : lines) {
    const double at = static_cast<double>(line.at - lines.front().at) / 1e9;
    if (options.seconds > 0 && at >= options.seconds) break;
    arrivals.push_back({at * options.time_scale, within(line.prompt, options.most_prompt),
                        within(line.output, options.most_output), options.cls});
  }
  return arrivals;
}

}  // namespace

Result<std::vector<Arrival>> parse_trace(std::string_view text, std::string_view name,
                                         const TraceOptions& options) {
  const std::string_view wrong = wrong_with(options);
  if (!wrong.empty()) return Error{MeasureErrc::kBadLoad, std::string(wrong)};
  Result<Lines> lines = read_any(text, name);
  if (!lines) return lines.error();
  return arrivals_of(*std::move(lines), options);
}

Result<std::vector<Arrival>> read_trace(const std::filesystem::path& path,
                                        const TraceOptions& options) {
  const auto text = read_text_file(path, kMostBytes);
  if (!text) return text.error();
  return parse_trace(*text, path.string(), options);
}

}  // namespace weft::measure
