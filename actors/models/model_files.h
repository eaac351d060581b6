#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "weft/core/error/error.h"
#include "weft/gpu/host/host_weight_pool.h"
#include "weft/model/open_model.h"

namespace weft {

/// Shares model files among the pipelines of the process: opening files again while a device has
/// them returns the same model, and on the host the same weights. Files are identified by device,
/// inode, size and time of change, whatever their path. Thread-safe.
class ModelFiles {
 public:
  /// As open_model().
  [[nodiscard]] Result<OpenedModel> open(const std::string& model, const std::string& spec,
                                         const std::string& weights,
                                         const std::string& adapter = {});
  [[nodiscard]] const std::shared_ptr<HostWeightPool>& weights() const noexcept { return weights_; }

 private:
  /// An OpenedModel that does not keep the model.
  struct Opened {
    OpenedModel rest;  ///< without checkpoint and program
    std::weak_ptr<const Checkpoint> checkpoint;
    std::weak_ptr<const Program> program;
  };

  const std::shared_ptr<HostWeightPool> weights_ = std::make_shared<HostWeightPool>();
  std::mutex mutex_;
  std::map<std::string, Opened> opened_;  // the key is the files' identity
};

/// Returns the identity of the files of a model or an adapter and of its spec; "" if they cannot be
/// read or are more than any model has.
[[nodiscard]] std::string identity_of_files(const std::filesystem::path& model,
                                            const std::filesystem::path& spec);

}  // namespace weft
