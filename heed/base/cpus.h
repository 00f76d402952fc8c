#pragma once

#include <string>

namespace heed {

// How many this process may use: its share of the machine, within what its container grants.
int available_cpus();

// What the control groups of a process grant it, as memory_in_groups() has it of memory: the tightest counts.
int cpus_in_groups(const std::string& groups, const std::string& root);

}  // namespace heed
