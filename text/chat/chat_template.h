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

/// The input of a rendering. Messages, tools, documents and kwargs are a client's.
struct ChatTemplateInput {
  /// Objects with role, content (a string or a list of parts), tool_calls, name, ... as the client
  /// sent them; the order of their keys is what templates print.
  boost::json::array messages{};
  /// Function schemas and documents; null when the request has none, which templates see as none.
  boost::json::value tools{};
  boost::json::value documents{};
  bool add_generation_prompt = false;
  /// bos_token, eos_token and the like, by name, from the tokenizer's configuration.
  boost::json::object special_tokens{};
  /// chat_template_kwargs of the request, which are variables of the template: enable_thinking,
  /// reasoning_effort, ... A name that the template does not read changes nothing.
  boost::json::object kwargs{};
};

/// A prompt, and the ranges of it that are a client's text, wherever the template has put them.
struct RenderedPrompt {
  std::string text{};
  std::vector<jinja::ByteRange> client{};  ///< ascending; they do not touch each other
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
  /// `name` is what errors call it: a model or a file, shown to operators. kBadTemplate with
  /// "name:line:column: why"; kTemplateLimit when it is longer than 1 MiB or nests deeper than 64
  /// levels.
  [[nodiscard]] static Result<ChatTemplate> parse(std::string_view source, std::string_view name);

  /// The prompt. `now` is the wall clock that strftime_now() shows.
  ///
  /// kTemplateFailed with "name:line: why", where why is the template's own message when it called
  /// raise_exception; kTemplateLimit and kTemplateOutput in the same form; kBadTemplateKwarg with
  /// "chat_template_kwargs: why" when input.kwargs has a name of kServerTemplateVariables, the name
  /// of a function (range, raise_exception, ...), or a name that begins with two underscores.
  [[nodiscard]] Result<RenderedPrompt> render_prompt(const ChatTemplateInput& input,
                                                     std::chrono::local_seconds now,
                                                     const TemplateLimits& limits = {}) const;

  /// Returns only the prompt's text.
  [[nodiscard]] Result<std::string> render(const ChatTemplateInput& input,
                                           std::chrono::local_seconds now,
                                           const TemplateLimits& limits = {}) const;

  /// The same with all variables in one object, none of them checked: for tools and tests.
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
