#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/actors/loading/served_model.h"
#include "weft/actors/request/request.h"
#include "weft/net/api/fields/body_fields.h"

namespace weft {

/// Fields by which clients of Cohere, Jina, Voyage and others change an input before it is
/// computed. Mistakes stay in `fields`.

/// Takes `truncate_prompt_tokens`, `truncation` (a flag), `truncate` (a flag, or NONE, START, END)
/// and `truncation_direction` (left, right). `cuts` says whether inputs that are too long are cut
/// where none of these fields decides it.
void take_truncation(const BodyFields& fields, bool cuts, VectorWish& wish);

/// Takes `prompt_name`, `task` and `input_type`. Returns the prompt from the model's files that is
/// put in front of each text; empty where the files have no such prompt. A `prompt_name` that is
/// not in the files is a mistake.
[[nodiscard]] std::string take_text_prompt(const BodyFields& fields, const ServedModel& model);

/// The format of an embedding's numbers.
struct EmbeddingForm {
  enum class Type : std::uint8_t {
    kFloat,
    kBinary,   ///< one bit for each number, 1 above 0; eight bits form an int8, minus 128
    kUbinary,  ///< one bit for each number, 1 above 0; eight bits form a uint8
  };
  Type type = Type::kFloat;
  bool base64 = false;
};

/// Takes `encoding_format`, `embedding_type`, `embedding_types` and `output_dtype`.
[[nodiscard]] EmbeddingForm take_embedding_form(const BodyFields& fields);

/// Appends a vector in that format, as a list or in quotes.
void append_embedding(const std::vector<float>& vector, const EmbeddingForm& form,
                      std::string& out);

}  // namespace weft
