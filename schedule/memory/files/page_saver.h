#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/gpu/files/page_files.h"
#include "weft/gpu/files/page_key.h"
#include "weft/gpu/plan.h"
#include "weft/schedule/memory/page_pool.h"
#include "weft/schedule/memory/tree/node_listener.h"
#include "weft/schedule/plan_clock.h"

namespace weft {

/// Has pages written to files (PageFiles) that no sequence has any more, before their room is
/// needed: so giving one up costs nothing, and what was computed outlives the process. A page is
/// handed over once every tick that was planned when it was left has run, as it holds by then what
/// it is kept for.
///
/// Told by PrefixNodes what becomes of pages. Owner only. It allocates in the constructor.
class PageSaver final : public NodeListener {
 public:
  /// The device has `pages` pages; `others` are numbers behind them, of places in host memory and
  /// of hollow nodes. Copies that are in no plan yet are in `copies`. It outlives this, as `clock`
  /// does.
  PageSaver(const PlanClock& clock, const std::vector<PlanCopy>& copies,
            std::shared_ptr<PageFiles> files, std::int32_t pages, std::int32_t others = 0);

  [[nodiscard]] PageFiles& files() const noexcept { return *files_; }
  /// Whether it is the first that the device's pages are saved for.
  [[nodiscard]] bool is_first() const noexcept { return is_first_; }
  [[nodiscard]] PageKeyMaker& keys() noexcept { return maker_; }
  [[nodiscard]] const PageKey& key(PageId node) const noexcept {
    return keys_[static_cast<std::size_t>(node)];
  }
  /// The key of the page with these tokens behind a node; without one (kNoPage) of a first page.
  [[nodiscard]] PageKey key_behind(const PrefixScope& scope, PageId parent,
                                   std::span<const TokenId> tokens);

  void on_kept(const PrefixScope& scope, PageId parent, PageId node,
               std::span<const TokenId> tokens) override;
  /// What the page holds may come with a copy that is in no plan yet: then the next plan has to run
  /// as well before the page is saved.
  void on_left(PageId page) override;
  void on_forgotten(PageId page) override;
  void on_renumbered(PageId from, PageId to) override {
    keys_[static_cast<std::size_t>(to)] = key(from);
    if (is_page(from)) on_forgotten(from);
  }

  /// Hands over the pages that can be read by now. To be called in each plan, and when a tick has
  /// run or is lost.
  void advance();

 private:
  [[nodiscard]] bool is_page(PageId node) const noexcept {
    return std::cmp_less(node, known_.size());
  }

  struct Left {
    PageId page = kNoPage;
    std::uint64_t after = 0;  // the tick
    std::uint32_t serial = 0;
  };
  struct Known {
    std::uint32_t serial = 0;  // changes when the page is forgotten
    bool is_listed = false;    // in left_ with this serial
  };

  const PlanClock& clock_;
  const std::vector<PlanCopy>& copies_;
  const std::shared_ptr<PageFiles> files_;
  const bool is_first_;
  PageKeyMaker maker_;
  std::vector<PageKey> keys_;  // by node; of those in the tree
  std::vector<Known> known_;   // by page
  std::vector<Left> left_;     // in the order in which they were left
};

}  // namespace weft
