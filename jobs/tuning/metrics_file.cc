#include "weft/jobs/tuning/metrics_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/core/io/file.h"
#include "weft/core/io/file_descriptor.h"
#include "weft/core/io/output.h"

namespace weft {
namespace {

constexpr std::string_view kMetricsHeading = "step,train_loss,learning_rate,grad_norm,tokens\n";

/// A line's numbers that are read again.
struct MetricsLine {
  std::int64_t step = 0;
  double loss = 0;
  std::int64_t tokens = 0;
};

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_metrics(std::string_view text, MetricsLine& line) {
  std::array<std::string_view, 5> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t end = i + 1 < fields.size() ? text.find(',') : text.size();
    if (end == std::string_view::npos) return false;
    fields[i] = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return read_number(fields[0], line.step) && read_number(fields[1], line.loss) &&
         read_number(fields[4], line.tokens);
}

}  // namespace

Result<MetricsFile::Left> MetricsFile::cut(std::int64_t step) const {
  std::string kept(kMetricsHeading);
  Left left;
  std::error_code missing;
  if (std::filesystem::exists(path_, missing)) {
    const auto whole = text();
    if (!whole) return whole.error();
    std::int64_t expected = 1;
    for (std::size_t begin = whole->find('\n') + 1; begin != 0;) {
      const std::size_t end = whole->find('\n', begin);
      MetricsLine line;
      if (end == std::string::npos) break;
      if (!read_metrics(std::string_view(*whole).substr(begin, end - begin), line)) break;
      if (line.step != expected || line.step > step) break;
      kept.append(*whole, begin, end + 1 - begin);
      left.loss = line.loss;
      left.tokens += line.tokens;
      begin = end + 1;
      ++expected;
    }
  }
  if (auto written = replace_file(path_, kept); !written) return written.error();
  return left;
}

Result<void> MetricsFile::append(std::span<const StepReport> steps) const {
  std::ostringstream lines;
  for (const StepReport& step : steps) {
    lines << step.step << ',' << step.loss << ',' << step.rate << ',' << step.norm << ','
          << step.tokens << '\n';
  }
  const std::string text = lines.str();
  const FileDescriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const ::off_t end = file.is_open() ? ::lseek(file.get(), 0, SEEK_END) : -1;
  if (end >= 0 && file.write(std::as_bytes(std::span(text))) && ::fsync(file.get()) == 0) return {};
  Error error{FileErrc::kCannotWrite,
              path_.string() + " (" + std::generic_category().message(errno) + ")"};
  // The caller appends these steps again, which must not go behind a part of them.
  if (end >= 0 && ::ftruncate(file.get(), end) != 0) error.detail += "; it has a part of the lines";
  return error;
}

Result<std::string> MetricsFile::text() const { return read_text_file(path_, kAnySize); }

}  // namespace weft
