#include "weft/actors/loading/generation_config.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/actors/engine_error.h"
#include "weft/core/io/file.h"
#include "weft/text/json/json_text.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t kMaxGenerationConfig = std::size_t{1} << 20U;  // real files have some lines
constexpr std::size_t kMaxGenerationDepth = 32;
constexpr double kMaxCount = std::numeric_limits<std::int32_t>::max();

/// 1.5, not 1.5E0.
std::string shown(const json::value& value) {
  if (!value.is_double()) return json::serialize(value);
  std::ostringstream text;
  text << std::setprecision(15) << value.get_double();
  return text.str();
}

class GenerationReader {
 public:
  GenerationReader(std::string file, const json::object& fields)
      : file_(std::move(file)), fields_(fields) {}

  Result<GenerationDefaults> read(GenerationDefaults defaults) {
    SamplingParams& sampling = defaults.sampling;
    take("temperature", 0, 100, sampling.temperature);
    take("top_p", 0, 1, sampling.top_p);
    take("min_p", 0, 1, sampling.min_p);
    take("repetition_penalty", 0.01, 100, sampling.penalties.repetition);
    // vLLM has -1 for all tokens too.
    take("top_k", -1, kMaxCount, sampling.top_k);
    if (sampling.top_k < 0) sampling.top_k = 0;
    take("max_new_tokens", 1, kMaxCount, defaults.max_tokens);
    take_ends(defaults.end_tokens);
    take("forced_bos_token_id", 0, kMaxCount, defaults.forced_bos);
    if (error_) return *error_;
    return defaults;
  }

 private:
  /// Returns null if the field is missing, or null in the file.
  [[nodiscard]] const json::value* find(std::string_view name) const {
    const json::value* found = fields_.if_contains(name);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  void fail(std::string_view name, const json::value& value, const std::string& wanted) {
    if (error_) return;
    error_ = Error{EngineErrc::kBadRequest,
                   file_ + ": " + std::string(name) + ": " + shown(value) + " is no " + wanted};
  }

  template <class T>
  void take(std::string_view name, double low, double high, T& to) {
    const json::value* value = find(name);
    if (value == nullptr) return;
    const double number = value->is_number() ? value->to_number<double>() : high + 1;
    const auto narrow = static_cast<T>(number >= low && number <= high ? number : low);
    constexpr bool kIsCount = std::is_integral_v<T>;
    if (number < low || number > high || (kIsCount && static_cast<double>(narrow) != number)) {
      fail(name, *value,
           std::string(kIsCount ? "whole number" : "number") + " in " + shown(json::value(low)) +
               " .. " + shown(json::value(high)));
    }
    to = narrow;
  }

  void take_ends(std::vector<TokenId>& ends) {
    const json::value* value = find("eos_token_id");
    if (value == nullptr) return;
    const json::array one{*value};
    for (const json::value& token : value->is_array() ? value->get_array() : one) {
      const std::int64_t* const id = token.if_int64();
      if (id == nullptr || *id < 0 || *id > std::numeric_limits<TokenId>::max())
        return fail("eos_token_id", token, "token");
      ends.push_back(static_cast<TokenId>(*id));
    }
  }

  std::string file_;
  const json::object& fields_;
  std::optional<Error> error_;
};

}  // namespace

Result<GenerationDefaults> read_generation_config(const std::string& wanted, const fs::path& model,
                                                  const SamplingParams& otherwise) {
  GenerationDefaults defaults{.sampling = otherwise};
  if (wanted.empty()) return defaults;
  std::error_code ignored;
  const bool is_auto = wanted == "auto";
  const fs::path folder = !is_auto                           ? fs::path(wanted)
                          : fs::is_directory(model, ignored) ? model
                                                             : model.parent_path();
  const fs::path file = folder / "generation_config.json";
  if (is_auto && !fs::exists(file, ignored)) return defaults;
  const auto text = read_text_file(file, kMaxGenerationConfig);
  if (!text) return text.error();
  std::string problem;
  const json::value config = parse_json(*text, kMaxGenerationDepth, problem);
  if (problem.empty() && !config.is_object()) problem = "is no object";
  if (!problem.empty()) return Error{EngineErrc::kBadRequest, file.string() + ": " + problem};
  return GenerationReader(file.string(), config.get_object()).read(std::move(defaults));
}

}  // namespace weft
