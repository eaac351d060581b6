#include "weft/net/api/fields/request_fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "weft/actors/request/stream_defaults.h"
#include "weft/net/api/fields/body_defaults.h"
#include "weft/net/api/fields/field_name.h"
#include "weft/net/api/fields/harmless_fields.h"
#include "weft/net/api/fields/prediction.h"
#include "weft/net/api/fields/sampling_fields.h"
#include "weft/text/output/stop_strings.h"
#include "weft/text/text_error.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kNoTools = "is not supported here";
/// The name of the list in the errors of StopStrings::compile().
constexpr std::string_view kStop = "stop";

std::vector<std::string> stop_strings(BodyFields& fields, std::string_view name,
                                      dom::element stop) {
  std::string_view text;
  if (stop.get(text) == simdjson::SUCCESS) return {std::string(text)};
  std::vector<std::string> texts;
  dom::array list;
  if (stop.get(list) != simdjson::SUCCESS) {
    fields.fail(name, "must be a string or a list of strings", api_code::kInvalidType);
    return texts;
  }
  for (const dom::element entry : list) {
    if (entry.get(text) != simdjson::SUCCESS) {
      fields.fail(indexed(name, texts.size()), "must be a string", api_code::kInvalidType);
      return {};
    }
    texts.emplace_back(text);
    if (texts.size() > StopStrings::kMaxStrings) break;  // a later check refuses so many
  }
  return texts;
}

std::vector<std::string> take_stop(BodyFields& fields, std::string_view name) {
  const auto stop = fields.any(name);
  if (!stop) return {};
  std::vector<std::string> texts = stop_strings(fields, name, *stop);
  const auto compiled = StopStrings::compile(texts);
  if (compiled) return texts;
  Error problem = compiled.error();  // "stop[3] is empty"
  if (problem.detail.starts_with(kStop)) problem.detail.replace(0, kStop.size(), name);
  ApiError error = api_error_of(problem);
  error.param = leading_field(problem.detail);
  fields.fail(std::move(error));
  return {};
}

GuessAcceptance take_acceptance(const BodyFields& speculation) {
  const std::string_view accept = speculation.text("accept").value_or("exact");
  if (accept == "lossy_top") return GuessAcceptance::kLossyTop;
  if (accept != "exact") speculation.fail("accept", shown(accept) + " is none of exact, lossy_top");
  return GuessAcceptance::kExact;
}

SpeculationWish take_speculation(const BodyFields& fields, SamplingParams& sampling) {
  SpeculationWish wish;
  const auto object = fields.object("speculation");
  if (!object) return wish;
  const BodyFields speculation(*object, fields.path_of("speculation"), fields);
  if (const auto kind = speculation.text("kind")) {
    if (*kind == "off") {
      wish.kind = SpeculationKind::kOff;
    } else if (*kind == "suffix") {
      wish.kind = SpeculationKind::kSuffix;
    } else {
      speculation.fail("kind", shown(*kind) + " is none of off, suffix");
    }
  }
  const auto most = speculation.integer("max_tokens", 1, SpeculationWish::kMostTokens);
  wish.max_tokens = static_cast<std::int32_t>(most.value_or(0));
  sampling.guess_acceptance = take_acceptance(speculation);
  speculation.finish();
  return wish;
}

struct Tier {
  std::string_view name;
  RequestClass cls;
  std::string_view echo;
};
constexpr std::array kTiers = {
    Tier{"auto", RequestClass::kChat, "default"},
    Tier{"default", RequestClass::kChat, "default"},
    Tier{"standard_only", RequestClass::kChat, "default"},
    Tier{"priority", RequestClass::kChat, "priority"},
    Tier{"flex", RequestClass::kBatch, "flex"},
    Tier{"batch", RequestClass::kBatch, "batch"},
};

bool is_one_of(dom::element element, std::initializer_list<std::string_view> values) {
  std::string_view text;
  return element.get(text) == simdjson::SUCCESS && std::ranges::find(values, text) != values.end();
}

void allow_no_tools(const BodyFields& fields, std::string_view name) {
  const auto list = fields.any(name);
  if (list && !is_harmless(*list, Harmless::kEmptyList)) {
    fields.fail(name, kNoTools, api_code::kUnsupported);
  }
}

void allow_no_choice(const BodyFields& fields, std::string_view name) {
  const auto choice = fields.any(name);
  if (!choice || is_one_of(*choice, {"none", "auto"})) return;
  if (choice->is_string() || choice->is_object()) {
    fields.fail(name, kNoTools, api_code::kUnsupported);
  } else {
    fields.fail(name, "must be a string or an object", api_code::kInvalidType);
  }
}

}  // namespace

std::string take_model(BodyFields& fields, const ModelCard& card) {
  const auto name = fields.text("model");
  if (!name || *name == card.name) return card.name;
  if (std::ranges::find(card.aliases, *name) != card.aliases.end()) return card.name;
  ApiError error = bad_field("model", shown(*name) + " is not served", api_code::kModelNotFound);
  error.status = 404;
  fields.fail(std::move(error));
  return {};
}

