#pragma once

#include <array>
#include <string_view>

/// The variables of chat templates and who sets them. A request's chat_template_kwargs may have the
/// names of the first list and no others; those of the second are refused as the server's own.
namespace weft {

/// What chat templates are known to ask for beside the conversation.
inline constexpr auto kRequestTemplateVariables = std::to_array<std::string_view>({
    "enable_thinking",
    "thinking",
    "reasoning_effort",
    "custom_instructions",
});

/// What transformers and our own template environment put in front of a template.
inline constexpr auto kServerTemplateVariables = std::to_array<std::string_view>({
    "messages",
    "tools",
    "documents",
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
});

}  // namespace weft
