#include "weft/net/tuning/job_request.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "weft/net/api/fields/body_fields.h"

namespace weft {
namespace {

constexpr std::int64_t kMostEpochs = 1'000;
constexpr std::int64_t kMostBatch = 65'536;
/// Numbers beyond it are mistakes.
constexpr double kMostMultiplier = 1e6;
constexpr double kMostAlpha = 1e6;
constexpr std::int64_t kMostRank = 4'096;
/// The rest is scaled by 1 / (1 - dropout), which must stay a modest number.
constexpr double kMostDropout = 0.99;
/// OpenAI's bounds.
constexpr std::size_t kLongestSuffix = 64;
constexpr std::size_t kMostMetadata = 16;
constexpr std::size_t kLongestMetadataName = 64;
constexpr std::size_t kLongestMetadata = 512;
constexpr std::array<std::string_view, 7> kTargets = {"q", "k", "v", "o", "gate", "up", "down"};

/// Whether a field is there and is not "auto".
bool is_set(const BodyFields& fields, std::string_view name) {
  const auto value = fields.any(name);
  std::string_view text;
  return value && (value->get(text) != simdjson::SUCCESS || text != "auto");
}

std::optional<std::int64_t> integer_or_auto(const BodyFields& fields, std::string_view name,
                                            std::int64_t most) {
  if (!is_set(fields, name)) return std::nullopt;
  return fields.integer(name, 1, most);
}

/// Takes a number that is more than `low`, or that as well if `with_low`.
std::optional<double> number_or_auto(const BodyFields& fields, std::string_view name, double most,
                                     bool with_low = false) {
  if (!is_set(fields, name)) return std::nullopt;
  const auto number = fields.number(name);
  if (number && (*number < 0 || (*number == 0 && !with_low) || *number > most)) {
    fields.fail(name, "must be " + std::string(with_low ? "0 .. " : "more than 0, at most ") +
                          std::to_string(most));
  }
  return number;
}

void take_targets(const BodyFields& fields, JobSettings& settings) {
  constexpr std::string_view kName = "lora_target_modules";
  if (!is_set(fields, kName)) return;
  const auto list = fields.array(kName);
  if (!list) return;
  for (const simdjson::dom::element one : *list) {
    std::string_view name;
    if (one.get(name) != simdjson::SUCCESS || std::ranges::find(kTargets, name) == kTargets.end())
      return fields.fail(kName, "must be a list of q, k, v, o, gate, up and down");
    if (std::ranges::find(settings.targets, name) == settings.targets.end())
      settings.targets.emplace_back(name);
  }
  if (settings.targets.empty()) fields.fail(kName, "must name one matrix or more");
}

void take_hyperparameters(const BodyFields& fields, JobSettings& settings) {
  settings.batch = integer_or_auto(fields, "batch_size", kMostBatch);
  settings.epochs = integer_or_auto(fields, "n_epochs", kMostEpochs);
  settings.rate_multiplier = number_or_auto(fields, "learning_rate_multiplier", kMostMultiplier);
  settings.rank = integer_or_auto(fields, "lora_rank", kMostRank).value_or(settings.rank);
  settings.alpha = number_or_auto(fields, "lora_alpha", kMostAlpha).value_or(0);
  settings.dropout = number_or_auto(fields, "lora_dropout", kMostDropout, true).value_or(0);
  take_targets(fields, settings);
  fields.finish();
}

void take_method(const BodyFields& body, JobSettings& settings) {
  const BodyFields method = body.needed_child("method");
  const std::string_view type = method.needed_text("type");
  if (!type.empty() && type != "supervised") {
    return method.fail("type", shown(type) + " is not supported: it must be supervised",
                       api_code::kUnsupported);
  }
  if (method.has("supervised")) {
    const BodyFields supervised = method.needed_child("supervised");
    if (supervised.has("hyperparameters"))
      take_hyperparameters(supervised.needed_child("hyperparameters"), settings);
    supervised.finish();
  }
  method.finish();
}

void take_metadata(const BodyFields& body, JobRecord& job) {
  const auto object = body.object("metadata");
  if (!object) return;
  if (object->size() > kMostMetadata) return body.fail("metadata", "has more than 16 fields");
  for (const simdjson::dom::key_value_pair one : *object) {
    std::string_view text;
    const bool is_text = one.value.get(text) == simdjson::SUCCESS;
    if (!is_text || one.key.size() > kLongestMetadataName || text.size() > kLongestMetadata)
      return body.fail("metadata",
                       "must have texts of at most 512 bytes under names of at most 64");
    job.metadata.emplace_back(one.key, text);
  }
}

/// Refuses what OpenAI's API has and this server has not.
void refuse_others(const BodyFields& body) {
  if (body.has("validation_file"))
    body.fail("validation_file", "is not supported: it must be null", api_code::kUnsupported);
  const auto integrations = body.array("integrations");
  if (integrations && integrations->size() > 0)
    body.fail("integrations", "are not supported", api_code::kUnsupported);
}

void take_suffix(const BodyFields& body, JobRecord& job) {
  job.suffix = body.text("suffix").value_or(std::string_view());
  const bool is_name = std::ranges::all_of(job.suffix, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!is_name || job.suffix.size() > kLongestSuffix)
    body.fail("suffix", "must be at most 64 letters, digits, dots, hyphens and underlines");
}

}  // namespace

ApiResult<JobRecord> read_job_request(std::string_view text) {
  const ParsedBody parsed(text);
  if (!parsed.object()) return parsed.object().error();
  const BodyFields body(*parsed.object());
  JobRecord job;
  job.model = body.needed_text("model");
  job.training_file = body.needed_text("training_file");
  take_suffix(body, job);
  constexpr std::int64_t kMostSeed = std::numeric_limits<std::int32_t>::max();
  const auto seed = body.integer("seed", 0, kMostSeed);
  job.settings.seed = seed ? static_cast<std::uint64_t>(*seed) : std::random_device()() >> 1U;
  if (body.has("method") && body.has("hyperparameters"))
    body.fail("hyperparameters", "is the older form of method: give one of them");
  if (body.has("method")) take_method(body, job.settings);
  if (body.has("hyperparameters"))
    take_hyperparameters(body.needed_child("hyperparameters"), job.settings);
  take_metadata(body, job);
  refuse_others(body);
  if (auto error = body.finish()) return *std::move(error);
  return job;
}

}  // namespace weft
