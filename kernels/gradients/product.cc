#include "weft/kernels/gradients/product.h"

#include "weft/kernels/gradients/gradient_cpu.h"
#include "weft/kernels/gradients/product_plan.h"
#include "weft/kernels/require.h"

namespace weft {

std::size_t product_workspace_bytes() noexcept {
  constexpr std::int64_t kNumbers =
      (ProductPlan::kTileRows + ProductPlan::kTileColumns) * ProductPlan::kInner;
  return static_cast<std::size_t>(kNumbers) * sizeof(float);
}

void product(const ProductParams& params, Share share, std::span<std::byte> workspace) {
  require(params.rows >= 0 && params.columns >= 0 && params.inner >= 0, "product: a negative size");
  if (params.rows == 0 || params.columns == 0) return;
  require(params.out != nullptr, "product: no output");
  require(params.inner == 0 || (params.a.data != nullptr && params.b.data != nullptr),
          "product: no operand");
  require(workspace.size() >= product_workspace_bytes(), "product: the workspace is too small");
  cpu::product(params, share, reinterpret_cast<float*>(workspace.data()));
}

}  // namespace weft
