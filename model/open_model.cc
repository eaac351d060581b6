#include "weft/model/open_model.h"

#include <system_error>
#include <utility>

#include "weft/model/spec/architecture.h"
#include "weft/model/spec/spec.h"

namespace weft {

Result<OpenedModel> open_model(const std::filesystem::path& model,
                               const std::filesystem::path& spec) {
  auto checkpoint = open_checkpoint(model);
  if (!checkpoint) return checkpoint.error();
  const auto found = spec.empty() ? find_spec(*checkpoint) : Spec::load(spec);
  if (!found) return found.error();
  OpenedModel opened;
  opened.spec = found->file();
  opened.checkpoint = std::make_shared<Checkpoint>(std::move(*checkpoint));
  const auto architecture = resolve_architecture(*found, *opened.checkpoint);
  if (!architecture) return error_in(model.string(), architecture.error());
  auto program = compile(*architecture, *opened.checkpoint);
  if (!program) return error_in(model.string(), program.error());
  opened.program = std::make_shared<Program>(std::move(*program));
  return opened;
}

Result<Tokenizer> load_tokenizer(const std::filesystem::path& model) {
  std::error_code ignored;
  if (model.extension() == ".json" || std::filesystem::exists(model / "tokenizer.json", ignored)) {
    return Tokenizer::load(model);
  }
  const auto checkpoint = open_checkpoint(model);
  if (!checkpoint) return checkpoint.error();
  const Vocabulary* vocabulary = checkpoint->vocabulary();
  // The loader says best what is missing in a folder without tokenizer.json.
  if (vocabulary == nullptr) return Tokenizer::load(model);
  return Tokenizer::from_vocabulary(*vocabulary, model.string());
}

}  // namespace weft
