#pragma once

namespace weft::bench {

/// Each prints a table.
void run_overload();
void run_prefill();

}  // namespace weft::bench
