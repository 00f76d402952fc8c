#pragma once

#include <cstdint>
#include <string>

namespace heed {

int64_t physical_memory();
int64_t peak_memory();  // bytes that this process held in memory at most; 0 where the system does not say
// Bytes that this process may still take without another being pushed out: of the machine, within what its container
// grants.
int64_t available_memory();

// What the control groups of a process leave it, those above its own included; a great number where none sets a limit.
// Version 2 or 1; `groups` is the text of /proc/self/cgroup, `root` what is /sys/fs/cgroup.
int64_t memory_in_groups(const std::string& groups, const std::string& root);

}  // namespace heed
