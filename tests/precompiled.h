// The tests' heavy headers. A file still includes what it needs itself: lint builds without this
// one.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/cmake/precompiled.h"
