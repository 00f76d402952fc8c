#pragma once

#include <cstdint>

namespace heed {

int64_t physical_memory();
// Bytes that this process may still take without another being pushed out: of the machine, within what its container
// grants.
int64_t available_memory();

}  // namespace heed
