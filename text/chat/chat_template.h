#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error/error.h"
#include "weft/text/jinja/client_text.h"
#include "weft/text/jinja/limits.h"

namespace weft {

/// The input of a rendering. Messages, tools, documents and kwargs come from a client.
struct ChatTemplateInput {
  /// Objects with role, content (a string or a list of parts), tool_calls, name, ... as the client
  /// sent them. Templates print keys in their order.
  boost::json::array messages{};
  /// Function schemas and documents. Null when the request has none; templates then see Jinja's
  /// none.
  boost::json::value tools{};
  boost::json::value documents{};
  bool add_generation_prompt = false;
  /// bos_token, eos_token and the like, by name, from the tokenizer's configuration.
  boost::json::object special_tokens{};
  /// The request's chat_template_kwargs, which become variables of the template: enable_thinking,
  /// reasoning_effort, ... A name that the template does not read has no effect.
  boost::json::object kwargs{};
};

/// A prompt, and its ranges that a client wrote, wherever the template has put them.
struct RenderedPrompt {
  std::string text{};
  std::vector<jinja::ByteRange> client{};  ///< ascending; they do not touch each other
  /// The ranges that the template marks as the assistant's by {% generation %}, in the order of
  /// their ends. A block inside a macro or a captured block counts as no mark.
  std::vector<jinja::ByteRange> generated{};
};

/// A model's chat template: the Jinja of Hugging Face's transformers (an immutable sandbox with
/// trim_blocks and lstrip_blocks, loop controls, {% generation %}, raise_exception, strftime_now,
/// and tojson without HTML escapes), as far as templates render text. There is no include, import,
/// extends, block, random or lipsum, no attribute that begins with two underscores, and integers
/// have 64 bits.
///
/// Immutable and cheap to copy; rendering is thread-safe and takes no locks.
class ChatTemplate {
 public:
  /// `name` stands for the model or file in errors, which operators read. kBadTemplate with
  /// "name:line:column: why"; kTemplateLimit when the source is longer than 1 MiB or nests deeper
  /// than 64 levels.
  [[nodiscard]] static Result<ChatTemplate> parse(std::string_view source, std::string_view name);

  /// Returns the prompt. `now` is the wall clock that strftime_now() shows.
  ///
  /// kTemplateFailed with "name:line: why", where why is the template's own message when it called
  /// raise_exception; kTemplateLimit and kTemplateOutput in the same form; kBadTemplateKwarg with
  /// "chat_template_kwargs: why" when input.kwargs has a name in kServerTemplateVariables, the name
  /// of a function (range, raise_exception, ...), or a name that begins with two underscores.
  [[nodiscard]] Result<RenderedPrompt> render_prompt(const ChatTemplateInput& input,
                                                     std::chrono::local_seconds now,
                                                     const TemplateLimits& limits = {}) const;

  /// Returns only the prompt's text.
  [[nodiscard]] Result<std::string> render(const ChatTemplateInput& input,
                                           std::chrono::local_seconds now,
                                           const TemplateLimits& limits = {}) const;

  /// Renders with all variables in one object, unchecked; for tools and tests.
  [[nodiscard]] Result<std::string> render(const boost::json::object& variables,
                                           std::chrono::local_seconds now,
                                           const TemplateLimits& limits = {}) const;

  /// The name that parse() was given.
  [[nodiscard]] const std::string& name() const noexcept;

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}

  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace weft