void need_tokenizer(const BodyFields& fields, std::string_view name, const ServedModel& model) {
  if (model.tokenizer.exists()) return;
  fields.fail(name, to_string(no_tokenizer()), api_code::kUnsupported);
}

Request take_request(BodyFields& fields, const ApiContext& context, const RequestNames& names) {
  const ServedModel& model = *context.card.model;
  if (!model.generates) {
    fields.fail(bad_field("model", context.card.name + " gives vectors and no text",
                          api_code::kUnsupported));
  }
  Request request;
  request.adapter = context.card.adapter;
  request.sampling =
      take_sampling(fields, model.tokenizer, model.defaults.sampling, names.sampling);
  request.stop = take_stop(fields, names.stop);
  if (!request.stop.empty()) need_tokenizer(fields, names.stop, model);
  request.skip_special_tokens = fields.flag("skip_special_tokens").value_or(true);
  constexpr auto kMostToken = std::numeric_limits<TokenId>::max();
  request.forced_bos =
      static_cast<TokenId>(fields.integer("forced_bos_token_id", 0, kMostToken).value_or(kNoToken));
  constexpr auto kPriority = std::numeric_limits<std::int32_t>();
  const auto priority = fields.integer("priority", kPriority.min(), kPriority.max());
  request.priority = static_cast<std::int32_t>(priority.value_or(0));
  request.request_class = std::max(RequestClass::kChat, context.class_ceiling);
  request.client = context.client;
  const auto salt = fields.text("cache_salt");
  if (salt && (salt->empty() || salt->size() > Request::kMaxCacheSaltBytes)) {
    fields.fail("cache_salt",
                "must be a text of 1 .. " + std::to_string(Request::kMaxCacheSaltBytes) + " bytes");
  }
  request.cache_salt = salt.value_or(std::string_view());
  request.speculation = take_speculation(fields, request.sampling);
  request.speculation.prediction = take_prediction(fields);
  if (!request.speculation.prediction.empty()) need_tokenizer(fields, "prediction", model);
  request.timeout = context.timeout;
  return request;
}

std::int32_t take_token_bound(BodyFields& fields, std::string_view name) {
  return static_cast<std::int32_t>(fields.integer(name, 1, kMaxStreamTokens).value_or(0));
}

std::string take_service_tier(BodyFields& fields, const ApiContext& context, RequestClass& cls) {
  // The least urgent class has the greatest number, so the maximum is the less urgent one.
  cls = std::max(RequestClass::kChat, context.class_ceiling);
  const auto name = fields.text("service_tier");
  if (!name) return {};
  const auto* const tier = std::ranges::find(kTiers, *name, &Tier::name);
  if (tier == kTiers.end()) {
    fields.fail("service_tier",
                shown(*name) + " is none of auto, default, standard_only, priority, flex, batch");
    return {};
  }
  cls = std::max(tier->cls, context.class_ceiling);
  return std::string(cls == tier->cls ? tier->echo : "flex");
}

void refuse_older_tools(BodyFields& fields) {
  allow_no_tools(fields, "functions");
  allow_no_choice(fields, "function_call");
}

void refuse_tools(BodyFields& fields) {
  allow_no_tools(fields, "tools");
  allow_no_choice(fields, "tool_choice");
  refuse_older_tools(fields);
}

void allow_only(BodyFields& fields, std::initializer_list<OnlyFlag> flags) {
  for (const auto& [name, value] : flags) {
    if (fields.flag(name).value_or(value) == value) continue;
    fields.fail(name, value ? "false is not supported" : "true is not supported",
                api_code::kUnsupported);
  }
}

void allow_only_text(BodyFields& fields, std::string_view name, std::string_view value) {
  const auto text = fields.text(name);
  if (!text || *text == value) return;
  fields.fail(name, shown(*text) + " is not supported, only " + shown(value),
              api_code::kUnsupported);
}

void check_request(BodyFields& fields, const Request& request, const ServedModel& model,
                   std::size_t prompts, const RequestNames& names) {
  if (fields.error()) return;
  const SamplingParams& sampling = request.sampling;
  if (auto error =
          check_sampling(sampling, static_cast<std::size_t>(model.vocabulary), names.sampling)) {
    return fields.fail(*std::move(error));
  }
  const std::int32_t each = std::max({sampling.n, sampling.best_of, sampling.beams.num_beams});
  const std::size_t all = prompts * static_cast<std::size_t>(each);
  if (all <= defaults::kMaxSequencesPerBody) return;
  fields.fail("prompt", std::to_string(prompts) + " prompts of " + std::to_string(each) +
                            " outputs each are more than " +
                            std::to_string(defaults::kMaxSequencesPerBody));
}

}  // namespace weft
