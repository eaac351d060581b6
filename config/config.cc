#include "weft/config/config.h"

#include <utility>

#include "weft/config/config_check.h"
#include "weft/config/config_draft.h"
#include "weft/config/config_error.h"

namespace weft {
namespace {

Result<Config> engine_of(const ConfigDraft& draft) {
  auto all = draft.finish();
  if (!all) return std::move(all).error();
  return std::move(all->engine);
}

}  // namespace

Result<Config> Config::load(const std::filesystem::path& file) {
  ConfigDraft draft;
  const Result<void> done = draft.load(file);
  if (!done) return done.error();
  return engine_of(draft);
}

Result<Config> Config::parse(std::string_view toml, std::string_view name) {
  ConfigDraft draft;
  const Result<void> done = draft.read(toml, name);
  if (!done) return done.error();
  return engine_of(draft);
}

Result<void> Config::validate() const {
  const auto mistakes = find_mistake({.engine = *this});
  if (mistakes.empty()) return {};
  return Error{ConfigErrc::kBadConfig,
               mistakes.front().key->path() + " = " + mistakes.front().complaint};
}

}  // namespace weft
