#include "weft/config/config.h"

#include "weft/config/config_check.h"
#include "weft/config/config_draft.h"
#include "weft/config/config_error.h"

namespace weft {

Result<Config> Config::load(const std::filesystem::path& file) {
  ConfigDraft draft;
  const Result<void> done = draft.load(file);
  if (!done) return done.error();
  return draft.finish();
}

Result<Config> Config::parse(std::string_view toml, std::string_view name) {
  ConfigDraft draft;
  const Result<void> done = draft.read(toml, name);
  if (!done) return done.error();
  return draft.finish();
}

Result<void> Config::validate() const {
  const auto mistakes = find_mistake(*this);
  if (mistakes.empty()) return {};
  return Error{ConfigErrc::kBadConfig,
               mistakes.front().key->path() + " = " + mistakes.front().complaint};
}

}  // namespace weft
