#include "weft/gpu/cuda/tuning/tuning.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "weft/core/encodings.h"
#include "weft/core/io/file.h"
#include "weft/core/words.h"
#include "weft/gpu/device_error.h"

namespace weft::cuda {
namespace {

constexpr std::string_view kMagic = "weft-tuning";
constexpr std::string_view kPhi = "phi";

template <class Number>
std::optional<Number> number_of(std::string_view word) {
  Number number{};
  const char* const begin = word.data();
  const char* const end = begin + word.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

/// Reads the first line. Returns an error message, or nothing.
std::string_view read_header(std::string_view line, int& version, std::string& gpu) {
  if (next_word(line) != kMagic) return "the first line is not weft-tuning, version, GPU";
  version = number_of<int>(next_word(line)).value_or(0);
  if (version < 1 || version > TuningTable::kVersion) return "a version that is not known";
  gpu = next_word(line);
  gpu.append(line);
  while (!gpu.empty() && (gpu.back() == ' ' || gpu.back() == '\t' || gpu.back() == '\r')) {
    gpu.pop_back();
  }
  return gpu.empty() ? "no name of a GPU" : "";
}

/// Whether a file of this version has measurements of encoded weights.
bool measures_encoded(int version) { return version > 1; }

bool is_of_encoded(std::string_view line) {
  return std::ranges::find(kEncodings, next_word(line), &Encoding::name) != kEncodings.end();
}

bool counts(std::string_view line) {
  const std::string_view word = next_word(line);
  return !word.empty() && word.front() != '#';
}

Error bad_line(std::string_view name, int line, std::string_view wrong) {
  std::string detail(name);
  detail.append(":").append(std::to_string(line)).append(": ").append(wrong);
  return {DeviceErrc::kBadTuning, std::move(detail)};
}

}  // namespace

Result<TuningTable> TuningTable::parse(std::string_view text, std::string_view name) {
  std::optional<TuningTable> table;
  std::string notes;
  int number = 0;
  int version = 0;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    ++number;
    if (!counts(line)) {
      if (line.find('#') != std::string_view::npos) notes.append(line).append("\n");
      continue;
    }
    std::string_view wrong;
    if (!table) {
      std::string gpu;
      wrong = read_header(line, version, gpu);
      table.emplace(std::move(gpu));
    } else if (measures_encoded(version) || !is_of_encoded(line)) {
      std::string_view rest = line;
      wrong = next_word(rest) == kPhi ? table->read_phi(rest) : table->linear_.read_line(line);
    }
    if (!wrong.empty()) return bad_line(name, number, wrong);
  }
  if (!table) return bad_line(name, 1, "the first line is not weft-tuning, version, GPU");
  table->notes_ = std::move(notes);
  return *std::move(table);
}

Result<TuningTable> TuningTable::read(const std::string& file) {
  const auto text = read_text_file(file, kMaxBytes);
  if (!text) return text.error();
  return parse(*text, file);
}

std::string_view TuningTable::read_phi(std::string_view line) {
  const std::string_view model = next_word(line);
  if (model.empty()) return "no name of a model";
  const auto phi = number_of<float>(next_word(line));
  if (!phi || !std::isfinite(*phi) || std::abs(*phi) > kMaxPhi) {
    return "phi is a number in -10000 .. 10000";
  }
  if (!next_word(line).empty()) return "more words than an entry has";
  phi_.insert_or_assign(std::string(model), *phi);
  return "";
}

std::string TuningTable::print() const {
  std::string text(kMagic);
  text.append(" ").append(std::to_string(kVersion)).append(" ").append(gpu_).append("\n");
  text.append(notes_).append(linear_.print());
  for (const auto& [model, phi] : phi_) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), phi).ptr;
    text.append(kPhi).append(" ").append(model).append(" ");
    text.append(digits.data(), end).append("\n");
  }
  return text;
}

void TuningTable::set_phi(const std::string& model, std::optional<float> phi) {
  if (phi) {
    phi_.insert_or_assign(model, *phi);
  } else {
    phi_.erase(model);
  }
}

Tuning TuningTable::tuning_of(const Program& program) const {
  Tuning tuning{.linear = linear_};
  auto found = phi_.find(tuned_name(program));
  if (found == phi_.end()) found = phi_.find(program.family);
  if (found != phi_.end()) {
    tuning.unified_softmax = true;
    tuning.phi = found->second;
  }
  return tuning;
}

std::string tuned_name(const Program& program) {
  std::string name = program.family;
  // A family's name comes from its spec and may contain any characters.
  const auto blank = [](char letter) { return static_cast<unsigned char>(letter) <= ' '; };
  std::ranges::replace_if(name, blank, '_');
  return name + "-" + std::to_string(program.parameters);
}

}  // namespace weft::cuda
