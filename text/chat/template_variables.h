#pragma once

#include <array>
#include <string_view>

namespace weft {

/// The variables of chat templates that only the server sets, because transformers and Weft's
/// template environment define them. A request's chat_template_kwargs may have any other name.
inline constexpr auto kServerTemplateVariables = std::to_array<std::string_view>({
    "messages",
    "tools",
    "add_generation_prompt",
    "continue_final_message",
    "bos_token",
    "eos_token",
    "unk_token",
    "pad_token",
    "chat_template",
    "tokenize",
    "tokenizer",
    "conversation",
    "return_tensors",
    "return_dict",
});

}  // namespace weft
