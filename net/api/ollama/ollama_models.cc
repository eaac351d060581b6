#include "weft/net/api/ollama/ollama_models.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <cstdint>
#include <utility>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/fields/sampling_table.h"
#include "weft/net/api/fields/time_text.h"
#include "weft/net/api/tools/tool_fields.h"

namespace weft {
namespace {

namespace json = boost::json;

constexpr std::string_view kLatest = ":latest";

/// Whether a name has a tag. A colon before the last slash is no tag: it is in a host's port.
bool has_tag(std::string_view name) noexcept {
  const auto slash = name.rfind('/');
  return name.find(':', slash == std::string_view::npos ? 0 : slash) != std::string_view::npos;
}

std::string with_tag(std::string_view name) {
  return has_tag(name) ? std::string(name) : std::string(name).append(kLatest);
}

bool is_name_of(std::string_view name, const ModelCard& card) {
  const auto is = [name](std::string_view known) {
    return name == known || name == with_tag(known);
  };
  return is(card.name) || std::ranges::any_of(card.aliases, is);
}

/// Writes "134.52M", "7.6B".
std::string size_text(std::int64_t parameters) {
  struct Unit {
    double size;
    char letter;
    int digits;
  };
  constexpr std::array kUnits = {Unit{1e9, 'B', 1}, Unit{1e6, 'M', 2}, Unit{1e3, 'K', 2}};
  const auto number = static_cast<double>(parameters);
  for (const Unit& unit : kUnits) {
    if (number < unit.size) continue;
    std::array<char, 32> digits;  // no 64-bit number has more
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number / unit.size,
                                   std::chars_format::fixed, unit.digits);
    return std::string(digits.data(), end.ptr) + unit.letter;
  }
  return std::to_string(parameters);
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return text;
}

/// Returns the facts of the model; none for a model that is not loaded.
ModelFacts facts_of(const ModelCard& card) { return card.model ? card.model->facts : ModelFacts(); }

/// Returns 64 hexadecimal digits that stand for the model. They are made from its facts, since its
/// files are not hashed. Clients show and compare them.
std::string digest_of(const ModelCard& card) {
  const ModelFacts facts = facts_of(card);
  const std::string text = card.name + '\n' + facts.family + '\n' + facts.weight_type + '\n' +
                           std::to_string(facts.parameters) + '\n' +
                           std::to_string(facts.stored_bytes);
  std::array<unsigned char, 32> bytes{};
  EVP_Digest(text.data(), text.size(), bytes.data(), nullptr, EVP_sha256(), nullptr);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digest;
  for (const unsigned char byte : bytes) {
    digest.push_back(kDigits[byte >> 4U]);
    digest.push_back(kDigits[byte & 15U]);
  }
  return digest;
}

json::object details_of(const ModelFacts& facts) {
  return {{"parent_model", ""},
          {"format", facts.format},
          {"family", facts.family},
          {"families", json::array{facts.family}},
          {"parameter_size", size_text(facts.parameters)},
          {"quantization_level", upper(facts.weight_type)}};
}

json::object entry_of(const ModelCard& card) {
  const std::string name = ollama_name(card);
  return {{"name", name},
          {"model", name},
          {"size", facts_of(card).stored_bytes},
          {"digest", digest_of(card)},
          {"details", details_of(facts_of(card))}};
}

/// Writes the defaults that the model's makers recommend as lines of a Modelfile.
std::string parameters_of(const SamplingParams& params) {
  const SamplingParams plain;
  std::string text;
  const auto add = [&text](std::string_view name, const json::value& value, bool differs) {
    if (!differs) return;
    text.append(text.empty() ? "" : "\n").append(name).append(" ").append(json_text(value));
  };
  using sampling_table::write_real;
  add("temperature", write_real(params.temperature), params.temperature != plain.temperature);
  add("top_k", params.top_k, params.top_k != plain.top_k);
  add("top_p", write_real(params.top_p), params.top_p != plain.top_p);
  add("min_p", write_real(params.min_p), params.min_p != plain.min_p);
  add("repeat_penalty", write_real(params.penalties.repetition),
      params.penalties.repetition != plain.penalties.repetition);
  return text;
}

/// Returns the facts of the model, by the keys of a GGUF file.
json::object info_of(const ServedModel& model) {
  const ModelFacts& facts = model.facts;
  const std::string family = facts.family.empty() ? "unknown" : facts.family;
  json::object info{{"general.architecture", family},
                    {family + ".context_length", model.context},
                    {family + ".vocab_size", model.vocabulary}};
  const auto add = [&info](const std::string& key, std::int64_t number) {
    if (number > 0) info[key] = number;
  };
  add("general.parameter_count", facts.parameters);
  add(family + ".embedding_length", facts.hidden);
  add(family + ".block_count", facts.layers);
  return info;
}

json::array capabilities_of(const ServedModel& model) {
  if (!model.generates) return json::array{"embedding"};
  json::array list{"completion"};
  if (can_call_tools(model)) list.push_back("tools");
  const OutputFormat& format = model.format->format;
  if (format.harmony || format.thoughts.any()) list.push_back("thinking");
  return list;
}

ApiError no_such_model(std::string_view name) {
  ApiError error = bad_field("model", shown(name) + " not found", api_code::kModelNotFound);
  error.message = "model " + shown(name) + " not found";  // the words of Ollama's server
  error.status = 404;
  return error;
}

}  // namespace

std::string ollama_name(const ModelCard& card) { return with_tag(card.name); }

std::string take_ollama_model(BodyFields& fields, const ModelCard& card) {
  const auto name = fields.text("model");
  if (!name) return ollama_name(card);
  if (!is_name_of(*name, card)) fields.fail(no_such_model(*name));
  return std::string(*name);
}

std::string ollama_tags(const ModelList& list) {
  json::array models;
  for (const ModelCard& card : list.with_adapters()) {
    json::object entry = entry_of(card);
    entry["modified_at"] = rfc3339(card.created);
    models.push_back(std::move(entry));
  }
  return json_text(json::object{{"models", std::move(models)}});
}

std::string ollama_running(const ModelList& list) {
  json::array models;
  for (const ModelCard& card : list.with_adapters()) {
    if (!card.model) continue;
    json::object entry = entry_of(card);
    entry["expires_at"] = "9999-12-31T23:59:59Z";  // the model stays loaded
    entry["context_length"] = card.model->context;
    models.push_back(std::move(entry));
  }
  return json_text(json::object{{"models", std::move(models)}});
}

ApiResult<std::string> ollama_show(simdjson::dom::object body, const ModelCard& card) {
  BodyFields fields(body);
  const auto older = fields.text("name");
  if (older && !fields.has("model") && !is_name_of(*older, card)) {
    fields.fail(no_such_model(*older));
  }
  static_cast<void>(take_ollama_model(fields, card));
  static_cast<void>(fields.flag("verbose"));
  fields.ignore({"options", "template", "system"});  // no answer here shows the effects of these
                                                     // fields
  if (auto error = fields.finish()) return *std::move(error);
  const ServedModel& model = *card.model;
  return json_text(json::object{{"modelfile", "FROM " + ollama_name(card)},
                                {"parameters", parameters_of(model.defaults.sampling)},
                                {"template", model.tokenizer.chat_template()},
                                {"details", details_of(model.facts)},
                                {"model_info", info_of(model)},
                                {"capabilities", capabilities_of(model)},
                                {"modified_at", rfc3339(card.created)}});
}

std::string ollama_version() {
  return json_text(json::object{{"version", kOllamaVersion}, {"weft", WEFT_VERSION}});
}

}  // namespace weft
