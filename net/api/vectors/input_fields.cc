#include "weft/net/api/vectors/input_fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "weft/net/api/fields/json_text.h"
#include "weft/net/api/vectors/vector_fields.h"

namespace weft {
namespace {

namespace dom = simdjson::dom;

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

/// Takes `truncate`. Returns whether to cut long inputs; nothing where the field is absent.
std::optional<bool> take_truncate(const BodyFields& fields, VectorWish& wish) {
  const auto value = fields.any("truncate");
  if (!value) return std::nullopt;
  bool flag = false;
  std::string_view text;
  if (value->get(flag) == simdjson::SUCCESS) return flag;
  if (value->get(text) != simdjson::SUCCESS) {
    fields.fail("truncate", "must be a flag, or one of NONE, START, END", api_code::kInvalidType);
    return std::nullopt;
  }
  const std::string word = lower(text);
  if (word == "none") return false;
  if (word != "start" && word != "end") {
    fields.fail("truncate", shown(text) + " is none of NONE, START, END");
  }
  wish.cut_begin = word == "start";
  return true;
}

void take_direction(const BodyFields& fields, VectorWish& wish) {
  const auto side = fields.text("truncation_direction");
  if (!side) return;
  const std::string word = lower(*side);
  if (word != "left" && word != "right") {
    fields.fail("truncation_direction", shown(*side) + " is neither left nor right");
  }
  wish.cut_begin = word == "left";
}

/// Names for one purpose by different makers; a model's files may use any of them.
constexpr std::array<std::string_view, 4> kQueryWords = {"query", "search_query", "retrieval.query",
                                                         "question"};
constexpr std::array<std::string_view, 5> kDocumentWords = {
    "document", "passage", "search_document", "retrieval.passage", "corpus"};

using Prompts = std::vector<std::pair<std::string, std::string>>;

const std::string* prompt_of(const Prompts& prompts, std::string_view name) {
  const auto found = std::ranges::find_if(
      prompts, [&](const auto& prompt) { return lower(prompt.first) == name; });
  return found == prompts.end() ? nullptr : &found->second;
}

/// Returns the prompt for a text's purpose, found by this name or by another name for the same
/// purpose.
const std::string* prompt_for(const Prompts& prompts, std::string_view purpose) {
  const std::string name = lower(purpose);
  if (const auto* const own = prompt_of(prompts, name)) return own;
  const std::string last = name.substr(name.rfind('.') + 1);
  for (const std::span<const std::string_view> words :
       {std::span<const std::string_view>(kQueryWords), {kDocumentWords}}) {
    const bool meant = std::ranges::find(words, name) != words.end() ||
                       std::ranges::find(words, last) != words.end();
    if (!meant) continue;
    for (const std::string_view word : words) {
      if (const auto* const found = prompt_of(prompts, word)) return found;
    }
  }
  return prompt_of(prompts, last);
}

/// Sets the format that a name stands for: a type, and whether it is in base64.
void set_form(const BodyFields& fields, std::string_view field, std::string_view name,
              EmbeddingForm& form) {
  using enum EmbeddingForm::Type;
  if (name == "float" || name == "base64") {
    form.base64 = form.base64 || name == "base64";
  } else if (name == "binary" || name == "ubinary") {
    form.type = name == "binary" ? kBinary : kUbinary;
  } else {
    fields.fail(field, shown(name) + " is none of float, base64, binary, ubinary",
                api_code::kUnsupported);
  }
}

/// Takes a name, or a list with one name.
void take_type(const BodyFields& fields, std::string_view field, EmbeddingForm& form) {
  const auto value = fields.any(field);
  if (!value) return;
  std::string_view name;
  dom::array list;
  if (value->get(name) == simdjson::SUCCESS) return set_form(fields, field, name, form);
  if (value->get(list) != simdjson::SUCCESS) {
    return fields.fail(field, "must be a string or a list of strings", api_code::kInvalidType);
  }
  if (list.size() != 1)
    return fields.fail(field, "can have one type alone", api_code::kUnsupported);
  if ((*list.begin()).get(name) != simdjson::SUCCESS) {
    return fields.fail(indexed(field, 0), "must be a string", api_code::kInvalidType);
  }
  set_form(fields, field, name, form);
}

/// Returns a bit for each number, the first number in a byte's highest bit, as numpy.packbits does.
std::vector<std::uint8_t> bits_of(const std::vector<float>& vector, EmbeddingForm::Type type) {
  std::vector<std::uint8_t> bytes((vector.size() + 7) / 8);
  for (std::size_t i = 0; i < vector.size(); ++i) {
    if (vector[i] > 0) bytes[i / 8] |= static_cast<std::uint8_t>(0x80U >> (i % 8));
  }
  if (type == EmbeddingForm::Type::kBinary) {
    for (std::uint8_t& byte : bytes) byte ^= 0x80U;  // as two's complement, less 128
  }
  return bytes;
}

}  // namespace

void take_truncation(const BodyFields& fields, bool cuts, VectorWish& wish) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  const auto tokens = fields.integer("truncate_prompt_tokens", VectorWish::kAsLong, kMost);
  if (tokens == 0) fields.fail("truncate_prompt_tokens", "must be -1 or at least 1");
  const auto word = take_truncate(fields, wish);
  const auto flag = fields.flag("truncation");
  take_direction(fields, wish);
  if (word && flag && *word != *flag) fields.fail("truncation", "contradicts truncate");
  const std::optional<bool> said = word ? word : flag;
  if (tokens && said == false) {
    fields.fail("truncate_prompt_tokens",
                std::string("contradicts ") + (word ? "truncate" : "truncation"));
  }
  const bool as_long = said.value_or(cuts);
  wish.cut_at = static_cast<std::int32_t>(tokens.value_or(as_long ? VectorWish::kAsLong : 0));
}

std::string take_text_prompt(const BodyFields& fields, const ServedModel& model) {
  const auto& prompts = model.vector_facts.prompts;
  const auto name = fields.text("prompt_name");
  const auto task = fields.text("task");
  const auto input_type = fields.text("input_type");
  const std::string* found = nullptr;
  if (name) {
    found = prompt_of(prompts, lower(*name));
    if (found == nullptr) fields.fail("prompt_name", shown(*name) + " is no prompt of this model");
  }
  if (found == nullptr && task) found = prompt_for(prompts, *task);
  if (found == nullptr && input_type) found = prompt_for(prompts, *input_type);
  return found == nullptr ? std::string() : *found;
}

EmbeddingForm take_embedding_form(const BodyFields& fields) {
  EmbeddingForm form;
  const std::string_view format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    fields.fail("encoding_format", shown(format) + " is neither float nor base64");
  }
  form.base64 = format == "base64";
  for (const std::string_view field : {"embedding_type", "embedding_types", "output_dtype"}) {
    take_type(fields, field, form);
  }
  return form;
}

void append_embedding(const std::vector<float>& vector, const EmbeddingForm& form,
                      std::string& out) {
  if (form.type == EmbeddingForm::Type::kFloat) {
    return form.base64 ? append_base64(std::span(vector), out) : append_floats(vector, out);
  }
  const std::vector<std::uint8_t> bytes = bits_of(vector, form.type);
  if (form.base64) return append_base64(std::span<const std::uint8_t>(bytes), out);
  out.push_back('[');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out.push_back(',');
    const bool is_signed = form.type == EmbeddingForm::Type::kBinary;
    append_number(out, is_signed ? static_cast<std::int8_t>(bytes[i]) : std::int64_t{bytes[i]});
  }
  out.push_back(']');
}

}  // namespace weft
