#pragma once

namespace heed {

// How many this process may use: its share of the machine, within what its container grants.
int available_cpus();

}  // namespace heed
